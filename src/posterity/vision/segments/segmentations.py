"""Partitions of an image into segments of pixels that touch and look alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.vision.integrals import Pixels

Labels = NDArray[np.int64]
"""Number of the segment of each pixel, (H, W), from 0 without gaps."""

Segmentation = tuple[str, float]
"""A kind of partition, "slic" or "felzenszwalb", and its size."""

_KINDS = ("slic", "felzenszwalb")
_COMPACTNESS = 12.0
_SMOOTHING = 0.8  # pixels, before Felzenszwalb
_LEAST_SHARE = 0.6  # least pixels of a segment of Felzenszwalb, in units of its scale


def segment_image(image: Pixels, kind: str, size: float) -> Labels:
    """Partition an image.

    Parameters
    ----------
    image : array (H, W, 3) of uint8
        Red, green and blue.
    kind : {"slic", "felzenszwalb"}
        Clusters of colour and place, about equal in size; or trees of a graph of similar pixels,
        some large and some small.
    size : float
        Number of segments of "slic"; scale of "felzenszwalb", larger ones give larger segments.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import segmentations
    >>> image = np.zeros((20, 20, 3), dtype=np.uint8)
    >>> image[:, 10:] = 255
    >>> segmentations.segment_image(image, "felzenszwalb", 50)[0, [0, -1]]
    array([0, 1])
    """
    segmentation = _import_segmentation()
    if kind == "slic":
        labels = segmentation.slic(
            image, n_segments=int(size), compactness=_COMPACTNESS, start_label=0
        )
    else:
        labels = segmentation.felzenszwalb(
            image, scale=size, sigma=_SMOOTHING, min_size=max(int(_LEAST_SHARE * size), 1)
        )
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def check_segmentations(kinds: Any) -> tuple[Segmentation, ...]:
    """Partitions as pairs of a kind and a size; ValueError if one is not."""
    try:
        checked = tuple((str(kind), float(size)) for kind, size in kinds)
    except (TypeError, ValueError):
        checked = ()
    if not checked or not all(kind in _KINDS and 1.0 <= size < 1e6 for kind, size in checked):
        raise ValueError(
            f"segmentations={kinds!r} must be pairs such as ('slic', 120) or ('felzenszwalb', 100)."
        )
    return checked


def _import_segmentation() -> Any:
    try:
        from skimage import segmentation
    except ImportError as error:
        raise ImportError(
            "Segments of images require scikit-image: pip install 'posterity[vision]'."
        ) from error
    return segmentation
