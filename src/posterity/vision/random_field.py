"""Conditional random field of the labels of an image, with mean field.  [P9 9.12.3]

The field is fully connected: each pixel is paired with every block of the image. Pixels of similar
colours tend to have the same label, wherever they lie, and some labels occur together in an image
and others do not. How strongly, is learned from the log score of held-out images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from posterity import validation
from posterity.vision.filters import Planes

Field = NDArray[np.float32]

_SIDE = 4  # pixels of the grid along the side of a block
_MOST_BLOCKS = 2000  # of an image; blocks of larger images are larger
_ROWS_AT_ONCE = 4096  # pixels whose pairs are in memory together
_LEAST_LOG_P = -12.0  # of a pixel: what is less probable may be a wrong label

SWEEPS = 2
"""Number of updates of mean field; the last one is that of pixels, the others are of blocks."""


class FieldBlocks(NamedTuple):
    """Blocks of an image: means of their pixels."""

    log_p: Field  # (B, C), normalised
    colors: Field  # (B, 3), L*, a* and b*

    @classmethod
    def from_pixels(cls, log_p: Field, planes: Planes) -> FieldBlocks:
        """Average pixels (h, w, C) and their colours (h, w, 3) in squares."""
        height, width, _ = log_p.shape
        side = max(_SIDE, int(np.ceil(np.sqrt(height * width / _MOST_BLOCKS))))
        means = log_softmax(_average_squares(log_p, side), axis=1)
        return cls(means, _average_squares(planes, side))


@dataclass(frozen=True, eq=False)
class RandomField:
    """Fully connected field of labels with pairs that depend on colour and on classes.

    The labels z of an image with colours x have the probability

        P(z | x)  ~  exp( sum_i (own log p_i(z_i) + pooled sum_j k_ij log p_j(z_i))
                          + sum_ij (agreement k_ij [z_i = z_j] + A(z_i, z_j) / B) ),

        k_ij  ~  exp(-|x_i - x_j|^2 / (2 width^2)),   sum_j k_ij = 1,

    where p_i are the probabilities of a pixel by itself, and j runs over the B blocks of the image.
    Mean field finds independent distributions that are near to it. The weight ``own`` is less than
    1 where neighbours say the same thing twice, so that the answer is not too sure.

    Parameters
    ----------
    own : float, default=1
        Weight of what a pixel says by itself.
    pooled : float, default=0
        Weight of what all blocks say, by similarity of colour.
    agreement : float, default=0
        Strength of pairs of equal colour.
    width : float, default=5
        Distance in L*a*b* at which colours begin to differ.
    affinities : array of shape (C, C), optional
        Strength A of each pair of classes in an image, symmetric. None: 0.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import RandomField
    >>> log_p = np.log(np.full((9, 9, 2), [0.7, 0.3], dtype=np.float32))
    >>> log_p[4, 4] = np.log([0.4, 0.6])  # one pixel that disagrees with all others
    >>> gray = np.zeros((9, 9, 3), dtype=np.float32)
    >>> RandomField(agreement=2.0).smooth(log_p, gray)[4, 4].round(2)
    array([0.72, 0.28], dtype=float32)
    """

    own: float = 1.0
    pooled: float = 0.0
    agreement: float = 0.0
    width: float = 5.0
    affinities: NDArray[np.float64] | None = None

    def smooth(self, log_p: Field, planes: Planes) -> Field:
        """Probabilities (h, w, C) by mean field.

        Parameters
        ----------
        log_p : array (h, w, C)
            Logarithms of the probabilities of single pixels.
        planes : array (h, w, 3)
            L*, a* and b* of the same pixels.
        """
        own = normalise_pixels(log_p)
        blocks = FieldBlocks.from_pixels(own, planes)
        q = self.find_mean_field(blocks, SWEEPS - 1)
        flat, colors = own.reshape(-1, own.shape[-1]), planes.reshape(-1, 3)
        found = np.empty_like(flat)
        for first in range(0, len(flat), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            found[rows] = self.update(flat[rows], colors[rows], blocks, q)
        return found.reshape(own.shape)

    def find_mean_field(self, blocks: FieldBlocks, n_sweeps: int) -> Field:
        """Distributions (B, C) of blocks after some sweeps, which begin with their own."""
        q = np.exp(blocks.log_p)
        for _ in range(n_sweeps):
            q = self.update(blocks.log_p, blocks.colors, blocks, q)
        return q

    def update(self, log_p: Field, colors: Field, blocks: FieldBlocks, q: Field) -> Field:
        """New distributions (n, C) of pixels, from the distributions q (B, C) of blocks."""
        evidence = np.float32(self.pooled) * blocks.log_p + np.float32(self.agreement) * q
        activations = np.float32(self.own) * log_p
        activations += weigh_pairs(colors, blocks.colors, self.width) @ evidence
        if self.affinities is not None:
            activations += (np.mean(q, axis=0) @ self.affinities).astype(np.float32)
        return softmax(activations, axis=1)

    def check_consistency(self) -> None:
        """Raise ValueError unless all parameters are finite and affinities are symmetric."""
        validation.require_positive(self.width, "width")
        for name in ("own", "pooled", "agreement"):
            value = getattr(self, name)
            is_number = isinstance(value, float) and bool(np.isfinite(value))
            validation.require(is_number, f"{name} must be a finite number.")
        if self.affinities is not None:
            is_symmetric = self.affinities.ndim == 2 and np.array_equal(
                self.affinities, self.affinities.T
            )
            validation.require(is_symmetric, "affinities must be a symmetric matrix.")
            is_finite = bool(np.isfinite(self.affinities).all())
            validation.require(is_finite, "affinities must be finite.")


def normalise_pixels(log_p: Field) -> Field:
    """Normalise log-probabilities (..., C), and bound them from below."""
    return np.maximum(log_softmax(log_p, axis=-1), np.float32(_LEAST_LOG_P))


def weigh_pairs(colors: Field, others: Field, width: float) -> Field:
    """Similarities (n, B) of colours (n, 3) and others (B, 3), which sum to 1 over others.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import random_field
    >>> gray, others = np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    >>> random_field.weigh_pairs(gray, others, width=5.0).round(3)  # in the ratio exp(-1/2)
    array([[0.622, 0.378]])
    """
    a, b = colors / np.float32(width), others / np.float32(width)
    # The square of a is the same for all others, and cancels when the sum becomes 1.
    weights = a @ b.T
    weights -= np.float32(0.5) * np.einsum("bc,bc->b", b, b)
    weights -= np.max(weights, axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= np.sum(weights, axis=1, keepdims=True)
    return weights


def _average_squares(values: Field, side: int) -> Field:
    """Means (B, K) of an array (h, w, K) over squares, which are smaller at its end."""
    starts = [np.arange(0, n, side) for n in values.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(values, starts[0], axis=0), starts[1], axis=1)
    sizes = [np.diff(np.append(at, n)) for at, n in zip(starts, values.shape[:2], strict=True)]
    means = sums / np.multiply.outer(*sizes)[..., None]
    return means.reshape(-1, values.shape[2]).astype(np.float32)
