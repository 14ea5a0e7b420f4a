"""Concentration and sharpness of a forest: the search that forests of all kinds share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array
from posterity.trees.forests import out_of_bag

PRECISIONS = np.array([0.25, 1.0])
"""Prior precisions of log concentration and log sharpness, whose prior means are zero."""

_STARTS = (0.1, 1.0, 10.0)  # of the concentration
_LEAST_GAIN = 1e-7  # nats a row


def tune(
    loss: Callable[[Array], tuple[float, Array]],
    left_out: NDArray[np.bool_],
    given: tuple[float | None, float | None],
    ranges: tuple[tuple[float, float], tuple[float, float]],
) -> tuple[float, float]:
    """Concentration and sharpness: as given, else of the least loss, else one.

    The sharpness says by how much the mean of all trees is too cautious, and so wants rows of
    every kind: where more than a tenth were left out by no tree, it stays one.

    Parameters
    ----------
    loss : callable
        Value and gradient at both logs.
    left_out : array (r,)
        Which rows some tree has not seen; the loss is of these.
    given, ranges : pair
        What is given, and between which ends the others are sought.
    """
    is_telling = np.mean(left_out) >= out_of_bag.NEARLY_ALL
    s, beta = given[0], given[1] if is_telling else given[1] or 1.0
    if not left_out.any() or (s is not None and beta is not None):
        return s or 1.0, beta or 1.0
    bounds = [_log_bounds(s, ranges[0]), _log_bounds(beta, ranges[1])]
    low, high = np.transpose(bounds)
    starts = [np.clip(np.log([start, 1.0]), low, high) for start in _STARTS]
    start = min(starts, key=lambda x: loss(x)[0])
    end = optimize.minimise_lbfgs(
        loss, start, bounds=bounds, least_gain=_LEAST_GAIN, announce=False
    )
    learned = np.exp(end.x)
    return s or float(learned[0]), beta or float(learned[1])


def _log_bounds(given: float | None, ends: tuple[float, float]) -> tuple[float, float]:
    """Logs of the ends between which a parameter is sought."""
    low, high = ends if given is None else (given, given)
    return float(np.log(low)), float(np.log(high))
