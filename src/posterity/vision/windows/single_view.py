"""Whether images show one view: the background that a camera sees as long as it stands still.

An image is described by the fine structure of a small copy of it, block by block, each brought to
one length, so that light does not count. Blocks of images of other places are uncorrelated, those
of one view nearly equal, but where something moves. The median over blocks ignores what moves, and
what pictures of other places share in a few blocks: a caption, a horizon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels

NOTE = (
    "The images from which the probabilities of this detector were learned show one view, as from "
    "a camera that stands still: they hold for that camera."
)
"""Sentence about a detector with one view."""

_SIDE, _BLOCK = 32, 8  # of the small copy and of its blocks
SHAPE = ((_SIDE // _BLOCK) ** 2, _BLOCK**2)
_MOST = 64  # images that are compared; each with the median of the others
_SHARED = 0.5  # correlation from which on most of the structure is common


def find_shared_view(images: Sequence[Pixels]) -> Array | None:
    """Return the structure of the view that most of the images show; None if they differ.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.windows import single_view
    >>> rng = np.random.default_rng(0)
    >>> places = rng.integers(40, 200, size=(9, 60, 80), dtype=np.uint8)
    >>> frames = places[:1] + rng.integers(20, size=places.shape, dtype=np.uint8)
    >>> single_view.find_shared_view(places) is None, single_view.find_shared_view(frames) is None
    (True, False)
    """
    chosen = np.unique(np.linspace(0, len(images) - 1, _MOST).round().astype(int))
    if len(chosen) < 2:
        return None
    blocks = np.stack([_describe(images[k]) for k in chosen])
    others = [np.median(np.delete(blocks, k, axis=0), axis=0) for k in range(len(blocks))]
    agreement = np.median([_correlate(*pair) for pair in zip(blocks, others, strict=True)])
    return _standardize(np.median(blocks, axis=0)) if agreement > _SHARED else None


def shows_view(image: Pixels, view: ArrayLike) -> bool:
    """Whether an image shows this view."""
    return _correlate(_describe(image), np.asarray(view)) > _SHARED


def _describe(image: Pixels) -> Array:
    """Differences of pixels of a small copy from the mean of their neighbours, (blocks, pixels)."""
    small = resizing.resize_by_area(np.ascontiguousarray(image), _SIDE, _SIDE).astype(np.float64)
    wide = np.pad(small, 1, mode="edge")
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    n = _SIDE // _BLOCK
    blocks = (small - 0.25 * around).reshape(n, _BLOCK, n, _BLOCK).transpose(0, 2, 1, 3)
    return _standardize(blocks.reshape(SHAPE))


def _standardize(blocks: Array) -> Array:
    """Blocks of mean zero and length one; of zeros where they are flat."""
    centred = blocks - blocks.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return centred / np.where(length > 0.0, length, np.inf)


def _correlate(blocks: Array, others: Array) -> float:
    return float(np.median(np.sum(blocks * _standardize(others), axis=1)))
