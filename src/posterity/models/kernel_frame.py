"""The units in which the widths of a default kernel are learned: the spread of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays, kernels
from posterity.arrays import Array, DeviceArray, namespace


@dataclass(frozen=True)
class KernelFrame:
    """Rows in the units in which a kernel is learned, and that kernel."""

    rows: Any
    kernel: kernels.Kernel
    spread: Array | None  # (D,), the units; None: those of the rows as they were given

    @classmethod
    def for_kernel(cls, given: kernels.Kernel | None, rows: Any, weights: Array) -> KernelFrame:
        """The units of a kernel that was given; else RBF() in columns of unit variance."""
        if given is not None:
            return cls(rows, given, None)
        spread = compute_column_spreads(rows, weights)
        return cls(rows / arrays.like(rows, spread), kernels.RBF(), spread)

    @property
    def given_kernel(self) -> kernels.Kernel | None:
        """The kernel that was given; None: the default."""
        return self.kernel if self.spread is None else None

    def transform_rows(self, rows: Any) -> Any:
        """Other rows in these units."""
        return rows if self.spread is None else rows / arrays.like(rows, self.spread)

    def restore_kernel_units(self, kernel: kernels.Kernel) -> kernels.Kernel:
        """The kernel that makes of the rows as given what this one makes of them here."""
        if self.spread is None:
            return kernel
        assert isinstance(kernel, kernels.RBF)
        lengths = np.asarray(kernel.length_scale) * self.spread
        return kernels.RBF(tuple(map(float, lengths)))


def compute_column_spreads(rows: DeviceArray, weights: Array) -> Array:
    """The weighted standard deviation of each column; one where a column is constant."""
    xp, share = namespace(rows), arrays.like(rows, weights / np.sum(weights))
    about = rows - rows[0, :]  # exactly zero in a column that is constant
    size = xp.max(xp.abs(about), axis=0)
    unit = xp.where(size > 0.0, size, xp.ones_like(size))  # squares neither overflow nor vanish
    scaled = about / unit
    residual = scaled - share @ scaled
    spread = arrays.to_numpy(xp.sqrt(share @ (residual * residual)) * unit)
    return np.where(arrays.to_numpy(size) > 0.0, spread, 1.0)
