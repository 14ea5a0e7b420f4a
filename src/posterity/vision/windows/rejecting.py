"""From boosted trees to a sum that rejects: bounds that lose few objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.windows.boosting import WindowTrees
from posterity.vision.windows.window_sum import WindowSum

_MARGIN = 1e-4  # sums in another order
_EARLY = 30.0  # trees within which most of the losses on the way are allowed


def find_bounds(partial: NDArray[np.float32] | Array, kept: float) -> Array:
    """Bounds on partial sums that lose a given share of the objects, and reject early.

    Half of the objects that may be lost are those of the lowest whole sums. The others are lost on
    the way, where they save most time: after tree t, the share 1 - exp(-t / 30) of them, each time
    the objects of the lowest partial sums. All other objects pass every bound.

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
    n_trees, n = partial.shape
    n_lost = min(n - 1, int(np.floor(n * (1.0 - kept) + 1e-9)))
    n_early = n_lost // 2
    left = np.argsort(partial[-1], kind="stable")[n_lost - n_early :]
    shares = -np.expm1(-np.arange(1, n_trees + 1) / _EARLY)
    allowed = np.floor(n_early * shares / shares[-1] + 1e-9).astype(np.int64)
    bounds, lost = np.empty(n_trees), 0
    for t in range(n_trees):
        sums = partial[t, left]
        bounds[t] = np.partition(sums, allowed[t] - lost)[allowed[t] - lost]
        passing = sums >= bounds[t]
        left, lost = left[passing], lost + int(np.sum(~passing))
    return bounds - _MARGIN


def build_sum(
    trees: WindowTrees,
    shape: tuple[int, int, int],
    offset: float,
    bounds: Array,
    least_contrast: float,
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
