"""Columns that depend on each other, such as joints of one body, as a few principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array


@dataclass(frozen=True, eq=False)
class PrincipalFrame:
    """An origin and K orthonormal axes.

    Attributes
    ----------
    centre : ndarray of shape (D,)
    axes : ndarray of shape (K, D)
    residual_variance : ndarray of shape (D,)
        Variance of the columns about their projection.

    Examples
    --------
    >>> import numpy as np
    >>> frame = PrincipalFrame.from_rows(np.array([[1.0, 2.0], [3.0, 2.0]]), most=1)
    >>> frame.restore(frame.project(np.array([[5.0, 9.0]])))
    array([[5., 2.]])
    """

    centre: Array
    axes: Array
    residual_variance: Array

    @classmethod
    def from_rows(cls, rows: Array, *, most: int, left_over: float = 0.0) -> PrincipalFrame:
        """Take the fewest axes that leave this share of the variance over, and ``most`` at most."""
        centre = rows.mean(axis=0)
        _, s, axes = linalg.thin_svd(rows - centre)
        rest = 1.0 - np.cumsum(s**2) / np.maximum(np.sum(s**2), np.finfo(np.float64).tiny)
        enough = 1 + int(np.argmax(rest <= max(left_over, 1e-12)))
        frame = cls(centre, axes[: min(most, enough)], np.zeros(rows.shape[1]))
        misfit = rows - frame.restore(frame.project(rows))
        return cls(centre, frame.axes, np.mean(misfit**2, axis=0))

    def project(self, rows: Array) -> Array:
        """Components (n, K) of rows (n, D)."""
        return (rows - self.centre) @ self.axes.T

    def restore(self, components: Array) -> Array:
        """Rows (n, D) of components (n, K)."""
        return self.centre + components @ self.axes
