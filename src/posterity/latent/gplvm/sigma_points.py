"""Points that stand for a standard normal distribution, for functions that bend within it."""

from __future__ import annotations

import functools
import itertools
from typing import TypeAlias

import numpy as np

from posterity.arrays import Array

Rule: TypeAlias = tuple[Array, Array]
"""Points (n, Q), and weights (n,)."""

_POINTS = 256  # at most, of a product rule
_ALONG = 9  # at most, along one dimension
_FEWEST = 4  # along one: with fewer a product rule is no better than two points for each


@functools.lru_cache(maxsize=32)
def standard_rule(n_dimensions: int) -> Rule:
    """Points (n, Q) and weights (n,) of a rule for averages over N(0, I); not to be changed.

    In up to four dimensions Gauss's rule along each, exact for polynomials of degree 17 in one or
    two and 11 and 7 in three and four. In more, two points on each axis, exact to degree 3.  [AH]

    Examples
    --------
    >>> points, weights = standard_rule(2)
    >>> points.shape, round(float(weights @ points[:, 0] ** 4), 9)
    ((81, 2), 3.0)
    """
    along = min(_ALONG, int(_POINTS ** (1.0 / n_dimensions) + 1e-9))
    if along < _FEWEST:
        return axis_rule(n_dimensions)
    nodes, shares = np.polynomial.hermite_e.hermegauss(along)
    points = np.array(list(itertools.product(nodes, repeat=n_dimensions)))
    weights = np.prod(list(itertools.product(shares / shares.sum(), repeat=n_dimensions)), axis=1)
    return points, weights


@functools.lru_cache(maxsize=32)
def axis_rule(n_dimensions: int) -> Rule:
    """Two points on each axis for averages over N(0, I), exact to degree 3; not to be changed. [AH]

    Examples
    --------
    >>> axis_rule(1)
    (array([[ 1.],
           [-1.]]), array([0.5, 0.5]))
    """
    arms = np.sqrt(n_dimensions) * np.eye(n_dimensions)
    points = np.concatenate([arms, -arms])
    return points, np.full(len(points), 1.0 / len(points))
