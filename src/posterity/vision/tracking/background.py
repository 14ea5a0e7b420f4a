"""How channels vary over the background: a stationary normal model, learned from one frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.vision.tracking.channels import Channels

_SHRINKAGE = 0.1  # of the mean variance: what one frame does not show of others


@dataclass(frozen=True, eq=False)
class BackgroundModel:
    """Mean of the channels, and a Cholesky factor of their covariance in windows of one shape."""

    mean: Array
    factor: Array

    @classmethod
    def fit(cls, maps: Sequence[Channels], shape: tuple[int, int]) -> BackgroundModel:
        """Learn from the channels of whole frames."""
        mean = np.asarray(np.mean([grid.mean(axis=(0, 1)) for grid in maps], axis=0), dtype=float)
        covariance = _arrange_windows(_average_lags(maps, mean, shape), shape)
        diagonal = np.einsum("ii->i", covariance)
        diagonal += _SHRINKAGE * diagonal.mean() + 1e-9
        return cls(mean, linalg.cholesky(covariance))

    def discriminate(self, template: Channels, taper: Channels) -> Channels:
        """Compute the weights of the linear discriminant between a template and the background.

        Their product with the contrast of a window (see :meth:`measure_contrast`), over the length
        of that contrast, is one at the template and about zero over the background.
        """
        gap = self.measure_contrast(template, taper)
        w = linalg.solve_cholesky(self.factor, gap.ravel().astype(np.float64)).reshape(gap.shape)
        return (w * (np.linalg.norm(gap) / max(float(np.sum(w * gap)), 1e-12))).astype(np.float32)

    def measure_contrast(self, window: Channels, taper: Channels) -> Channels:
        """Subtract the mean of the background; the edge of the window counts less."""
        return (window - self.mean.astype(np.float32)) * taper


def _average_lags(maps: Sequence[Channels], mean: Array, shape: tuple[int, int]) -> Array:
    """Compute the covariance of two cells by their distance.

    Returns an array (2 lines - 1, 2 columns - 1, directions, directions).

    Products are divided by the number of all cells and not of pairs, so that the covariance of a
    window is positive semidefinite.
    """
    lines, columns = (np.arange(1 - n, n) for n in shape)
    total, n = np.zeros((len(lines), len(columns), len(mean), len(mean))), 0
    for grid in maps:
        padded = (2 * max(grid.shape[0], shape[0]), 2 * max(grid.shape[1], shape[1]))
        f = np.fft.rfft2(grid.astype(np.float64) - mean, s=padded, axes=(0, 1))
        for k in range(len(mean)):
            lags = np.fft.irfft2(np.conj(f[:, :, k : k + 1]) * f, s=padded, axes=(0, 1))
            total[:, :, k] += lags[np.ix_(lines, columns)]
        n += grid.shape[0] * grid.shape[1]
    return total / n


def _arrange_windows(lags: Array, shape: tuple[int, int]) -> Array:
    """Arrange the covariance of all channels of a window from that of two cells."""
    lines, columns = (np.arange(n)[None, :] - np.arange(n)[:, None] + n - 1 for n in shape)
    cells = lags[lines[:, None, :, None], columns[None, :, None, :]]  # (l, c, l, c, k, k)
    n = shape[0] * shape[1] * lags.shape[-1]
    return linalg.symmetrize(cells.transpose(0, 1, 4, 2, 3, 5).reshape(n, n))
