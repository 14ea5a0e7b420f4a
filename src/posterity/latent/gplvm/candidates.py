"""Latent points from which a search for others starts: those that explain the row best."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import spatial

from posterity.arrays import Array
from posterity.latent.gplvm.terms import Decoder


@dataclass(frozen=True)
class CandidatePoints:
    """Latent points to start from, ranked for all rows at once by a few products.

    Squares are taken apart: (y - f)^2 / s = y^2 / s - 2 y f / s + f^2 / s.
    """

    X: Array  # (C, Q)
    f: Array  # (C, D), means of the outputs
    w: Array  # (C, D), 1 / s
    noise_variance: Array  # (D,)
    cost: Array  # (C,), -2 log density of the points, but for a constant

    @classmethod
    def from_decoder(cls, decoder: Decoder, X: Array) -> CandidatePoints:
        """Points X (C, Q), standard normal, and what the decoder makes of them."""
        f = decoder.latent(X)
        noise = np.full(f.n_latents, decoder.noise_variance)
        return cls(X, f.mean, 1.0 / (f.variance + noise), noise, np.sum(X * X, axis=1))

    def choose_starts(self, Y: Array, k: int) -> Array:
        """The k best candidates of each row, (n, k, Q).

        Half of them as if the function were known: where the noise is small, only those are near
        a maximum that is high and narrow. Then those of the highest log posterior as it is.
        """
        seen = ~np.isnan(Y)
        y = np.where(seen, Y, 0.0)
        known, uncertain = (
            self._score_known_function(y, seen),
            self._score_uncertain_function(y, seen),
        )
        half = (k + 1) // 2
        first = np.argpartition(known, half - 1, axis=1)[:, :half]
        np.put_along_axis(uncertain, first, -np.inf, axis=1)
        return self.X[np.argpartition(uncertain, k - 1, axis=1)[:, :k]]

    def choose_peaks(self, Y: Array, k: int) -> Array:
        """Candidates of each row from which the hills of its log posterior are found, (n, k, Q).

        First those that are higher than all candidates next to them; half of them as if the
        function were known.
        """
        seen = ~np.isnan(Y)
        y = np.where(seen, Y, 0.0)
        scores = self._score_known_function(y, seen), self._score_uncertain_function(y, seen)
        return np.concatenate([self.X[self._rank_peaks(s)[:, : k // 2]] for s in scores], axis=1)

    def _rank_peaks(self, score: Array) -> NDArray[np.intp]:
        """Candidates of each row (n, C), those first that no neighbour is better than."""
        is_peak = np.all(score[:, :, None] <= score[:, self._neighbours], axis=2)
        return np.lexsort((score, ~is_peak), axis=1)

    @functools.cached_property
    def _neighbours(self) -> NDArray[np.intp]:
        """The candidates next to each, two for each coordinate, (C, 2 Q)."""
        count = min(2 * self.X.shape[1] + 1, len(self.X))
        _, near = spatial.cKDTree(self.X).query(self.X, count)
        return np.asarray(near, dtype=np.intp).reshape(len(self.X), count)

    def _score_known_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant of the row, were f the function; (n, C)."""
        precision = 1.0 / self.noise_variance
        return (seen * precision) @ (self.f**2).T - 2.0 * (y * precision) @ self.f.T + self.cost

    def _score_uncertain_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant; (n, C)."""
        misfit = (y * y) @ self.w.T - 2.0 * y @ (self.f * self.w).T
        own = seen @ (self.f**2 * self.w - np.log(self.w)).T
        return misfit + own + self.cost
