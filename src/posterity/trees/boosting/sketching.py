"""A few random directions in the space of outputs, by which the tests of a tree are chosen.

Histograms of all outputs cost as many additions as there are outputs. The tests of a tree are as
good when they are chosen by what one Newton step along a few random directions gains; the values
of its leaves are then found for all outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

_ORDERING_ROWS = 256  # whose slopes tell outputs apart


def sketch_outputs(
    slopes: Array, curvatures: Array, weights: Array, n_directions: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Slopes and curvatures (N, n_directions) along random directions of L outputs.

    A direction r has normal entries, larger for outputs of little curvature, and unit length. Its
    slope is r g, its curvature the sum of r^2 h. Slopes are scaled by the root of L over the number
    of directions: the sum of G^2 / H over directions then estimates that over outputs, without bias
    where curvatures of outputs are proportional from leaf to leaf.

    Parameters
    ----------
    slopes, curvatures : array (N, L)
        Of each row's log-probability; returned as they are where L is not above ``n_directions``.
    weights : array (N,)
        How often rows count.
    n_directions : int
        How many directions to draw.
    rng : Generator
        Draws them.

    Examples
    --------
    >>> import numpy as np
    >>> g, h = np.array([[1.0, -1.0, 0.0, 0.0]]), np.full((1, 4), 0.25)
    >>> G, H = sketch_outputs(g, h, np.ones(1), 2, np.random.default_rng(0))
    >>> G.shape, H.round(6).tolist()
    ((1, 2), [[0.25, 0.25]])
    """
    L = slopes.shape[1]
    if n_directions >= L:
        return slopes, curvatures
    means = np.maximum(weights @ curvatures, np.finfo(float).tiny)
    directions = np.empty((L, n_directions))
    directions[_order_outputs(slopes)] = rng.standard_normal((L, n_directions))
    directions /= np.sqrt(means)[:, None]
    directions /= np.sqrt(np.sum(directions**2, axis=0))
    return slopes @ directions * np.sqrt(L / n_directions), curvatures @ directions**2


def _order_outputs(slopes: Array) -> NDArray[np.intp]:
    """An order of outputs that follows their slopes: other names of classes do not change it."""
    some = slopes[:: max(1, len(slopes) // _ORDERING_ROWS)]
    return np.argsort(np.cos(np.arange(len(some))) @ some)
