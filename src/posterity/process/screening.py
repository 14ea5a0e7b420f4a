"""Starts of a search over many length scales: which columns matter, and how fast along them.

From a start at which all columns matter a little, a function that is fast along one column and flat
along thirty looks like noise: along every length scale the evidence falls before it rises. So each
column is tried by itself, at a few lengths, on a few rows, while the others stay as they are:
the one by which the evidence rises most first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity.arrays import Array
from posterity.inference.search import EvidenceProblem

_ROWS = 200
_FLAT = 3.0  # log of the factor by which a column that does not matter is longer than at the start
_LENGTHS = np.array([-1.5, -3.0])  # likewise, of a column that is tried: a fifth, a twentieth
_PASSES = 2  # a column may matter only beside another
_MOST_COLUMNS = 40  # that are tried beside others: those that do best by themselves


def screen_start(problem: EvidenceProblem[Any], rng: np.random.Generator) -> Array | None:
    """Log parameters with columns that matter short and others long; None with one length for all.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.inference.observations import Observations
    >>> from posterity.process.search import ProcessProblem
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> kernel, bounds = kernels.Scaled(kernels.RBF(ard=True)).search_start(X)
    >>> y = Observations.from_targets(np.sin(9.0 * X[:, :1]))
    >>> problem = ProcessProblem(X, y, kernel, bounds, 0.1, None)
    >>> start = screen_start(problem, np.random.default_rng(0))
    >>> (start - kernel.theta)[1:]
    array([-3.,  3.,  3.])
    """
    places = [i for i, name in enumerate(problem.names) if name.endswith("]") and "length_" in name]
    if len(places) < 2:
        return None
    few = problem.select_rows(np.sort(problem.draw_order(rng)[:_ROWS]))
    low, high = few.limits.T
    theta = few.start.copy()
    theta[places] += _FLAT
    theta, objective = np.clip(theta, low, high), few.objective()

    def try_column(i: int, value: float, theta: Array) -> tuple[float, Array]:
        """The best of the lengths along a column, where it lowers the value."""
        before = theta
        for length in np.clip(problem.start[i] + _LENGTHS, low[i], high[i]):
            if length != before[i]:
                tried = before.copy()
                tried[i] = length
                if (found := objective(tried)[0]) < value:
                    theta, value = tried, found
        return value, theta

    value = objective(theta)[0]
    alone = {i: try_column(i, np.inf, theta)[0] for i in places}
    for i in sorted(places, key=alone.__getitem__)[:_MOST_COLUMNS] * _PASSES:
        value, theta = try_column(i, value, theta)
    return theta
