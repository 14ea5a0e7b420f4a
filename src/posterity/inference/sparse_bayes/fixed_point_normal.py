"""The objective of a sparse model with normal noise, known or learned, for the fixed point.

From moments of columns and outputs alone. Learned noise is at its best for any precisions, and so
for those of the end: there it is what [P8 8.39] would have it be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import fixed_point
from posterity.inference.sparse_bayes.fixed_point import Model, State, of_all

_EPS = float(np.finfo(np.float64).eps)
_LEAST_NOISE = 1e-12  # of the sum of squares: below it there is rounding only
_LEAST_PRECISION = 1e-13  # of a column's square
_ROUNDING = 1e-14  # of the log density of one observation


@dataclass(frozen=True)
class NormalState(State):
    """With the posterior of the weights in use."""

    L: Array  # (m, m), L L^T = H + Z^T W Z
    mu: Array  # (m, K)
    noise: Array  # (K,)


@dataclass(frozen=True)
class NormalModel(Model):
    """Moments of M columns and K outputs; precisions are in units of the noise."""

    A: Array  # (M, M): Z^T W Z
    B: Array  # (M, K): Z^T W Y
    E: Array  # (K,): Y^T W Y
    n: float  # rows, less one for an offset
    noise: Array | None  # (K,), where it is known
    prior: priors.Sparse

    @classmethod
    def of(
        cls,
        Z: Array,
        Y: Array,
        weights: Array | None,
        *,
        centred: bool,
        noise_variance: Array | None,
        prior: priors.Sparse,
    ) -> NormalModel:
        """From standardised columns.

        In learned noise an output that does not vary says nothing of any column: it is left out, as
        are all of them where the rows count as one or less, and an offset takes that one.
        """
        w = np.ones(len(Y)) if weights is None else weights
        total = float(np.sum(w))
        center = w @ Y / total if centred else np.zeros(Y.shape[1])
        n = total - float(centred)
        spread = np.sqrt(w @ (Y - center) ** 2 / total)
        if noise_variance is None:
            told = (spread > 8.0 * _EPS * np.sqrt(len(Y)) * np.abs(center)) & (n > 0.0)
            Y, center = Y[:, told], center[told]
        R = Y - center
        WR, WZ = w[:, None] * R, Z if weights is None else w[:, None] * Z
        E = np.einsum("nk,nk->k", R, WR)
        return cls(Z.T @ WZ, Z.T @ WR, E, n, noise_variance, prior)

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.B.shape[1]

    @property
    def rounding(self) -> float:
        """Of a sum over all observations."""
        return _ROUNDING * self.n * self.n_outputs

    def even(self) -> Array:
        """Columns that together are as large as the noise."""
        use = fixed_point.distinct(self.A)
        return np.where(use, max(1.0, float(np.sum(use))), np.inf)

    def at(self, h: Array, near: State | None) -> NormalState:
        floor = _LEAST_PRECISION * np.diagonal(self.A)
        precision = np.maximum(h, floor)
        used = np.flatnonzero(np.isfinite(precision))
        H, B, K = precision[used], self.B[used], self.n_outputs
        L = linalg.cholesky(self.A[np.ix_(used, used)] + np.diag(H), max_jitter=0.0)
        mu = linalg.solve_cholesky(L, B)  # [P8 8.37]
        E = np.maximum(self.E - np.sum(B * mu, axis=0), _LEAST_NOISE * self.E)
        noise = E / self.n if self.noise is None else self.noise
        sigma = np.diagonal(linalg.inverse_from_cholesky(L))
        told, mu2 = 1.0 - H * sigma, np.sum(mu * mu / noise, axis=1)
        value = self._log_evidence(linalg.log_determinant(L) - float(np.sum(np.log(H))), E)
        penalty = self.prior.penalty(H)
        step = np.log(self.prior.updated(K * told, mu2) / H)  # [P8 8.36]
        worth = 0.5 * (K * np.log(H * sigma) + self._explained(mu, sigma, E)) + penalty
        worth -= self.prior.price(len(used) - 1)
        return NormalState(
            precision,
            value + self.prior.total(H),
            of_all(len(h), used, step, 0.0),
            of_all(len(h), used, told, 0.0),
            of_all(len(h), used, worth, np.inf),
            L,
            mu,
            noise,
        )

    def offers(self, state: State) -> tuple[Array, Array]:
        assert isinstance(state, NormalState)
        used = np.flatnonzero(np.isfinite(state.h))
        T = linalg.solve_lower(state.L, self.A[used])
        square = np.diagonal(self.A)
        S = square - np.einsum("mw,mw->w", T, T)
        Q = self.B - self.A[:, used] @ state.mu
        return fixed_point.left_over(S, square, state.h), np.sum(Q * Q / state.noise, axis=1)

    def _log_evidence(self, log_det: float, E: Array) -> float:
        """log p(Y), with E = Y^T W Y - Y^T W Z mu; learned noise is at its best, E / n."""
        noise = E / self.n if self.noise is None else self.noise
        rows = float(np.sum(self.n * np.log(2.0 * np.pi * noise) + E / noise))
        return -0.5 * (self.n_outputs * log_det + rows)

    def _explained(self, mu: Array, sigma: Array, E: Array) -> Array:
        """Twice what the rows lose of their log density when a column goes, (m,)."""
        more = mu * mu / sigma[:, None]  # of E
        if self.noise is None:
            return self.n * np.sum(np.log1p(more / E), axis=1)
        return np.sum(more / self.noise, axis=1)
