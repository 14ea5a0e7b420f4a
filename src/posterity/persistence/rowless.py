"""Posteriors without the rows that they were learned from, where predictions ask for none.

A normal posterior of weights is its mode and the factor of the Hessian there. What is only of use
to go on searching stays out of files: the rows are the greater part of the model, and private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from posterity import designs
from posterity.inference.weights import WeightProblem, WeightSpace


def without(value: Any) -> Any:
    """The value as it goes into a file: most are their own."""
    change = _CHANGES.get(type(value))
    return value if change is None else change(value)


def _problem(problem: WeightProblem) -> WeightProblem:
    empty = designs.Dense(np.empty((0, problem.design.n_columns)))
    return replace(problem, design=empty, targets=problem.targets.without_rows())


def _space(space: WeightSpace) -> WeightSpace:
    columns = space.design.design.n_columns
    return replace(
        space, design=replace(space.design, design=designs.Dense(np.empty((0, columns))))
    )


_CHANGES: dict[type, Callable[[Any], Any]] = {WeightProblem: _problem, WeightSpace: _space}
