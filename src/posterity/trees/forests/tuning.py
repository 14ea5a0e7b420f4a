"""Concentration and sharpness of a forest: the search that forests of all kinds share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.trees.forests import out_of_bag

PRECISIONS = np.array([0.25, 1.0])
"""Prior precisions of log concentration and log sharpness, whose prior means are zero."""

_STARTS = (0.1, 1.0, 10.0)  # of the concentration
_LEAST_GAIN = 1e-7  # nats a row

Range: TypeAlias = tuple[float, float]


class Trend(NamedTuple):
    """A number that says how concentration or sharpness change with the number of trees."""

    expected: float
    ends: Range


def tune(
    loss: Callable[[Array], tuple[float, Array]],
    given: tuple[float | None, float | None],
    ranges: tuple[Range, Range],
    trends: Sequence[Trend] = (),
) -> Array:
    """Logs of concentration and sharpness, and the trends, of the least loss.

    Parameters
    ----------
    loss : callable
        Value and gradient at these.
    given, ranges : pair
        Concentration and sharpness where they are given, and between which ends they are sought
        where they are None.
    trends : sequence of Trend
    """
    bounds = [_log_bounds(*pair) for pair in zip(given, ranges, strict=True)]
    bounds += [trend.ends for trend in trends]
    low, high = np.transpose(bounds)
    expected = [trend.expected for trend in trends]
    starts = [np.clip([np.log(start), 0.0, *expected], low, high) for start in _STARTS]
    end = optimize.minimise_lbfgs(
        loss,
        min(starts, key=lambda x: loss(x)[0]),
        bounds=bounds,
        least_gain=_LEAST_GAIN,
        announce=False,
    )
    return end.x


def settle(
    given: tuple[float | None, float | None], left_out: NDArray[np.bool_], weights: Array
) -> tuple[float | None, float | None]:
    """Concentration and sharpness as given, one where rows cannot tell, None where they can.

    The sharpness says by how much the mean of all trees is too cautious, and so needs rows of
    every kind. Rows that are there often are left out seldom: where those left out weigh less than
    nine tenths of as many rows at random, it stays one.

    Parameters
    ----------
    given : pair
    left_out : array (r,)
        Rows that some tree has not seen.
    weights : array (r,)

    Examples
    --------
    >>> settle((None, None), np.array([True, False, True]), np.ones(3))
    (None, None)
    >>> settle((None, None), np.array([True, False, True]), np.array([1.0, 9.0, 1.0]))
    (None, 1.0)
    """
    s, beta = given
    if not left_out.any():
        return s or 1.0, beta or 1.0
    at_random = np.average(left_out[weights > 0.0])
    is_telling = np.average(left_out, weights=weights) >= out_of_bag.NEARLY_ALL * at_random
    return s, beta if is_telling else beta or 1.0


def _log_bounds(given: float | None, ends: Range) -> Range:
    """Logs of the ends between which a parameter is sought."""
    low, high = ends if given is None else (given, given)
    return float(np.log(low)), float(np.log(high))
