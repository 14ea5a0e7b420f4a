"""Laplace's approximation in weight space, and what it foresees under other priors.

Its evidence, the gradient of the evidence in the prior variance, in the parameters of the
likelihood and in the design itself. With a normal likelihood it is exact.

About the mode W0 of many rows the log likelihood is a quadratic in W to high accuracy, with
gradient P0 W0 and Hessian -A, where P0 is the precision of the prior and A + P0 the Hessian that
was factorised there. Under another precision P the mode is then (A + P)^-1 (A + P0) W0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize as scipy_optimize

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference.weights import few_hessians
from posterity.inference.weights.mode import find_mode
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem, Weights
from posterity.inference.weights.targets import RowTargets


@dataclass(frozen=True)
class LaplaceFit(WeightNormal):
    """W ~ N(mode, H^-1), with H the Hessian of minus the log posterior there."""

    log_likelihood: float

    @classmethod
    def from_problem(
        cls,
        problem: WeightProblem,
        start: Array | None = None,
        similar: LaplaceFit | None = None,
    ) -> LaplaceFit:
        """Find the mode, and factorise there.

        The curvature of a ``similar`` fit, such as that under another prior of the same weights,
        saves Hessians where they are expensive.

        Raises ``linalg.NotPositiveDefiniteError`` where no mode was found.
        """
        if not problem.design.n_columns:
            return cls._without_weights(problem)
        found = find_mode(problem, start, _factorise_similar(problem, similar))
        L = _factorise_hessian(found)
        if start is not None and (L is None or not found.converged):
            # The start was so far away that no row curves there, or its maximum has vanished.
            found = find_mode(problem)
            L = _factorise_hessian(found)
        if L is None:
            raise linalg.NotPositiveDefiniteError(
                "no mode of the weights was found: where the search for one ended, the posterior "
                "still rises in some direction. Give the likelihood its scale, or prior_variance."
            )
        known = replace(found, hessian=None)  # its factor is all that is asked for
        return cls(problem, known, L, found.value + problem.quadratic(found.W))

    @classmethod
    def _without_weights(cls, problem: WeightProblem) -> LaplaceFit:
        """Return the fit without any weights: all rows are at their shift."""
        J = problem.shape[1]

        def terms(part: designs.Design, t: RowTargets) -> list[float]:
            A = t.latents(np.zeros((part.n_rows, J)))
            return [t.sum_over_rows(t.value_and_slope(A)[0])]

        value = float(problem.targets.sum_over_parts(problem.design, terms)[0])
        none = Weights(np.zeros((0, J)), value, 0.0, 0, "there are no weights", converged=True)
        return cls(problem, none, np.zeros((0, 0)), value)

    @property
    def log_evidence(self) -> float:
        """log p(y), all constants included, to Laplace's approximation.  [P9 9.29]"""
        p = self.problem
        log_prior = 0.5 * p.prior.log_determinant(p.shape[1]) - p.quadratic(self.weights.W)
        return self.log_likelihood + log_prior - 0.5 * linalg.log_determinant(self.L)

    def compute_likelihood_hessian(self) -> Array:
        """Hessian of minus the log likelihood at the mode, (M J, M J)."""
        L = np.tril(self.L)
        return L @ L.T - self.problem.prior.add_precision(np.zeros_like(L))

    def gradient(self) -> tuple[float, Array]:
        """Gradient of the log evidence in the log prior variance and in the likelihood's theta."""
        in_theta = self._moves[1]
        return -float(np.sum(self.precision_gradient())), in_theta

    def precision_gradient(self) -> Array:
        """Gradient of the log evidence in the log of each weight's precision, (n, J).  [P9 9.43]

        The curvature of the likelihood at the mode moves with the mode, which [P9 9.43] leaves out.
        """
        p, (_, J) = self.problem, self.problem.shape
        n, V = p.prior.n_weights, self._moves[0]
        W, variance = self.weights.W[:n], np.einsum("mjmj->mj", self.covariance)[:n]
        return 0.5 - 0.5 * p.prior.precision_per_weight(J) * (W**2 + variance + 2.0 * V[:n] * W)

    def slope_and_curvature(self, Z: Array) -> tuple[Array, Array]:
        """Slope (N, J) and curvature (N, J, J) of all rows in z W, at the mode."""
        t = self.problem.targets
        A = t.latents(Z @ self.weights.W)
        return t.slope(A), t.curvature(A)

    def mean_shift(self, remainder: Array | None = None) -> Array:
        """Return how far the posterior mean lies beyond the mode, (M, J), to first order.

        Latent values may vary, by ``remainder`` (N,), beyond what the weights make of them.
        """
        if remainder is None:
            return self._moves[0]
        J, W = self.problem.shape[1], self.weights.W

        def terms(part: designs.Design, t: RowTargets, v: Array) -> list[Array]:
            S = v[:, None, None] * np.eye(J)
            return [part.rmatvec(-0.5 * t.curvature_pullback(t.latents(part @ W), S))]

        (c,) = self.problem.targets.sum_over_parts(self.problem.design, terms, remainder)
        return self._moves[0] + self.solve(c)

    @cached_property
    def _moves(self) -> tuple[Array, Array]:
        """H^-1 times the gradient in W of -0.5 log det H, (M, J), and the gradient in theta."""
        p, n_theta = self.problem, len(self.problem.targets.likelihood.names)

        def terms(part: designs.Design, t: RowTargets) -> list[Array]:
            A, S = self._latents_at_mode(part)
            c = -0.5 * t.curvature_pullback(A, S)
            value, slope, curvature = t.parameter_slopes(A)
            explicit = value.sum(axis=1) - 0.5 * curvature @ S[:, 0, 0]
            return [part.rmatvec(c), explicit, part.rmatvec(slope.T)]

        c, explicit, R = p.targets.sum_over_parts(p.design, terms)
        V = self.solve(c)
        return V, explicit + np.einsum("mp,m->p", R.reshape(len(V), n_theta), V[:, 0])

    def design_gradient(self, Z: Array) -> Array:
        """dL/dZ, (N, M), of the log evidence in the design of all rows, which is Z."""
        t, W = self.problem.targets, self.weights.W
        J = self.problem.shape[1]
        A, S = self._latents_at_mode(designs.Dense(Z))
        R, h = t.slope(A), t.curvature(A)
        c = -0.5 * t.curvature_pullback(A, S)
        V = self.solve(Z.T @ c)
        moved = np.matmul(h, (Z @ V)[:, :, None])[:, :, 0]
        G = (R + c - moved) @ W.T + R @ V.T
        for j in range(J):
            for k in range(J):
                G -= h[:, j, k, None] * (Z @ self.covariance[:, k, :, j])
        return G

    def _latents_at_mode(self, part: designs.Design) -> tuple[Array, Array]:
        """Return the latent values of the rows at the mode, and the covariance of z W there."""
        A = self.problem.targets.latents(part @ self.weights.W)
        return A, self.spread(part.rows(0, part.n_rows))


def _factorise_similar(problem: WeightProblem, similar: LaplaceFit | None) -> Array | None:
    """Return the factor of the curvature of another fit under this prior, if it saves time."""
    if similar is None or not few_hessians.are_worthwhile(problem):
        return None
    return linalg.cholesky(problem.prior.add_precision(similar.compute_likelihood_hessian()))


def _factorise_hessian(found: Weights) -> Array | None:
    """Return the factor of the Hessian at a mode; None where the search ended at a saddle."""
    assert found.hessian is not None  # as at every end of Newton's method
    try:
        return linalg.cholesky(found.hessian, max_jitter=0.0)
    except linalg.NotPositiveDefiniteError:
        return None


_ENOUGH = 100  # rows for each weight: the quadratic then serves to find a start
_STEP = 0.1  # of the log variance, to tell how the evidence curves
_CLOSE = 1e-6  # of the log variance
_LEAST_CURVATURE = 1e-2  # nats: flatter than any that a step could trust


def is_quadratic_trusted(n_rows: float, n_weights: int) -> bool:
    """Whether rows are many for each weight."""
    return n_rows >= _ENOUGH * n_weights


def fit_parabola(x: Array, values: Sequence[float]) -> tuple[float, float]:
    """Return where the parabola through three points is largest, and how it curves down from there.

    Examples
    --------
    >>> fit_parabola(np.array([0.0, 2.0, 4.0]), [-1.0, -1.0, -9.0])
    (1.0, 2.0)
    """
    left, right = np.diff(values) / np.diff(x)  # slopes halfway between the points
    curvature = max(2.0 * float((left - right) / (x[2] - x[0])), _LEAST_CURVATURE)
    return float(0.5 * (x[0] + x[1]) + left / curvature), curvature


@dataclass(frozen=True)
class QuadraticApproximation:
    """The rows as a quadratic about the mode of a fit."""

    fit: LaplaceFit

    @cached_property
    def _b(self) -> Array:
        """(A + P0) W0."""
        L = np.tril(self.fit.L)
        return L @ (L.T @ self.fit.weights.W.reshape(-1))

    @cached_property
    def _A(self) -> Array:
        """Hessian of minus the log likelihood, (M J, M J)."""
        return self.fit.compute_likelihood_hessian()

    def predict_mode(self, prior: WeightPrior) -> Array:
        """The weights (M, J) under another prior."""
        return self._solve_with_prior(prior)[0]

    def predict_log_evidence(self, prior: WeightPrior) -> float:
        """Log evidence of the rows under another prior, to Laplace's approximation."""
        W, L = self._solve_with_prior(prior)
        old, J = self.fit.problem.prior, W.shape[1]
        d = (W - self.fit.weights.W).reshape(-1)
        slope = old.multiply_precision(self.fit.weights.W).reshape(-1)
        log_likelihood = self.fit.log_likelihood + slope @ d - 0.5 * d @ (self._A @ d)
        log_prior = 0.5 * prior.log_determinant(J) - 0.5 * float(
            np.sum(W * prior.multiply_precision(W))
        )
        return float(log_likelihood) + log_prior - 0.5 * linalg.log_determinant(L)

    def _solve_with_prior(self, prior: WeightPrior) -> tuple[Array, Array]:
        with linalg.limit_threads(len(self._b)):
            L = linalg.cholesky(prior.add_precision(self._A.copy()))
            return linalg.solve_cholesky(L, self._b).reshape(self.fit.weights.W.shape), L

    def predict_best_log_variance(
        self, decades: Array, limits: tuple[float, float]
    ) -> tuple[float, float]:
        """Predict where the evidence is largest, and how it curves down from there.

        Parameters
        ----------
        decades : array
            Logs of the prior variance among which to begin.
        limits : (float, float)
            Between which it may lie.
        """
        offset, M = self.fit.problem.prior.offset_precision, self.fit.problem.prior.n_columns

        def loss(x: float) -> float:
            return -self.predict_log_evidence(WeightPrior(float(np.exp(-x)), M, offset))

        near = decades[int(np.argmin([loss(x) for x in decades]))]
        step = float(np.max(np.abs(np.diff(decades))))
        low, high = max(limits[0], near - step), min(limits[1], near + step)
        best = float(
            scipy_optimize.minimize_scalar(
                loss, bounds=(low, high), method="bounded", options={"xatol": _CLOSE}
            ).x
        )
        curvature = (loss(best + _STEP) - 2.0 * loss(best) + loss(best - _STEP)) / _STEP**2
        return best, max(curvature, _LEAST_CURVATURE)
