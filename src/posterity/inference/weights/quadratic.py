"""What other prior variances would find, foreseen from one mode without another pass.

About the mode W0 of many rows the log likelihood is a quadratic in W to high accuracy, with
gradient P0 W0 and Hessian -A, where P0 is the precision of the prior and A + P0 the Hessian that
was factorised there. Under another precision P the mode is then (A + P)^-1 (A + P0) W0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize as scipy_optimize

from posterity import linalg
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior

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
