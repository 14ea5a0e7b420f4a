"""From boosted trees to a sum that rejects: bounds by backward pruning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.windows.boosting import Trees
from posterity.vision.windows.window_sum import WindowSum

_MARGIN = 1e-4  # sums in another order


def find_bounds(partial: NDArray[np.float32] | Array, kept: float) -> Array:
    """The lowest partial sums of the objects whose whole sum is high enough.

    Parameters
    ----------
    partial : array (T, N)
        Sums of held-out objects after each tree.
    kept : float
        Share of the objects that must pass.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.windows import rejecting
    >>> sums = np.array([[-1.0, 1.0, 2.0], [-3.0, 0.5, 3.0]])
    >>> rejecting.find_bounds(sums, 2 / 3).round(3)
    array([1. , 0.5])
    """
    last = np.sort(partial[-1])
    n = len(last)
    least = last[min(n - 1, int(np.floor(n * (1.0 - kept) + 1e-9)))]
    passing = partial[:, partial[-1] >= least]
    return passing.min(axis=1).astype(np.float64) - _MARGIN


def build_sum(
    trees: Trees, shape: tuple[int, int, int], offset: float, bounds: Array, least_contrast: float
) -> WindowSum:
    """The sum of trees, with bounds (T,)."""
    sizes = np.array([len(asked) for asked in trees.rectangles], dtype=np.int32)
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    first_leaf = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]]).astype(np.int32)
    children = [
        [[-1 - leaf, -2 - leaf]]
        if size == 1
        else [[root + 1, root + 2], [-1 - leaf, -2 - leaf], [-3 - leaf, -4 - leaf]]
        for size, root, leaf in zip(sizes, roots, first_leaf, strict=True)
    ]
    rectangles = np.concatenate(trees.rectangles)
    return WindowSum(
        shape=shape,
        inset=0,
        least_contrast=least_contrast,
        rectangles=rectangles,
        tilted=np.zeros(len(rectangles), dtype=np.bool_),
        roots=roots,
        features=np.arange(len(rectangles), dtype=np.int32),
        thresholds=np.concatenate(trees.thresholds),
        children=np.concatenate(children).astype(np.int32),
        leaves=np.concatenate(trees.values),
        offset=offset,
        bounds=bounds,
        restarts=np.zeros(len(trees), dtype=np.bool_),
        skips=False,
    )
