"""Least squares read as a probability model: flat prior, normal noise.

With the weights and the log of the noise variance both flat, the predictive distribution is a
Student-t whose width knows how far a query lies from the rows: the classical prediction interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.inference.conjugate.linear import LinearProblem, WeightPosterior
from posterity.linalg import double_double


@dataclass(frozen=True)
class FlatFit:
    """The least-squares solution of a problem, and what is left to tell the noise."""

    problem: LinearProblem
    has_offset: bool

    @cached_property
    def weights(self) -> WeightPosterior:
        """Posterior under the flat prior in units of the noise: its variance is the leverage."""
        K = len(self.problem.residual)
        flat = np.full(K, np.inf)
        offset = flat if self.has_offset else np.zeros(K)
        problem = replace(self.problem, offset_variance=offset)
        return WeightPosterior(problem, noise_variance=np.ones(K), prior_variance=flat)

    @cached_property
    def residual(self) -> Array:
        """Sum of squared residuals of each output, shape (K,)."""
        unexplained = np.where(self.problem.s[:, None] > 0.0, 0.0, self.problem.T)
        return self.problem.residual + np.sum(unexplained**2, axis=0)

    @property
    def degrees_of_freedom(self) -> float:
        """Rows less weights, offset included."""
        return self.problem.count - self.problem.rank - self.has_offset

    @property
    def noise_variance(self) -> Array:
        """The maximum likelihood value, shape (K,).  [P8 8.6]"""
        return np.maximum(self.residual / self.problem.count, self.problem.floor)

    @property
    def unbiased_noise_variance(self) -> Array:
        """Residual sum of squares over the degrees of freedom, shape (K,)."""
        return np.maximum(self.residual / self.degrees_of_freedom, self.problem.floor)

    @property
    def coef(self) -> Array:
        """The weights, (M, K); where the features are dependent, those of least norm."""
        w = self.weights.coef
        p = self.problem
        if p.rank == len(p.scale):
            return w
        B = p.scale[:, None] * p.V[:, p.s > 0.0]  # spans the rows in the units of the data
        return B @ linalg.least_squares(B, w).solution

    def compute_intercept(self, coef: Array) -> Array:
        """The offset that goes with these weights, (K,)."""
        return self.problem.target_center - self.problem.center @ coef

    def refine_on_rows(
        self, Z: Array, Y: Array, *, root_weight: Array | None
    ) -> tuple[Array, Array]:
        """Weights and offset after one step of refinement on the rows themselves.

        It costs two products with Z and gives back what the Gram matrix may have lost.  [GVL 5.3.8]
        """
        p, w = self.problem, self.coef
        b = self.compute_intercept(w) if self.has_offset else np.zeros(w.shape[1])
        r = Y - Z @ w - b
        if root_weight is not None:
            r *= root_weight[:, None] ** 2
        g = (Z.T @ r - self.has_offset * np.outer(p.center, r.sum(axis=0))) / p.scale[:, None]
        step = (p.V @ ((p.V.T @ g) / p.s[:, None] ** 2)) / p.scale[:, None]
        shift = self.has_offset * (r.sum(axis=0) / p.total - p.center @ step)
        return w + step, b + shift


def refine_least_squares(
    Z: Array, Z_error: Array | None, Y: Array, *, root_weight: Array | None, has_offset: bool
) -> tuple[Array, Array]:
    """Weights (M, K) and offset (K,) of full-rank least squares to the last digit.

    The features are shifted to their first row, exactly, before they are factorised; the offset
    is shifted back at twice the precision, because the terms may cancel.
    """
    shift = Z[0] if has_offset else np.zeros(Z.shape[1])
    A, A_error = double_double.two_sum(Z, -shift)
    if Z_error is not None:
        A_error = A_error + Z_error
    ones = np.full((len(Z), int(has_offset)), 1.0)
    A, A_error = np.hstack([ones, A]), np.hstack([0.0 * ones, A_error])
    if root_weight is not None:
        A, rounding = double_double.two_product(A, root_weight[:, None])
        A_error = A_error * root_weight[:, None] + rounding
        Y = Y * root_weight[:, None]
    fit = linalg.least_squares(A, Y, A_error=A_error)
    if not has_offset:
        return fit.solution, np.zeros(Y.shape[1])
    w, w_error = fit.solution[1:], fit.correction[1:]
    unit = np.ldexp(1.0, np.frexp(np.abs(w).max(axis=1))[1])  # products stay far from overflow
    origin = double_double.ScaledColumns(shift[None, :], None, unit)
    offset = (fit.solution[:1], fit.correction[:1])
    scaled = (w / unit[:, None], w_error / unit[:, None])
    return w, double_double.residual(offset, origin, scaled)[0]
