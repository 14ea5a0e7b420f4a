"""Averages of the kernel over uncertain latent points, which the bound needs, and their adjoint.

Letters of [TL]: psi1 = E k(x_n, z_m), psi2 = sum_n w_n E k(z_m, x_n) k(x_n, z_m') and
psi0 = sum_n w_n E k(x_n, x_n), where row n is normal with mean m_n and variances S_n. Several
weightings w are answered at once: where values are missing, each pattern of rows is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity import kernels
from posterity.arrays import Array


@dataclass(frozen=True)
class NormalPoints:
    """Latent points of which means and variances are known, and the points that stand for them."""

    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    weights: Array  # (G, N)
    n_jobs: int = 1  # threads over blocks of rows; the numbers do not depend on it


@dataclass(frozen=True)
class KernelStatistics:
    """Averages of the kernel over uncertain latent points."""

    psi0: Array  # (G,)
    psi1: Array  # (N, M)
    psi2: Array  # (G, M, M)


@dataclass(frozen=True)
class Weighting:
    """The coefficients of a linear function of the averages: their adjoints, dL/dpsi."""

    psi0: Array  # (G,)
    psi1: Array  # (N, M)
    psi2: Array  # (G, M, M), symmetric


@dataclass(frozen=True)
class StatisticSlopes:
    """A linear function of the averages, row by row, and the gradients of its sum."""

    value: Array  # (N,)
    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    theta: Array  # (P,) the log parameters of the kernel


@dataclass(frozen=True)
class KernelParts:
    """The numbers of the sum; or, of a function of them, its slopes, and those in log lengths."""

    signal: float
    lengths: Array  # (Q,)
    slopes: Array  # (Q,)
    offset: float
    white: float

    @property
    def is_radial(self) -> bool:
        """Whether there is exp(-r^2 / 2)."""
        return self.signal > 0.0

    @property
    def is_straight(self) -> bool:
        """Whether there is an inner product or an offset."""
        return self.offset > 0.0 or bool(np.any(self.slopes > 0.0))


@dataclass(frozen=True)
class PartSlopes:
    """A linear function of the averages, row by row, and the gradients of its sum."""

    value: Array  # (N,)
    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    parts: KernelParts

    def __add__(self, other: PartSlopes) -> PartSlopes:
        one, two = self.parts, other.parts
        parts = KernelParts(
            one.signal + two.signal,
            one.lengths + two.lengths,
            one.slopes + two.slopes,
            one.offset + two.offset,
            one.white + two.white,
        )
        m, S, Z = self.m + other.m, self.S + other.S, self.Z + other.Z
        return PartSlopes(self.value + other.value, m, S, Z, parts)


def read_kernel(kernel: kernels.Kernel, n_columns: int) -> KernelParts | None:
    """The parts; None for a kernel that is not such a sum, or has two exp(-r^2 / 2)."""
    nothing = KernelParts(0.0, np.ones(n_columns), np.zeros(n_columns), 0.0, 0.0)
    return _add_kernel(nothing, kernel, 1.0)


def gather_gradient(kernel: kernels.Kernel, slope: KernelParts) -> Array:
    """dL/dtheta, (P,), of the kernel that was read."""
    return _gather_part(kernel, slope, 1.0)[0]


def _add_kernel(parts: KernelParts, kernel: kernels.Kernel, scale: float) -> KernelParts | None:
    """The parts with ``scale`` times the kernel."""
    match kernel:
        case kernels.Scaled():
            return _add_kernel(parts, kernel.kernel, scale * kernel.variance)
        case kernels.Sum():
            left = _add_kernel(parts, kernel.left, scale)
            return None if left is None else _add_kernel(left, kernel.right, scale)
        case kernels.RBF() if not parts.is_radial:
            lengths = np.broadcast_to(np.asarray(kernel.length_scale), parts.lengths.shape)
            return replace(parts, signal=scale, lengths=lengths)
        case kernels.Linear():
            return replace(parts, slopes=parts.slopes + scale * np.asarray(kernel.variance))
        case kernels.Constant():
            return replace(parts, offset=parts.offset + scale * kernel.variance)
        case kernels.White():
            return replace(parts, white=parts.white + scale * kernel.variance)
    return None


def _gather_part(kernel: kernels.Kernel, slope: KernelParts, scale: float) -> tuple[Array, float]:
    """dL/dtheta, and dL/d log of a factor of the whole kernel, ``scale`` times which is there."""
    match kernel:
        case kernels.Scaled():
            inner, size = _gather_part(kernel.kernel, slope, scale * kernel.variance)
            return np.concatenate([_free(kernel, "variance", size), inner]), size
        case kernels.Sum():
            left, one = _gather_part(kernel.left, slope, scale)
            right, other = _gather_part(kernel.right, slope, scale)
            return np.concatenate([left, right]), one + other
        case kernels.RBF():
            each = isinstance(kernel.length_scale, tuple)
            lengths = slope.lengths if each else np.sum(slope.lengths)
            return _free(kernel, "length_scale", lengths), scale * slope.signal
        case kernels.Linear():
            sizes = scale * np.asarray(kernel.variance) * slope.slopes
            size = float(np.sum(sizes))
            each = isinstance(kernel.variance, tuple)
            return _free(kernel, "variance", sizes if each else size), size
        case kernels.Constant():
            size = scale * kernel.variance * slope.offset
            return _free(kernel, "variance", size), size
        case kernels.White():
            size = scale * kernel.variance * slope.white
            return _free(kernel, "variance", size), size
    raise TypeError(f"{kernel} was never read as parts.")


def _free(kernel: kernels.Kernel, name: str, gradient: Array | float) -> Array:
    """The gradient of a parameter, of no entries where it is held."""
    return np.empty(0) if name in kernel.held else np.atleast_1d(gradient)
