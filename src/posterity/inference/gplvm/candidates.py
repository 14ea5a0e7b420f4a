"""Which latent points a search for others should start from: those that explain the row best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.inference.gplvm.terms import Decoder


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
        a summit that is high and narrow. Then those of the highest log posterior as it is.
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

    def _score_known_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant of the row, were f the function; (n, C)."""
        precision = 1.0 / self.noise_variance
        return (seen * precision) @ (self.f**2).T - 2.0 * (y * precision) @ self.f.T + self.cost

    def _score_uncertain_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant; (n, C)."""
        misfit = (y * y) @ self.w.T - 2.0 * y @ (self.f * self.w).T
        own = seen @ (self.f**2 * self.w - np.log(self.w)).T
        return misfit + own + self.cost
