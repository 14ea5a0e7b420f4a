"""Normal or flat prior times normal likelihood, in closed form.

``reduce`` turns the statistics of the rows into a problem in which everything decouples: along the
right singular vectors of the (centred, scaled) features each weight has its own variance. One
decomposition then serves every noise and prior variance, every output, N < M as well as N > M.

Letters: s singular values, V right singular vectors (M, r), T = U.T y the targets along them,
sigma2 the noise variance and tau2 the prior variance of each output. A flat prior is tau2 = inf.

With the weights and the log of the noise variance both flat, the predictive distribution is a
Student-t whose width knows how far a query lies from the rows: the classical prediction interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posterity import designs, linalg, page_forms, validation
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.linalg import double_double
from posterity.page_forms import Form

_BLOCK_VALUES = 1 << 18  # queries are centred 2 MiB at a time, which stay in cache,
_BLOCK_ROWS = 1024  # but enough of them at once to make use of each direction read
_EPS = float(np.finfo(float).eps)
_LARGEST = 1e300  # scale in a page: JSON has no infinite one, of columns without a weight
_SMALLEST_VARIANCE = 1e-300  # its inverse and its root are far from the limits of a double


@dataclass(frozen=True)
class LinearProblem:
    """A regression on M features and K targets, decoupled."""

    s: Array  # (r,)    singular values, descending; 0 where a direction is not in the data
    V: Array  # (M, r)  right singular vectors of the centred and scaled features
    T: Array  # (r, K)  targets along the left singular vectors
    residual: Array  # (K,)  sum of squares that no weights explain
    center: Array  # (M,)
    scale: Array  # (M,)  features are divided by it before the prior sees them
    target_center: Array  # (K,)
    offset_variance: Array  # (K,) prior variance of the offset at the centre; 0 without one
    floor: Array  # (K,)   a noise variance below the rounding of the targets means nothing
    total: float  # sum of sample weights over known noise variances
    count: float  # N, the sum of sample weights
    log_noise: float  # weighted sum of the log of known noise variances

    @property
    def rank(self) -> int:
        """The number of directions the features span."""
        return int(np.count_nonzero(self.s))

    def condition_number(self) -> float:
        """Condition number of the scaled features; infinite where they are linearly dependent."""
        full = len(self.s) == len(self.scale) and self.rank == len(self.s)
        return float(self.s[0] / self.s[-1]) if full and len(self.s) else np.inf

    def centred_blocks(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Queries about the centre of the features, a block at a time."""
        n_block = max(_BLOCK_ROWS, _BLOCK_VALUES // max(1, Z.shape[1]))
        for i in range(0, len(Z), n_block):
            block = slice(i, min(i + n_block, len(Z)))
            yield block, Z[block] - self.center


def reduce_statistics(
    statistics: designs.Statistics,
    *,
    fit_intercept: bool,
    standardize: bool,
    scale: Array | None = None,
) -> LinearProblem:
    """Decouple the regression that the statistics describe.

    A scale (M,) that is given is what features are divided by before the prior sees them, in place
    of their spread: weights can then have a prior variance each.

    With an offset, its prior is N(mean of y, variance of y) at the centre of the features: the
    information of about one row, proper and free of units.
    """
    B, mean, total = (
        statistics.compute_centred_factor()
        if fit_intercept
        else statistics.compute_uncentred_factor()
    )
    M = statistics.n_features
    A, Y = B[:, :M], B[:, M:]
    spread = linalg.column_norms(A) / np.sqrt(total)
    constant = spread <= 4.0 * _EPS * np.abs(mean[:M])
    if scale is None:
        scale = np.where(constant, 1.0, spread) if standardize else np.ones(M)
        validation.check_spread(
            spread / scale, "features", "standardize=True, or rescale the columns"
        )
    A_scaled = A / scale
    A_scaled[:, constant] = 0.0
    U, s, Vt = linalg.thin_svd(A_scaled)
    s = np.where(s > _EPS * max(A.shape) * s.max(initial=0.0), s, 0.0)
    T = U.T @ Y
    y_spread2 = validation.check_spread(linalg.column_norms(Y) / np.sqrt(total), "targets") ** 2
    floor = np.maximum((_EPS * mean[M:]) ** 2 + _EPS**2 * y_spread2, _SMALLEST_VARIANCE)
    return LinearProblem(
        s=s,
        V=Vt.T,
        T=T,
        residual=np.sum((Y - U @ T) ** 2, axis=0),
        center=mean[:M],
        scale=scale,
        target_center=mean[M:],
        offset_variance=np.maximum(y_spread2, floor) if fit_intercept else np.zeros_like(floor),
        floor=floor,
        total=total,
        count=statistics.count,
        log_noise=statistics.log_noise,
    )


@dataclass(frozen=True)
class WeightPosterior:
    """The normal posterior of weights and offset, given the two variances of each output."""

    problem: LinearProblem
    noise_variance: Array  # (K,)
    prior_variance: Array  # (K,)  inf: flat

    @property
    def at_maximum(self) -> WeightPosterior:
        """The posterior at the variances of the largest evidence: itself."""
        return self

    @cached_property
    def precision(self) -> Array:
        """Posterior precision along each direction, in units of the noise: s^2 + sigma2/tau2."""
        with np.errstate(divide="ignore"):
            ratio = self.noise_variance / self.prior_variance
        return self.problem.s[:, None] ** 2 + ratio  # (r, K) [P8 8.11]

    @cached_property
    def mean(self) -> Array:
        """Posterior mean along each direction, shape (r, K).  [P8 8.10]"""
        return self.problem.s[:, None] * _divide(self.problem.T, self.precision)

    @cached_property
    def variance(self) -> Array:
        """Posterior variance along each direction, shape (r, K)."""
        return _divide(np.broadcast_to(self.noise_variance, self.mean.shape), self.precision)

    @property
    def coef(self) -> Array:
        """Posterior mean of the weights in the original units, shape (M, K)."""
        return (self.problem.V @ self.mean) / self.problem.scale[:, None]

    @property
    def intercept(self) -> Array:
        """Posterior mean of the offset in the original units, shape (K,)."""
        return self.problem.target_center - self.problem.center @ self.coef

    @property
    def offset_variance(self) -> Array:
        """Posterior variance of the offset at the centre of the features, shape (K,)."""
        sigma2, v, W = self.noise_variance, self.problem.offset_variance, self.problem.total
        proper = np.where(np.isfinite(v), v, 0.0)
        with np.errstate(divide="ignore"):  # no rows, which leave a proper prior as it is
            return np.where(np.isfinite(v), proper * (sigma2 / (sigma2 + W * proper)), sigma2 / W)

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the K noise-free functions at the queries.  [P8 8.12]"""
        K = len(self.noise_variance)
        mean, variance = np.empty((len(Z), K)), np.empty((len(Z), K))
        V = self._scaled_directions
        for block, X in self.problem.centred_blocks(Z):
            P = X @ V
            mean[block] = P @ self.mean
            np.square(P, out=P)
            variance[block] = P @ self.variance
            if self.has_unseen:
                variance[block] += self._unseen_variance(X, P)
        mean += self.problem.target_center
        variance += self.offset_variance
        return LatentMarginals(mean, variance)

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each noise-free function over all queries."""
        return self.combine(Z, np.ones(len(Z)))

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return the distribution of A (n, M) times the weights plus b (n,) times the offset.

        Weights and offset are in the units of the data.
        """
        p, X = self.problem, A - np.outer(b, self.problem.center)  # about the centre
        P = X @ self._scaled_directions
        C = np.einsum("ir,rk,jr->kij", P, self.variance, P, optimize=True)
        if self.has_unseen:
            outside = X / p.scale - P @ p.V.T
            C += self.prior_variance[:, None, None] * (outside @ outside.T)
        C += self.offset_variance[:, None, None] * np.outer(b, b)
        return LatentJoint(A @ self.coef + np.outer(b, self.intercept), C)

    def before_rows(self) -> WeightPosterior:
        """Return the prior of weights and offset, with the variances of the fit."""
        if not np.isfinite(self.prior_variance).all():
            raise ValueError("A flat prior is not a distribution that could be shown before rows.")
        (M, _), K = self.problem.V.shape, len(self.prior_variance)
        none = replace(
            self.problem, s=np.zeros(0), V=np.zeros((M, 0)), T=np.zeros((0, K)), total=0.0
        )
        return replace(self, problem=none)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the weights (size, M, K) and of the offset (size, K)."""
        p, (r, K) = self.problem, self.mean.shape
        along = self.mean + np.sqrt(self.variance) * rng.standard_normal((size, r, K))
        w = p.V @ along  # (size, M, K)
        if self.has_unseen:
            free = rng.standard_normal((size, len(p.scale), K)) * np.sqrt(self.prior_variance)
            w += free - p.V @ (p.V.T @ free)
        coef = w / p.scale[:, None]
        noise = np.sqrt(self.offset_variance) * rng.standard_normal((size, K))
        return coef, p.target_center + noise - np.einsum("m,smk->sk", p.center, coef)

    @property
    def has_unseen(self) -> bool:
        """Whether weights have directions that no row has: there the prior is all there is."""
        M, r = self.problem.V.shape
        return r < M and bool(np.isfinite(self.prior_variance).all())

    def page_form(self) -> Form:
        """Return the form from which a page computes covariances of latent values.

        Columns z are scaled, u = (z - center) / scale, and perhaps projected, p = V^T u, and a one
        is added. Weight i belongs to entry ``which[i]`` of p and to contrast ``whose[i]``; the
        factor of the weights' precision, or their deviations, make covariances of it.
        """
        p, K = self.problem, len(self.noise_variance)
        M, r = p.V.shape
        page_forms.check_size(M * r, f"The covariances of {M:,} weights")
        unseen = self.prior_variance if self.has_unseen else np.zeros(K)
        return {
            "center": p.center.tolist(),
            "scale": np.minimum(p.scale, _LARGEST).tolist(),
            "directions": p.V.T,
            "ones": False,
            "which": list(range(r)) * K,
            "whose": np.repeat(np.arange(K), r).tolist(),
            "contrasts": np.eye(K).tolist(),
            "deviations": np.sqrt(self.variance.T.ravel()).tolist(),
            "outside": unseen.tolist(),
            "base": self.offset_variance.tolist(),
        }

    def page_regression(self, columns: Form, coef: Array, intercept: Any, noise: Any) -> Form:
        """Return the form of a regression on columns with these weights and normal noise."""
        latent = page_forms.form_weights(coef, intercept, self.page_form())
        return page_forms.form_linear(columns, latent, page_forms.form_normal_noise(noise))

    @property
    def _scaled_directions(self) -> Array:
        """The directions (M, r) that centred features are projected on, their scale included."""
        return self.problem.V / self.problem.scale[:, None]

    def _unseen_variance(self, X: Array, P2: Array) -> Array:
        """Prior variance along the part of each query that lies outside the rows' span.

        X are centred queries and P2 the squares of their projections.
        """
        scaled = X / self.problem.scale
        length2 = np.einsum("ij,ij->i", scaled, scaled)
        outside2 = length2 - np.sum(P2, axis=1)
        inside = outside2 < 1e-6 * length2  # the difference has cancelled: project instead
        V, near = self.problem.V, scaled[inside]
        outside2[inside] = np.sum((near - (near @ V) @ V.T) ** 2, axis=1)
        return outside2[:, None] * self.prior_variance


def _divide(a: Array, b: Array) -> Array:
    """a / b, and 0 where a direction has no precision: the minimum-norm choice of a flat prior."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0.0)


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
