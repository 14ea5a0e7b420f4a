"""The rows that a tree grows from, and how often each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

_MOST = 2.0**62
_OFTEN = 16  # draws a row: to draw each by itself then takes longer than all counts together


class Bag(NamedTuple):
    """Different rows, in their order, and how much each counts."""

    places: NDArray[np.int32]  # (m,)
    weights: Array  # (m,), > 0


def sample_size(weights: Array, max_samples: float | None) -> int:
    """Number of rows to draw: as given, a fraction of those there are, or as many.

    Whole weights say how often rows are there. Others are relative, such as those that sum to one:
    each row is then there once.

    Examples
    --------
    >>> weights = np.full(10, 2.0)
    >>> [sample_size(weights, max_samples) for max_samples in (None, 5, 0.1)]
    [20, 5, 2]
    >>> sample_size(0.01 * weights, None)
    10
    """
    return sample_share(count_rows(weights), max_samples)


def sample_share(total: float, max_samples: float | None) -> int:
    """Return how many of ``total`` rows to draw; see :func:`sample_size`."""
    if isinstance(max_samples, int | np.integer):
        return int(max_samples)
    if total >= _MOST:
        raise ValueError(
            f"The weights sum to {total:g} rows, more than can be drawn; scale them down."
        )
    return max(round((1.0 if max_samples is None else max_samples) * total), 1)


def draw_rows(weights: Array, size: int, rng: np.random.Generator, *, bootstrap: bool) -> Bag:
    """Rows for one tree.

    Parameters
    ----------
    weights : array (N,)
        How often each row is there.
    size : int
        How many are drawn.
    rng : numpy.random.Generator
        Where randomness comes from; untouched where all rows are taken.
    bootstrap : bool
        Whether a row can be drawn more often than it is there. Otherwise all rows are taken, where
        there are no more than ``size``.

    Examples
    --------
    >>> bag = draw_rows(np.array([1.0, 0.0, 3.0]), 4, np.random.default_rng(0), bootstrap=True)
    >>> bag.places, bag.weights
    (array([0, 2], dtype=int32), array([2., 2.]))
    """
    if bootstrap:
        return _bag(_draw_with_replacement(weights, size, rng))
    if size >= count_rows(weights):
        return _bag(weights)
    return _bag(_draw_without_replacement(weights, size, rng))


def draw_groups(
    weights: Array,
    groups: NDArray[np.int32],
    size: int,
    rng: np.random.Generator,
    *,
    bootstrap: bool,
) -> Bag:
    """Rows for one tree, where all rows of a group are drawn together.

    Rows of one speaker, patient or image are alike: a tree that has seen some of them has all but
    seen the others, which would then not be new to it.

    Parameters
    ----------
    weights, size, rng, bootstrap
        See :func:`draw_rows`; as large a share of the groups is drawn as ``size`` is of the weight.
    groups : array (N,)
        The group of each row, from 0.

    Examples
    --------
    >>> groups = np.array([0, 0, 1, 1])
    >>> draw_groups(np.ones(4), groups, 4, np.random.default_rng(1), bootstrap=True)
    Bag(places=array([0, 1, 2, 3], dtype=int32), weights=array([1., 1., 1., 1.]))
    """
    each = np.ones(int(groups.max()) + 1)
    n_drawn = max(round(size / count_rows(weights) * len(each)), 1)
    drawn = draw_rows(each, n_drawn, rng, bootstrap=bootstrap)
    times = np.zeros(len(each))
    times[drawn.places] = drawn.weights
    return _bag(weights * times[groups])


def count_rows(weights: Array) -> float:
    """Number of rows to draw from."""
    return float(weights.sum()) if is_whole(weights) else float(np.count_nonzero(weights))


def is_whole(weights: Array) -> bool:
    """Whether weights say how often rows are there, and not only how much each counts."""
    return np.array_equal(weights, np.rint(weights))


def _draw_with_replacement(
    weights: Array, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    n = len(weights)
    if size > _OFTEN * n:
        return rng.multinomial(size, weights / weights.sum())
    if weights.min() == weights.max():
        return np.bincount(rng.integers(n, size=size), minlength=n)
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends, rng.random(size) * ends[-1], side="right")
    last = np.flatnonzero(weights)[-1]  # where a product is rounded up to the end
    return np.bincount(np.minimum(drawn, last), minlength=n)


def _draw_without_replacement(
    weights: Array, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    copies = weights.astype(np.int64)
    require_whole(np.array_equal(copies, weights))
    if copies.max() == 1:
        present = np.flatnonzero(copies)
        return np.bincount(rng.choice(present, size, replace=False), minlength=len(weights))
    return rng.multivariate_hypergeometric(copies, size, method="marginals")


def require_whole(whole: bool) -> None:
    """Raise ValueError where weights do not say how often rows are there."""
    if not whole:
        raise ValueError(
            "Rows can be drawn without replacement only where weights are whole numbers, which "
            "say how often a row is there; pass bootstrap=True, or max_samples=None."
        )


def _bag(counts: NDArray[np.int64] | Array) -> Bag:
    places = np.flatnonzero(counts)
    return Bag(places.astype(np.int32), counts[places].astype(np.float64))
