"""Problems of many valleys: down from several starts, and to the bottom of the deepest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import joblib

from posterity import optimize
from posterity.arrays import Array
from posterity.inference import settling

_COARSE_GAIN = 1e-4  # nats: valleys are long and flat, and more than this separates two of them
_FINE_GAIN = 1e-7


def minimise_with_restarts(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    starts: Iterable[Array],
    *,
    max_iter: int,
    n_jobs: int | None = None,
) -> tuple[optimize.Optimum, list[optimize.Optimum]]:
    """Find the best local minimum by L-BFGS from several starts, and the end of each search.

    Warns
    -----
    ConvergenceWarning
        When the best search did not end by itself.

    Examples
    --------
    >>> import numpy as np
    >>> wells = lambda x: (float((x @ x - 1.0) ** 2 + x[0]), 4.0 * (x @ x - 1.0) * x + 1.0)
    >>> best, ends = minimise_with_restarts(wells, [np.ones(1), -np.ones(1)], max_iter=50)
    >>> [round(end.value, 1) for end in ends], round(best.value, 1)
    ([0.9, -1.1], -1.1)
    """
    tasks = (
        joblib.delayed(_search)(value_and_gradient, start, max_iter, _COARSE_GAIN)
        for start in starts
    )
    ends = list(joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))
    best = min(ends, key=lambda end: end.value)
    if best.converged:
        bottom = _search(value_and_gradient, best.x, max_iter, _FINE_GAIN)
        best = replace(bottom, n_iter=best.n_iter + bottom.n_iter)
        if best.converged:
            best = settling.settle_minimum(value_and_gradient, best)
    return optimize.optimum.warn_unless_converged(best), ends


def _search(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    max_iter: int,
    least_gain: float,
) -> optimize.Optimum:
    return optimize.minimise_lbfgs(
        value_and_gradient, start, max_iter=max_iter, least_gain=least_gain, announce=False
    )
