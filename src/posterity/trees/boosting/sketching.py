"""A few random directions in the space of outputs, by which the tests of a tree are chosen.

Histograms of all outputs cost as many additions as there are outputs. The tests of a tree are as
good when they are chosen by what one Newton step along a few random directions gains; the values
of its leaves are then found for all outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

_IRRATIONAL = 0.6180339887498949


def sketch_outputs(
    slopes: Array,
    curvatures: Array,
    weights: Array,
    order: NDArray[np.intp],
    n_directions: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Slopes and curvatures (N, n_directions) along random directions of L outputs.

    A direction r has normal entries, larger for outputs of little curvature, and unit length. Its
    slope is r g, its curvature the sum of r^2 h. Slopes are scaled by the root of L over the number
    of directions: the sum of G^2 / H over directions then estimates that over outputs, without bias
    where curvatures of outputs are proportional from leaf to leaf.

    Parameters
    ----------
    slopes, curvatures : array (N, L)
        Of each row's log-probability.
    weights : array (N,)
        How often rows count.
    order : array (L,)
        In which outputs draw, see :func:`order_outputs`.
    n_directions : int
        How many directions to draw.
    rng : Generator
        Draws them.

    Examples
    --------
    >>> import numpy as np
    >>> g, h = np.array([[1.0, -1.0, 0.0, 0.0]]), np.full((1, 4), 0.25)
    >>> G, H = sketch_outputs(g, h, np.ones(1), np.arange(4), 2, np.random.default_rng(0))
    >>> G.shape, H.round(6).tolist()
    ((1, 2), [[0.25, 0.25]])
    """
    L = slopes.shape[1]
    means = np.maximum(weights @ curvatures, np.finfo(float).tiny)
    directions = np.empty((L, n_directions))
    directions[order] = rng.standard_normal((L, n_directions))
    directions /= np.sqrt(means)[:, None]
    directions /= np.sqrt(np.sum(directions**2, axis=0))
    return slopes @ directions * np.sqrt(L / n_directions), curvatures @ directions**2


def order_outputs(codes: NDArray[np.uint8], slopes: Array, weights: Array) -> NDArray[np.intp]:
    """An order (L,) of outputs that neither other names of classes nor repeated rows change.

    Slopes at rows distinguish outputs. Each row has a number that depends on its codes alone,
    neither on its place nor on how often it stands there.

    Parameters
    ----------
    codes : array (J, N)
        What the rows answer.
    slopes : array (N, L)
        Of each row's log-probability.
    weights : array (N,)
        How often rows count.

    Examples
    --------
    >>> import numpy as np
    >>> codes, slopes = np.array([[0, 3, 1]], dtype=np.uint8), np.diag([1.0, 1.0, 1.0])
    >>> order_outputs(codes, slopes, np.ones(3)), order_outputs(codes, slopes[:, ::-1], np.ones(3))
    (array([1, 2, 0]), array([1, 0, 2]))
    """
    numbers = np.zeros(codes.shape[1])
    for j, code in enumerate(codes):
        numbers += np.sqrt(j + _IRRATIONAL) * code
    return np.argsort((weights * np.cos(numbers)) @ slopes)
