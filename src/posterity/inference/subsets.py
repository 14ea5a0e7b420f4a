"""Subsets of chosen columns that are probable enough to be averaged over.

Columns are left out one by one, each time the one without which the rest is most probable. Of
interest are all subsets on the way and those they were compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity.inference.posterior import WeightedPosterior

NEGLIGIBLE = 7.0
"""Nats below the best subset: a weight of a thousandth."""
_HOPELESS = 12.0  # nats below the best subset, from which fewer columns would not recover
_MOST_LEFT_OUT = 8  # columns, the weakest: 37 subsets at most

Mask = NDArray[np.bool_]


class ScoredSubset(Protocol):
    """Some of M columns."""

    @property
    def kept(self) -> Mask:
        """Which columns, (M,)."""

    @property
    def log_probability(self) -> float:
        """Of the rows and the subset, up to a constant that subsets share."""


T = TypeVar("T", bound=ScoredSubset)


def explore_subsets(
    evaluate: Callable[[Mask], T], posterior: WeightedPosterior, n_columns: int, *, fewest: int = 0
) -> Iterator[T]:
    """All columns, and subsets with ever fewer of the weakest, while these are probable.

    The weakest are those of whose weights the posterior knows least that they differ from zero.
    """
    weakest = _find_weakest(posterior, n_columns)
    current = evaluate(np.ones(n_columns, dtype=np.bool_))
    best = current.log_probability
    yield current
    while current.log_probability >= best - _HOPELESS and np.sum(current.kept) > fewest:
        level = [evaluate(_leave_out(current.kept, i)) for i in weakest if current.kept[i]]
        if not level:
            return
        yield from level
        current = max(level, key=lambda one: one.log_probability)
        best = max(best, current.log_probability)


def _find_weakest(posterior: WeightedPosterior, n_columns: int) -> NDArray[np.intp]:
    f = posterior.combine(np.eye(n_columns), np.zeros(n_columns))
    variance = np.maximum(f.covariance.diagonal(axis1=1, axis2=2).T, np.finfo(np.float64).tiny)
    return np.argsort(np.sum(f.mean**2 / variance, axis=1), kind="stable")[:_MOST_LEFT_OUT]


def _leave_out(kept: Mask, i: int) -> Mask:
    fewer = kept.copy()
    fewer[i] = False
    return fewer
