"""Textons: typical responses to a bank of filters, and the nearest one of every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.vision.filters import Responses

_BATCH = 4096
_ROWS_AT_ONCE = 4096  # distances that a cache holds
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class Textons:
    """K typical responses to D filters.

    Attributes
    ----------
    means, scales : ndarray of shape (D,), float32
        What is subtracted from responses, and what they are then divided by.
    centers : ndarray of shape (K, D), float32
        Responses of textons after that.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Textons
    >>> rng = np.random.default_rng(0)
    >>> gray = np.concatenate([rng.normal(20.0, 1.0, 50), rng.normal(80.0, 1.0, 50)])
    >>> textons = Textons.learn(gray[:, None], 2, random_state=0)
    >>> numbers = textons.assign(np.array([[[22.0], [79.0], [18.0]]]))[0]
    >>> bool(numbers[0] == numbers[2] != numbers[1])
    True
    """

    means: NDArray[np.float32]
    scales: NDArray[np.float32]
    centers: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.centers)

    @classmethod
    def learn(cls, samples: Any, n_textons: int, *, random_state: int) -> Textons:
        """Cluster responses (N, D) by k-means in small batches, after scaling to unit variance.

        There are fewer textons than asked for where there are fewer different responses.
        """
        from sklearn.cluster import MiniBatchKMeans

        responses = np.asarray(samples, dtype=np.float32)
        means, spread = responses.mean(axis=0), responses.std(axis=0)
        scales = np.where(spread > _LEAST_SPREAD, spread, np.float32(1.0)).astype(np.float32)
        scaled = (responses - means) / scales
        n = min(n_textons, len(np.unique(scaled, axis=0)))
        found = MiniBatchKMeans(
            n, n_init=1, batch_size=_BATCH, max_iter=30, random_state=random_state
        ).fit(scaled)
        return cls(means, scales, found.cluster_centers_.astype(np.float32))

    def assign(self, responses: Responses) -> NDArray[np.uint16]:
        """The nearest texton of each pixel, (H, W)."""
        *shape, n_filters = responses.shape
        flat = responses.reshape(-1, n_filters)
        found = np.empty(len(flat), dtype=np.uint16)
        # The nearest center has the largest x c - c^2 / 2: one product of matrices.
        halves = np.float32(0.5) * np.einsum("kd,kd->k", self.centers, self.centers)
        for first in range(0, len(flat), _ROWS_AT_ONCE):
            block = (flat[first : first + _ROWS_AT_ONCE] - self.means) / self.scales
            scores = block @ self.centers.T
            scores -= halves
            found[first : first + len(block)] = np.argmax(scores, axis=1)
        return found.reshape(shape)

    def check_consistency(self) -> None:
        """Raise ValueError unless means, scales and centers are finite and of one width."""
        validation.require_array(self.centers, "centers", np.float32, (None, None))
        n_filters = self.centers.shape[1]
        for name in ("means", "scales"):
            validation.require_array(getattr(self, name), name, np.float32, (n_filters,))
        parts = (self.means, self.scales, self.centers)
        validation.require(all(np.isfinite(x).all() for x in parts), "textons must be finite.")
        validation.require(bool(np.all(self.scales > 0.0)), "scales of textons must be positive.")
        validation.require(0 < len(self.centers) < 2**16, "there must be 1 to 65,535 textons.")
