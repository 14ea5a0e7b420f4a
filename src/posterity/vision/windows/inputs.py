"""Check what a detector is given: patches, scenes, boxes, sizes, and whether images show one view.

The view is the background that a camera sees as long as it stands still. An image is described by
the fine structure of a small copy of it, block by block, each brought to one length, so that light
does not count. Blocks of images of other places are uncorrelated, those of one view nearly equal,
but where something moves. The median over blocks ignores what moves, and what pictures of other
places share in a few blocks: a caption, a horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.vision import images, resizing
from posterity.vision.integrals import Pixels
from posterity.vision.windows import pyramid

_LEAST_WINDOW, _LARGEST_WINDOW = 4, 256


def check_channels(channels: Any) -> str:
    """Return the name of the channels; raise ValueError if there are no such."""
    if channels not in pyramid.CHANNELS:
        raise ValueError(f"channels={channels!r} must be one of {', '.join(pyramid.CHANNELS)}.")
    return str(channels)


def check_window(window: Any) -> tuple[int, int]:
    """Return height and width; raise ValueError unless they are integers from 4 to 256."""
    sizes = tuple(window) if np.ndim(window) == 1 and np.size(window) == 2 else ()
    whole = [int(size) for size in sizes if size == int(size)]
    if len(whole) != 2 or not all(_LEAST_WINDOW <= size <= _LARGEST_WINDOW for size in whole):
        raise ValueError(
            f"window={window!r} must be a height and a width from {_LEAST_WINDOW} to "
            f"{_LARGEST_WINDOW} pixels."
        )
    return whole[0], whole[1]


def check_patches(patches: Any, channels: str) -> Pixels:
    """Patches as (N, F, H, W)."""
    n_frames = 1 if check_channels(channels) == "gray" else 2
    pixels = np.asarray(patches)
    if pixels.ndim == 3 and n_frames == 1:
        pixels = pixels[:, None]
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1] != n_frames:
        wanted = "(N, H, W)" if n_frames == 1 else "(N, 2, H, W)"
        raise ValueError(
            f"patches must be an array of uint8, {wanted}, not {pixels.dtype} of the shape "
            f"{pixels.shape}."
        )
    if len(pixels) < 10 or 0 in pixels.shape:
        raise ValueError(f"A detector needs at least 10 patches, but there are {len(pixels)}.")
    return np.ascontiguousarray(pixels)


def check_frames(image: Any, channels: str) -> Pixels:
    """An image, array or path, as (1, H, W); or a pair of frames as (2, H, W)."""
    if check_channels(channels) == "gray":
        return np.ascontiguousarray(images.load_image(image))[None]
    if len(image) != 2:
        raise ValueError(
            f"channels={channels!r} looks at pairs of frames, (before, now), not at {len(image)}."
        )
    before, now = (images.load_image(frame) for frame in image)
    if before.shape != now.shape:
        raise ValueError(f"The frames differ in size: {before.shape} and {now.shape}.")
    return np.stack([before, now])


def check_scenes(scenes: Sequence[Any], channels: str) -> list[Pixels]:
    """Scenes as (F, H, W) each."""
    if len(scenes) < 2:
        raise ValueError(f"A detector needs at least 2 scenes, but there are {len(scenes)}.")
    found = []
    for k, scene in enumerate(scenes):
        try:
            found.append(check_frames(scene, channels))
        except (ValueError, TypeError) as error:
            raise ValueError(f"Scene {k}: {error}") from error
    return found


def check_boxes(boxes: Sequence[ArrayLike] | None, n_scenes: int) -> list[Array]:
    """Boxes (n, 4) of each scene; none where they are not given."""
    if boxes is None:
        return [np.empty((0, 4))] * n_scenes
    if len(boxes) != n_scenes:
        raise ValueError(f"There are boxes of {len(boxes)} scenes, but {n_scenes} scenes.")
    found = []
    for k, some in enumerate(boxes):
        array = np.asarray(some, dtype=np.float64).reshape(-1, 4)
        if not np.all(array[:, 2:] > array[:, :2]):
            raise ValueError(
                f"Scene {k}: boxes are left, top, right, bottom, so that the third number is more "
                "than the first and the fourth more than the second."
            )
        found.append(array)
    return found


def hold_out(
    n_patches: int,
    groups: ArrayLike | None,
    n_scenes: int,
    fraction: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw the patches, group by group, and the scenes that are held out."""
    labels = np.arange(n_patches) if groups is None else np.asarray(groups)
    if labels.shape != (n_patches,):
        raise ValueError(
            f"groups must have one label per patch, ({n_patches},), not {labels.shape}."
        )
    distinct = np.unique(labels)
    if len(distinct) < 2:
        raise ValueError("groups must name at least two groups, one of which is held out.")
    n_held = int(np.clip(round(fraction * len(distinct)), 1, len(distinct) - 1))
    held = np.isin(labels, rng.choice(distinct, n_held, replace=False))
    held_scenes = np.zeros(n_scenes, dtype=bool)
    some = rng.permutation(n_scenes)[: int(np.clip(round(fraction * n_scenes), 1, n_scenes - 1))]
    held_scenes[some] = True
    return held, held_scenes


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
    >>> from posterity.vision.windows import inputs
    >>> rng = np.random.default_rng(0)
    >>> places = rng.integers(40, 200, size=(9, 60, 80), dtype=np.uint8)
    >>> frames = places[:1] + rng.integers(20, size=places.shape, dtype=np.uint8)
    >>> inputs.find_shared_view(places) is None, inputs.find_shared_view(frames) is None
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
    small = resizing.resize_by_area(image, _SIDE, _SIDE).astype(np.float64)
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
