"""What N rows say of M inducing variables, summed in one pass, and its adjoint, in a second.

Letters: s row noise variances, S = diag(s)^-1/2, L L^T = K_uu + jitter, A = L^-1 K_uf S (M, N),
B = I + A A^T = L_B L_B^T, y = S Y the whitened targets, m = B^-1 A y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.observations import Observations
from posterity.linalg import products

_CPU_VALUES = 1 << 19  # of K_uf at a time: 4 MiB
_DEVICE_VALUES = 1 << 25
_LEAST_ROWS = 64


def slices(n_rows: int, n_points: int, like: DeviceArray) -> list[slice]:
    """Blocks of rows whose kernel with the points fits a cache, or fills a device."""
    values = _CPU_VALUES if array_api_compat.is_numpy_array(like) else _DEVICE_VALUES
    size = max(_LEAST_ROWS, values // n_points)
    return [slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]


@dataclass(frozen=True)
class Rows:
    """Observed rows, a kernel, and the points that are to stand for the rows."""

    kernel: kernels.Kernel
    noise_variance: float
    X: Any  # (N, D), or a sequence of N objects
    observations: Observations
    Z: Any  # (M, D), or a sequence of M objects

    def blocks(self) -> Iterator[tuple[Any, DeviceArray, DeviceArray]]:
        """X, the diagonal of S, and y, a block at a time."""
        o = self.observations
        for i in slices(o.n_rows, len(self.Z), o.Y):
            root = (self.noise_variance * o.spread[i]) ** -0.5
            yield self.X[i], root, root[:, None] * o.Y[i]

    def factor(self) -> DeviceArray:
        """L."""
        K = self.kernel(self.Z)
        return linalg.cholesky(K + _jitter(K) * _mean_diagonal(K) * _identity(K), max_jitter=0.0)


@dataclass(frozen=True)
class Summary:
    """The sums over all rows from which the bound, the posterior and the adjoint are made."""

    rows: Rows
    L: DeviceArray  # (M, M)
    AAt: DeviceArray  # (M, M)
    Ay: DeviceArray  # (M, K)
    squares: float  # sum of y^2
    prior: float  # sum of k_nn / s_n
    log_noise: float  # sum of log s_n

    @classmethod
    def of(cls, rows: Rows, L: DeviceArray | None = None) -> Summary:
        """The first pass; L where it is known already."""
        factor = rows.factor() if L is None else L
        return cls(rows, factor, *_sums(rows, factor))

    @cached_property
    def L_B(self) -> DeviceArray:
        """The lower factor of B, (M, M)."""
        return linalg.cholesky(self.AAt + _identity(self.AAt))

    @cached_property
    def m(self) -> DeviceArray:
        """B^-1 A y, (M, K): the posterior mean of L^-1 u."""
        return linalg.solve_cholesky(self.L_B, self.Ay)

    @cached_property
    def explained(self) -> float:
        """y^T A^T B^-1 A y, summed over outputs: the part of ``squares`` that u accounts for."""
        return _total(linalg.quadratic_form(self.L_B, self.Ay))

    @property
    def unseen(self) -> float:
        """The trace t of K - Q, the prior variance that u does not carry, in units of the noise."""
        return self.prior - _trace(self.AAt)

    def log_bound(self) -> float:
        """log N(Y | 0, Q + s) - t / 2 of each output.  [TI 9]"""
        o = self.rows.observations
        each = o.n_rows * math.log(2.0 * math.pi) + self.log_noise
        each += linalg.log_determinant(self.L_B) + self.unseen
        apart, _ = o.log_apart(self.rows.noise_variance)
        return apart - 0.5 * (o.n_outputs * each + self.squares - self.explained)

    def gap(self) -> float:
        """How far an upper bound is above the lower one.  [TI14 3]

        In units of the noise K - Q has no negative eigenvalue, and none above its trace t. So
        log |K + I| is no less than log |Q + I|, and y^T (K + I)^-1 y no less than
        y^T (Q + I + t I)^-1 y.
        """
        t = max(0.0, self.unseen)
        wide = linalg.cholesky(self.AAt + (1.0 + t) * _identity(self.AAt))
        explained = _total(linalg.quadratic_form(wide, self.Ay))
        quadratic = (self.squares - explained) / (1.0 + t)
        n_outputs = self.rows.observations.n_outputs
        return max(0.0, 0.5 * (n_outputs * t + self.squares - self.explained - quadratic))

    def noise_slope(self) -> float:
        """The derivative of the bound in log noise_variance."""
        o = self.rows.observations
        decided = self.L.shape[0] - _trace(linalg.inverse_from_cholesky(self.L_B))
        each = self.unseen + decided - o.n_rows
        _, apart = o.log_apart(self.rows.noise_variance)
        data = self.squares - self.explained - _total(self.m**2)
        return apart + 0.5 * (o.n_outputs * each + data)

    def pulled_back(self) -> tuple[Array, DeviceArray | None]:
        """dL/dtheta (P,), and dL/dZ (M, D), of the bound: the second pass."""
        total = _Adjoint(self.rows)
        self._visit(total.add)
        theta_u, points_u = self._through_points()
        points = total.points + points_u if self.rows.kernel.takes_vectors else None
        return total.theta + theta_u, points

    def pulled_back_to_inputs(self) -> tuple[Array, DeviceArray, DeviceArray]:
        """dL/dtheta (P,), dL/dZ (M, D) and dL/dX (N, D) of the bound, of a kernel of vectors."""
        total = _InputAdjoint(self.rows)
        self._visit(total.add)
        theta_u, points_u = self._through_points()
        inputs = namespace(*total.inputs).concat(total.inputs)
        return total.theta + theta_u, total.points + points_u, inputs

    def _visit(self, add: Callable[[Any, kernels.Tangent, DeviceArray, DeviceArray], None]) -> None:
        """Pass on X, the tangent of K_uf, G = dL/dK_uf and g = dL/d diag(K), block by block.

        G = (P K_uf S + alpha (y - S K_fu alpha)^T) S, with alpha = L^-T m and P for each output;
        g_n = -1 / (2 s_n) for each output.
        """
        rows, n_outputs = self.rows, self.rows.observations.n_outputs
        P, alpha = self._precision_gain(), linalg.solve_lower_transposed(self.L, self.m)
        for X, root, y in rows.blocks():
            tangent = rows.kernel.tangent(rows.Z, X)
            C = tangent.value * root
            residual = y - product(C.T, alpha)
            G = product(C.T, n_outputs * P).T
            G += product(residual, alpha.T).T
            G *= root
            add(X, tangent, G, -0.5 * n_outputs * root**2)

    def _through_points(self) -> tuple[Array, DeviceArray | float]:
        """The adjoint of K_uu: G = -1/2 L^-T (A A^T B^-1 A A^T + m m^T) L^-1, each output."""
        kernel, Z = self.rows.kernel, self.rows.Z
        W = linalg.solve_lower(self.L_B, self.AAt)
        inner = self.rows.observations.n_outputs * gram(W) + product(self.m, self.m.T)
        G = -0.5 * _both_sides(self.L, inner)
        G = G + (_jitter(G) * _mean_diagonal(G)) * _identity(G)
        tangent = kernel.tangent(Z)
        points = 2.0 * tangent.inputs(G) if kernel.takes_vectors else 0.0
        return tangent.parameters(G), points

    def _precision_gain(self) -> DeviceArray:
        """P = L^-T (I - B^-1) L^-1 = K_uu^-1 - (K_uu + K_uf S^2 K_fu)^-1, (M, M)."""
        inverse = linalg.inverse_from_cholesky(self.L_B)
        return _both_sides(self.L, _identity(inverse) - inverse)


class _Adjoint:
    """dL/dtheta and dL/dZ through K_uf and the diagonal of K, as blocks are added."""

    def __init__(self, rows: Rows) -> None:
        self._kernel = rows.kernel
        self.theta = np.zeros(len(rows.kernel.theta))
        self.points: DeviceArray | float = 0.0

    def add(self, X: Any, tangent: kernels.Tangent, G: DeviceArray, g: DeviceArray) -> None:
        """The part of a block."""
        self.theta += tangent.parameters(G)
        self.theta += self._kernel.diag_pullback(X, g)
        if self._kernel.takes_vectors:
            self.points = self.points + tangent.inputs(G)


class _InputAdjoint(_Adjoint):
    """And dL/dX of every block."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._Z = rows.Z
        self.inputs: list[DeviceArray] = []

    def add(self, X: Any, tangent: kernels.Tangent, G: DeviceArray, g: DeviceArray) -> None:
        super().add(X, tangent, G, g)
        across = self._kernel.pullback_inputs(X, self._Z, G.T)
        self.inputs.append(across + self._kernel.diag_pullback_inputs(X, g))


def _sums(rows: Rows, L: DeviceArray) -> tuple[DeviceArray, DeviceArray, float, float, float]:
    """A A^T, A y, and the numbers of :class:`Summary`, over all rows."""
    xp = namespace(L)
    AAt, Ay, squares, prior, log_noise = xp.zeros_like(L), 0.0, 0.0, 0.0, 0.0
    for X, root, y in rows.blocks():
        K_fu = rows.kernel(X, rows.Z)
        K_fu *= root[:, None]
        At = linalg.solve_lower(L, K_fu.T).T
        AAt += gram(At)
        Ay = Ay + product(At.T, y)
        squares += _total(y * y)
        prior += _total(rows.kernel.diag(X) * root**2)
        log_noise -= 2.0 * _total(xp.log(root))
    return AAt, Ay, squares, prior, log_noise


def gram(A: DeviceArray) -> DeviceArray:
    """A^T A."""
    return products.gram(A) if array_api_compat.is_numpy_array(A) else A.T @ A


def product(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """A B."""
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
