"""Averages of inner products over normal inputs, and of their products with exp(-r^2 / 2).

An offset is an inner product too, with one column more in which every x and z is a sure 1. Letters:
Xa = (m, 1), Za = (Z, 1), A the variances of slopes and offset, ZA = Za diag(A); and r = S / (l2 +
S), zero for the column of ones: tilted by exp(-|x - z|^2 / 2), x has the mean (1 - r) m + r z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posterity.arrays import Array
from posterity.latent.gplvm.variational import radial
from posterity.latent.gplvm.variational.statistics import KernelParts, NormalPoints, PartSlopes


@dataclass(frozen=True)
class StraightTerms:
    """The straight part of a kernel, and its products with the radial one."""

    parts: KernelParts
    points: NormalPoints

    @cached_property
    def Xa(self) -> Array:
        """(N, Q + 1)."""
        return _with_column(self.points.m, 1.0)

    @cached_property
    def Za(self) -> Array:
        """(M, Q + 1)."""
        return _with_column(self.points.Z, 1.0)

    @cached_property
    def ZA(self) -> Array:
        """(M, Q + 1)."""
        return self.Za * np.append(self.parts.slopes, self.parts.offset)

    @cached_property
    def E(self) -> Array:
        """sum_n w_n E (x, 1)(x, 1)^T, (G, Q + 1, Q + 1)."""
        w, q = self.points.weights, np.arange(self.points.S.shape[1])
        squares = np.stack([self.Xa.T @ (row[:, None] * self.Xa) for row in w])
        squares[:, q, q] += w @ self.points.S
        return squares

    @cached_property
    def radial(self) -> Array:
        """psi1 of the radial part alone, (N, M)."""
        return self.parts.signal * radial.first_moment(self.points, self.parts.lengths**2)

    @cached_property
    def r(self) -> Array:
        """(N, Q + 1)."""
        S = self.points.S
        return _with_column(S / (self.parts.lengths**2 + S), 0.0)

    @cached_property
    def radial_moments(self) -> Array:
        """sum_n w_n E k(z_m, x_n) (x_n, 1), k the radial part, (G, M, Q + 1)."""
        w, Pt = self.points.weights, self.radial.T
        stay = (1.0 - self.r) * self.Xa
        parts = [Pt @ (row[:, None] * stay) + self.Za * (Pt @ (row[:, None] * self.r)) for row in w]
        return np.stack(parts)

    def first(self) -> Array:
        """psi1 of this part alone, (N, M)."""
        return self.Xa @ self.ZA.T

    def second(self) -> Array:
        """psi2 of this part alone, (G, M, M)."""
        return self.ZA @ self.E @ self.ZA.T

    def cross_products(self) -> Array:
        """sum_n w_n E (k k'^T + k' k^T), k the radial part and k' this one, (G, M, M)."""
        half = self.radial_moments @ self.ZA.T
        return half + half.transpose(0, 2, 1)

    def pull_back(self, V: Array, H: Array) -> PartSlopes:
        """The adjoint of psi1 and psi2 of this part alone."""
        w = self.points.weights
        B = self.ZA.T @ H @ self.ZA  # (G, Q + 1, Q + 1)
        through_psi1, through_psi2 = V @ self.ZA, self._by_weights(self.Xa, B)
        S_slope = w.T @ np.diagonal(B, axis1=1, axis2=2)[:, :-1]
        value = np.sum(self.Xa * (through_psi1 + through_psi2), axis=1)
        value += np.sum(self.points.S * S_slope, axis=1)
        m_slope = (through_psi1 + 2.0 * through_psi2)[:, :-1]
        ZA_slope = V.T @ self.Xa + 2.0 * np.sum(H @ self.ZA @ self.E, axis=0)
        return PartSlopes(value, m_slope, S_slope, *self._through(ZA_slope))

    def pull_back_crossed(self, H: Array) -> tuple[PartSlopes, Array]:
        """The adjoint of :meth:`crossed` while the radial psi1 stays, and dL/d psi1 (N, M).

        The value counts with the latter.
        """
        p, P, l2 = self.points, self.radial, self.parts.lengths**2
        U = 2.0 * H @ self.ZA  # (G, M, Q + 1), dL/d tilted
        UZ, stay = U * self.Za, (1.0 - self.r) * self.Xa
        V = self._by_weights(stay, U.transpose(0, 2, 1))
        V += self._by_weights(self.r, UZ.transpose(0, 2, 1))
        stay_slope = self._by_weights(P, U)
        r_slope = self._by_weights(P, UZ) - stay_slope * self.Xa
        S_slope = r_slope[:, :-1] * l2 / (l2 + p.S) ** 2
        m_slope = (stay_slope * (1.0 - self.r))[:, :-1]
        moved = (U * (P.T @ (w[:, None] * self.r)) for U, w in zip(U, p.weights, strict=True))
        Z_slope, slope = self._through(2.0 * np.sum(H @ self.radial_moments, axis=0))
        Z_slope += sum(moved)[:, :-1]
        lengths = -2.0 * np.sum(p.S * S_slope, axis=0)
        parts = KernelParts(0.0, lengths, slope.slopes, slope.offset, 0.0)
        return PartSlopes(np.zeros(len(p.m)), m_slope, S_slope, Z_slope, parts), V

    def _by_weights(self, A: Array, B: Array) -> Array:
        """sum_g w_g (A B_g), row by row."""
        total = np.zeros((len(A), B.shape[2]))
        for w, b in zip(self.points.weights, B, strict=True):
            total += w[:, None] * (A @ b)
        return total

    def _through(self, ZA_slope: Array) -> tuple[Array, KernelParts]:
        """From ZA to Z and the variances."""
        each = np.sum(ZA_slope * self.Za, axis=0)
        slope = KernelParts(0.0, np.zeros_like(self.parts.lengths), each[:-1], float(each[-1]), 0.0)
        return ZA_slope[:, :-1] * self.parts.slopes, slope


def _with_column(A: Array, value: float) -> Array:
    """One column more, of one value."""
    return np.column_stack([A, np.full(len(A), value)])
