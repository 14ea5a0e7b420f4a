"""Remove training rows from posteriors that do not need them for predictions.

A normal posterior of weights is its mode and the factor of the Hessian. Rows that are only needed
to continue a search are not written: they are large and private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from posterity import designs
from posterity.inference.weights import WeightProblem, WeightSpace


def drop_rows(value: Any) -> Any:
    """Return a value without training rows."""
    change = _CHANGES.get(type(value))
    return value if change is None else change(value)


def _drop_problem_rows(problem: WeightProblem) -> WeightProblem:
    empty = designs.Dense(np.empty((0, problem.design.n_columns)))
    return replace(problem, design=empty, targets=problem.targets.without_rows())


def _drop_space_rows(space: WeightSpace) -> WeightSpace:
    columns = space.design.design.n_columns
    return replace(
        space, design=replace(space.design, design=designs.Dense(np.empty((0, columns))))
    )


_CHANGES: dict[type, Callable[[Any], Any]] = {
    WeightProblem: _drop_problem_rows,
    WeightSpace: _drop_space_rows,
}
