"""Statistics of N rows for M inducing variables, summed in one pass, and their adjoint.

Letters: s row noise variances, S = diag(s)^-1/2, L L^T = K_uu + jitter, A = L^-1 K_uf S (M, N),
B = I + A A^T = L_B L_B^T, y = S Y the whitened targets, m = B^-1 A y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import array_api_compat

from posterity import kernels, linalg
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.observations import ObservedRows
from posterity.linalg import products


@dataclass(frozen=True)
class InducingNoise:
    """A kernel, the noise, and the points that are to stand for observed rows."""

    kernel: kernels.Kernel
    noise_variance: float
    Z: Any  # (M, D), or a sequence of M objects

    def factor(self) -> DeviceArray:
        """Return L, the Cholesky factor of the kernel matrix of the inducing points."""
        K = self.kernel(self.Z)
        return linalg.cholesky(K + _jitter(K) * _mean_diagonal(K) * _identity(K), max_jitter=0.0)

    def whiten_targets(
        self, Y: DeviceArray, spread: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray]:
        """The diagonal of S, and y, of some rows."""
        root = (self.noise_variance * spread) ** -0.5
        return root, root[:, None] * Y


@dataclass(frozen=True)
class BoundTerms:
    """The sums over all rows from which the bound, the posterior and the adjoint are made."""

    carrier: InducingNoise
    observed: ObservedRows
    L: DeviceArray  # (M, M)
    AAt: DeviceArray  # (M, M)
    Ay: DeviceArray  # (M, K)
    squares: float  # sum of y^2
    prior: float  # sum of k_nn / s_n
    log_noise: float  # sum of log s_n

    @classmethod
    def sum_rows(
        cls, carrier: InducingNoise, observed: ObservedRows, L: DeviceArray | None = None
    ) -> BoundTerms:
        """The first pass; L where it is known already."""
        factor = carrier.factor() if L is None else L
        sums = observed.sum_terms(_Sums(carrier, factor), len(carrier.Z))
        return cls(carrier, observed, factor, *sums)

    def with_noise(self, noise_variance: float) -> BoundTerms:
        """The sums at another noise variance: all that depends on it is a factor."""
        ratio = self.carrier.noise_variance / noise_variance
        return replace(
            self,
            carrier=replace(self.carrier, noise_variance=noise_variance),
            AAt=ratio * self.AAt,
            Ay=ratio * self.Ay,
            squares=ratio * self.squares,
            prior=ratio * self.prior,
            log_noise=self.log_noise - self.observed.n_rows * math.log(ratio),
        )

    @cached_property
    def L_B(self) -> DeviceArray:
        """The lower factor of B, (M, M)."""
        return linalg.cholesky(self.AAt + _identity(self.AAt))

    @cached_property
    def m(self) -> DeviceArray:
        """B^-1 A y, (M, K): the posterior mean of L^-1 u."""
        return linalg.solve_cholesky(self.L_B, self.Ay)

    @cached_property
    def explained_squares(self) -> float:
        """y^T A^T B^-1 A y, summed over outputs: the part of ``squares`` that u accounts for."""
        return _total(linalg.quadratic_form(self.L_B, self.Ay))

    @property
    def residual_trace(self) -> float:
        """The trace t of K - Q, the prior variance that u does not carry, in units of the noise."""
        return self.prior - _trace(self.AAt)

    @property
    def left_variance(self) -> float:
        """The prior variance of a row that u does not carry, averaged over all that count."""
        o, noise = self.observed, self.carrier.noise_variance
        _, apart = o.log_apart(noise)
        return noise * self.residual_trace / (o.n_rows - 2.0 * apart / o.n_outputs)

    def log_bound(self) -> float:
        """log N(Y | 0, Q + s) - t / 2 of each output.  [TI 9]"""
        o = self.observed
        each = o.n_rows * math.log(2.0 * math.pi) + self.log_noise
        each += linalg.log_determinant(self.L_B) + self.residual_trace
        apart, _ = o.log_apart(self.carrier.noise_variance)
        return apart - 0.5 * (o.n_outputs * each + self.squares - self.explained_squares)

    def gap(self) -> float:
        """Distance of an upper bound above the lower one.  [TI14 3]

        In units of the noise K - Q has no negative eigenvalue, and none above its trace t. So
        log |K + I| is at least log |Q + I|, and y^T (K + I)^-1 y at least
        y^T (Q + I + t I)^-1 y.
        """
        t = max(0.0, self.residual_trace)
        wide = linalg.cholesky(self.AAt + (1.0 + t) * _identity(self.AAt))
        explained = _total(linalg.quadratic_form(wide, self.Ay))
        quadratic = (self.squares - explained) / (1.0 + t)
        n_outputs = self.observed.n_outputs
        return max(0.0, 0.5 * (n_outputs * t + self.squares - self.explained_squares - quadratic))

    def noise_slope(self) -> float:
        """The derivative of the bound in log noise_variance."""
        o = self.observed
        decided = self.L.shape[0] - _trace(linalg.inverse_from_cholesky(self.L_B))
        each = self.residual_trace + decided - o.n_rows
        _, apart = o.log_apart(self.carrier.noise_variance)
        data = self.squares - self.explained_squares - _total(self.m**2)
        return apart + 0.5 * (o.n_outputs * each + data)

    def compute_gradients(self) -> tuple[Array, DeviceArray | None]:
        """dL/dtheta (P,), and dL/dZ (M, D), of the bound: the second pass."""
        theta, points = self.observed.sum_terms(self._adjoint(), len(self.carrier.Z))
        theta_u, points_u = self._through_points()
        return theta + theta_u, points + points_u if self.carrier.kernel.takes_vectors else None

    def pulled_back_to_inputs(self) -> tuple[Array, DeviceArray, DeviceArray]:
        """dL/dtheta (P,), dL/dZ (M, D) and dL/dX (N, D) of the bound, of a kernel of vectors."""
        adjoint = _InputAdjoint(self._adjoint())
        theta, points, inputs = self.observed.sum_terms(adjoint, len(self.carrier.Z))
        theta_u, points_u = self._through_points()
        return theta + theta_u, points + points_u, namespace(*inputs).concat(inputs)

    def _adjoint(self) -> _Adjoint:
        gain = self.observed.n_outputs * self._precision_gain()
        return _Adjoint(self.carrier, gain, linalg.solve_lower_transposed(self.L, self.m))

    def _through_points(self) -> tuple[Array, DeviceArray | float]:
        """The adjoint of K_uu: G = -1/2 L^-T (A A^T B^-1 A A^T + m m^T) L^-1, each output."""
        kernel, Z = self.carrier.kernel, self.carrier.Z
        W = linalg.solve_lower(self.L_B, self.AAt)
        inner = self.observed.n_outputs * gram(W) + product(self.m, self.m.T)
        G = -0.5 * _both_sides(self.L, inner)
        G = G + (_jitter(G) * _mean_diagonal(G)) * _identity(G)
        tangent = kernel.tangent(Z)
        points = 2.0 * tangent.inputs(G) if kernel.takes_vectors else 0.0
        return tangent.parameters(G), points

    def _precision_gain(self) -> DeviceArray:
        """P = L^-T (I - B^-1) L^-1 = K_uu^-1 - (K_uu + K_uf S^2 K_fu)^-1, (M, M)."""
        inverse = linalg.inverse_from_cholesky(self.L_B)
        return _both_sides(self.L, _identity(inverse) - inverse)


@dataclass(frozen=True)
class _Sums:
    """A A^T, A y, and the numbers of :class:`BoundTerms`, of some rows."""

    carrier: InducingNoise
    L: DeviceArray

    def __call__(self, X: Any, Y: DeviceArray, spread: DeviceArray) -> list[Any]:
        kernel, xp = self.carrier.kernel, namespace(self.L)
        root, y = self.carrier.whiten_targets(Y, spread)
        K_fu = kernel(X, self.carrier.Z)
        K_fu *= root[:, None]
        At = linalg.solve_lower(self.L, K_fu.T).T
        prior, log_noise = _total(kernel.diag(X) * root**2), -2.0 * _total(xp.log(root))
        return [gram(At), product(At.T, y), _total(y * y), prior, log_noise]


@dataclass(frozen=True)
class _Adjoint:
    """dL/dtheta and dL/dZ through K_uf and the diagonal of K, of some rows.

    G = dL/dK_uf = (P K_uf S + alpha (y - S K_fu alpha)^T) S, with alpha = L^-T m and P for each
    output; g_n = dL/dk_nn = -1 / (2 s_n) for each output.
    """

    carrier: InducingNoise
    gain: DeviceArray  # (M, M), the sum of P over outputs
    alpha: DeviceArray  # (M, K)

    def __call__(self, X: Any, Y: DeviceArray, spread: DeviceArray) -> list[Any]:
        return self.terms(X, *self.of_kernel(X, Y, spread))

    def terms(self, X: Any, tangent: kernels.Tangent, G: DeviceArray, g: DeviceArray) -> list[Any]:
        """Return the slopes in the kernel's parameters and in the inducing points."""
        kernel = self.carrier.kernel
        theta = tangent.parameters(G) + kernel.diag_pullback(X, g)
        return [theta, tangent.inputs(G) if kernel.takes_vectors else 0.0]

    def of_kernel(
        self, X: Any, Y: DeviceArray, spread: DeviceArray
    ) -> tuple[kernels.Tangent, DeviceArray, DeviceArray]:
        """The tangent of K_uf, G and g."""
        tangent = self.carrier.kernel.tangent(self.carrier.Z, X)
        root, y = self.carrier.whiten_targets(Y, spread)
        C = tangent.value * root
        G = product(C.T, self.gain).T
        G += product(y - product(C.T, self.alpha), self.alpha.T).T
        G *= root
        return tangent, G, -0.5 * Y.shape[1] * root**2


@dataclass(frozen=True)
class _InputAdjoint:
    """And dL/dX of every row."""

    adjoint: _Adjoint

    def __call__(self, X: Any, Y: DeviceArray, spread: DeviceArray) -> list[Any]:
        carrier = self.adjoint.carrier
        tangent, G, g = self.adjoint.of_kernel(X, Y, spread)
        across = carrier.kernel.pullback_inputs(X, carrier.Z, G.T)
        inputs = across + carrier.kernel.diag_pullback_inputs(X, g)
        return [*self.adjoint.terms(X, tangent, G, g), [inputs]]


def gram(A: DeviceArray) -> DeviceArray:
    """Return A^T A."""
    return products.gram(A) if array_api_compat.is_numpy_array(A) else A.T @ A


def product(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """Return the product A B."""
    return products.product(A, B) if array_api_compat.is_numpy_array(A) else A @ B


def _both_sides(L: DeviceArray, S: DeviceArray) -> DeviceArray:
    """L^-T S L^-1 for a symmetric S; symmetric to the last bit."""
    half = linalg.solve_lower_transposed(L, S)
    both = linalg.solve_lower_transposed(L, half.T)
    return 0.5 * (both + both.T)


def _jitter(K: DeviceArray) -> float:
    """Relative: half the digits."""
    return math.sqrt(float(namespace(K).finfo(K.dtype).eps))


def _mean_diagonal(K: DeviceArray) -> float:
    return _trace(K) / K.shape[0]


def _identity(K: DeviceArray) -> DeviceArray:
    return namespace(K).eye(K.shape[0], dtype=K.dtype, device=array_api_compat.device(K))


def _trace(K: DeviceArray) -> float:
    return float(namespace(K).sum(namespace(K).linalg.diagonal(K)))


def _total(x: DeviceArray) -> float:
    return float(namespace(x).sum(x))
