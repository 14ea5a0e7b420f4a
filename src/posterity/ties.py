"""Ties of targets of near rows, and whether chance makes as many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from posterity.arrays import Array
from posterity.row_groups import RowGroups

_RARE = 0.05  # chance of as many ties, below which they are copies
_SLACK = 1.5  # targets are not normal: so many times more ties may be expected


@dataclass(frozen=True)
class Ties:
    """Pairs of equal or nearly equal rows: how many have equal targets, how far apart others are.

    Examples
    --------
    Twenty pairs of rows with equal targets, which no two other rows have:

    >>> y = np.random.default_rng(0).normal(size=(60, 1))
    >>> Ties(20.0, 0.0, np.zeros(1)).are_expected(y)
    False

    A third of the pairs in targets that are rounded about as coarsely as they scatter:

    >>> Ties(10.0, 20.0, 20.0 * np.ones(1)).are_expected(np.round(y))
    True
    """

    n_tied: float
    n_apart: float
    squares: Array  # (K,), summed squared differences of the pairs that are apart

    @classmethod
    def of_pairs(cls, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], Y: Array) -> Ties:
        """Ties of the targets Y, (N, K), of these pairs of rows."""
        gaps = Y[pairs[0]] - Y[pairs[1]]
        n_tied = float(np.sum(np.all(gaps == 0.0, axis=1)))
        return cls(n_tied, len(gaps) - n_tied, np.sum(gaps**2, axis=0))

    @classmethod
    def of_repeats(cls, groups: RowGroups, Y: Array, weights: Array) -> Ties:
        """Ties of rows that were made one where they were equal in all but weight.

        ``groups`` are those of equal inputs; a row of weight w stands for w rows.
        """
        w = np.maximum(weights, 1.0)
        tied = float(np.sum(w * (w - 1.0))) / 2.0
        total, about = groups.count(w), Y - Y.mean(axis=0)
        apart = float(np.sum(total**2) - np.sum(w**2)) / 2.0
        squares = [
            np.sum(total * groups.count(w * y**2) - groups.count(w * y) ** 2) for y in about.T
        ]
        return cls(tied, max(apart, 0.0), np.maximum(squares, 0.0))

    def merge(self, other: Ties) -> Ties:
        """Return the ties of both sets of pairs."""
        return Ties(
            self.n_tied + other.n_tied, self.n_apart + other.n_apart, self.squares + other.squares
        )

    def are_expected(self, Y: Array, noise: Array | None = None) -> bool:
        """Return whether chance makes as many ties, judged by the targets of unrelated rows.

        Parameters
        ----------
        Y : array (N, K)
            Targets of rows that are not copies of each other.
        noise : array (K,), optional
            Variance of the noise that other rows show. None: that of the pairs that are apart, or
            that of the targets where no pair is.
        """
        return not self.n_tied or self.are_common(_SLACK * find_chance(Y) * self._narrow(Y, noise))

    def are_common(self, chance: float) -> bool:
        """Return whether as many ties are not rare where each pair ties with this chance."""
        n_pairs = np.ceil(self.n_tied + self.n_apart)
        return bool(stats.binom.sf(self.n_tied - 1.0, n_pairs, min(chance, 1.0)) > _RARE)

    def _narrow(self, Y: Array, noise: Array | None) -> float:
        """Factor by which near rows tie more often than unrelated ones."""
        spread = np.var(Y, axis=0)
        if noise is None:
            noise = self.squares / (2.0 * self.n_apart) if self.n_apart else spread
        most = 1.0 / _RARE**4
        least = np.maximum(spread / most**2, np.finfo(np.float64).tiny)
        return float(np.prod(np.sqrt(np.maximum(spread / np.maximum(noise, least), 1.0))))


def find_chance(Y: Array) -> float:
    """Return the share of the pairs of rows with equal targets."""
    counts, n = RowGroups.of_equal(Y).count(), len(Y)
    return float(np.sum(counts * (counts - 1.0))) / max(n * (n - 1.0), 1.0)
