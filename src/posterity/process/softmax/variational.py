"""The normal that is nearest to the posterior of C coupled latent functions.

Laplace's normal sits at the mode and has the curvature of the mode. Where classes hardly overlap
the posterior is skewed: its mean lies far beyond the mode and probabilities are too near to even.
The normal q that is nearest in the sense of Kullback and Leibler has K^-1 mean = E_q[slope] and
precision K^-1 + E_q[curvature], both averaged over itself [OA 2.10]. It is found from Laplace's by
repeated, damped, replacement of both sides. The average curvature is held as w (diag(u) - u u^T) of
the right trace in each row, so that the factorisations of Laplace's approximation serve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity.arrays import Array
from posterity.process.latent.density import LatentDensity, Point
from posterity.process.softmax.factors import (
    ClassFactors,
    ClassMatrices,
    WhitenedFactors,
    compute_variances,
    find_mode,
)
from posterity.process.softmax.modes import step_of

_PACE = 0.5  # of the way to what a sweep asks for, at first
_LONG = 15  # sweeps, after which the pace slows: what has not settled goes to and fro
_AGREED = 5e-3  # between the probabilities of one sweep and the next
_SWEEPS = 100
_LEAST = 1e-9  # of a share of the curvature: a variance is a difference of its inverse


def find_nearest(latents: LatentDensity, memory: ClassMatrices) -> NearestState:
    """Start from Laplace's approximation, and sweep until probabilities agree."""
    laplace, _ = find_mode(latents, memory, None)
    state = NearestState.from_laplace(latents, laplace.point, memory)
    for _ in range(_SWEEPS):
        state = state.sweep()
        if state.converged:
            break
    return state.add_lower_bound()


@dataclass(frozen=True)
class NearestState:
    """A normal: its mean f = K b, the curvature w (diag(u) - u u^T), its covariances S of rows."""

    latents: LatentDensity
    memory: ClassMatrices
    b: Array  # (N, C)
    f: Array  # (N, C)
    w: Array  # (N,)
    u: Array  # (N, C)
    S: Array  # (N, C, C)
    factors: ClassFactors
    n_iter: int = 0
    change: float = np.inf  # of a probability, that a sweep asked for
    log_evidence: float = np.nan  # a lower bound

    @classmethod
    def from_laplace(
        cls, latents: LatentDensity, point: Point, memory: ClassMatrices
    ) -> NearestState:
        """Return the state of Laplace's approximation at a point."""
        w, u = np.ones(latents.targets.n_rows), latents.shares(point.f)
        S, factors = _covariances(latents, w, u, memory)
        return cls(latents, memory, point.b, point.f, w, u, S, factors)

    @property
    def converged(self) -> bool:
        return self.change <= _AGREED

    @property
    def stop_reason(self) -> str:
        if self.converged:
            return f"a further sweep changes no probability by more than {_AGREED:.0e}"
        return f"after {self.n_iter} sweeps probabilities still change by {self.change:.0e}"

    def sweep(self) -> NearestState:
        """Some of the way to the mean and the curvature that this normal asks for."""
        t, L = self.latents.targets, self.latents
        _, d1, w_new, u_new = L.likelihood.expected_value_and_slope(t.y, t.shift + self.f, self.S)
        change = float(np.max(np.abs(u_new - self.u)))
        pace = _PACE * min(1.0, _LONG / (1.0 + self.n_iter))
        w = self.w + pace * (w_new - self.w)
        u = self.u + pace * (u_new - self.u)
        S, factors = _covariances(L, w, u, self.memory)
        slope = t.weights[:, None] * d1 - self.b
        step = step_of(WhitenedFactors(factors).times, L, slope)
        moved = replace(self, b=self.b + pace * step.b, f=self.f + pace * step.f)
        state = replace(moved, w=w, u=u, S=S, factors=factors)
        return replace(state, n_iter=self.n_iter + 1, change=change)

    def add_lower_bound(self) -> NearestState:
        """Return the state with the lower bound of the log evidence that this normal gives."""
        t = self.latents.targets
        log_p, _, _, _ = self.latents.likelihood.expected_value_and_slope(
            t.y, t.shift + self.f, self.S
        )
        diagonal = np.einsum("ncc->nc", self.S)
        inner = np.einsum("nc,ncd,nd->n", self.u, self.S, self.u)
        trace = (t.weights * self.w) @ (np.sum(self.u * diagonal, axis=1) - inner)
        distance = np.sum(self.b * self.f) - trace + self.factors.log_determinant
        return replace(self, log_evidence=float(t.weights @ log_p - 0.5 * distance))


def _covariances(
    latents: LatentDensity, w: Array, u: Array, memory: ClassMatrices
) -> tuple[Array, ClassFactors]:
    """Covariances of the latent values of each row, and the factors they come from."""
    t = latents.targets
    shares = np.maximum(u, _LEAST)
    shares = shares / np.sum(shares, axis=1, keepdims=True)
    weights = t.weights * np.maximum(w, _LEAST)
    factors = ClassFactors.factorise(latents, weights, shares, memory)
    prior = np.diagonal(latents.K)[:, None] + t.offset_variance
    variances = compute_variances(factors, prior)
    return WhitenedFactors.solve_in_place(factors).row_covariances(variances), factors
