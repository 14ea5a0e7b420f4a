"""Hypotheses of frames that follow each other: which of them make a motion."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm.row_outputs import RowHypotheses


def weigh_by_motion(
    found: RowHypotheses, kernel: kernels.Kernel, times: Array, groups: NDArray[np.intp]
) -> RowHypotheses:
    """Hypotheses with their weights given all frames of a motion, by forward and backward sums.

    Each frame is weighed by itself first, under a standard normal prior of its latent point. From
    one frame to the next, points change as in the process over time of these two frames: r x is
    expected after x, with the variance 1 - r^2, where r is the correlation. Both points are taken
    for normal, with the covariances of their hills.

    Parameters
    ----------
    found : RowHypotheses
        Of n frames.
    kernel : Kernel
        Over time; one at equal times.
    times : array (n,)
    groups : array (n,)
        Frames of a group make one motion.

    Examples
    --------
    >>> row, point = np.array([0, 0, 1]), np.array([[-1.0], [1.0], [0.9]])
    >>> narrow, nothing = np.full((3, 1, 1), 0.01), np.zeros((3, 1))
    >>> found = RowHypotheses(row, np.array([0.5, 0.5, 1.0]), point, narrow, nothing, nothing)
    >>> times, together = np.array([0.0, 0.1]), np.zeros(2, dtype=int)
    >>> weigh_by_motion(found, kernels.RBF(0.3), times, together).weight.round(3)
    array([0., 1., 1.])
    """
    weight = found.weight.copy()
    hills = np.split(np.arange(len(found.row)), np.flatnonzero(np.diff(found.row)) + 1)
    for group in np.unique(groups):
        frames = np.flatnonzero(groups == group)
        order = frames[np.argsort(times[frames], kind="stable")]
        chain = [hills[frame] for frame in order]
        r = [
            float(kernel(times[[a], None], times[[b], None])[0, 0])
            for a, b in itertools.pairwise(order)
        ]
        for own, shares in zip(chain, _sum_both_ways(found, chain, r), strict=True):
            weight[own] = shares
    return replace(found, weight=weight)


def _sum_both_ways(
    found: RowHypotheses, chain: list[NDArray[np.intp]], correlations: list[float]
) -> list[Array]:
    """Weights of the hypotheses of each frame given all frames."""
    with np.errstate(divide="ignore"):
        own = [np.log(found.weight[hills]) for hills in chain]
    pairs = zip(chain, chain[1:], correlations, strict=False)
    moves = [_weigh_moves(found, before, after, r) for before, after, r in pairs]
    forward = [own[0]]
    for move, log_weight in zip(moves, own[1:], strict=True):
        forward.append(log_weight + logsumexp(forward[-1][:, None] + move, axis=0))
    backward = [np.zeros_like(own[-1])]
    for move, log_weight in zip(moves[::-1], own[:0:-1], strict=True):
        backward.append(logsumexp(move + log_weight + backward[-1], axis=1))
    both = [a + b for a, b in zip(forward, backward[::-1], strict=True)]
    return [np.exp(total - logsumexp(total)) for total in both]


def _weigh_moves(
    found: RowHypotheses, before: NDArray[np.intp], after: NDArray[np.intp], r: float
) -> Array:
    """Log density of each later point given each earlier one, over that by itself, (a, b)."""
    start, end = found.point[before][:, None], found.point[after][None]
    spread = np.diagonal(found.covariance, axis1=1, axis2=2)
    unsure = spread[after][None]
    moved = 1.0 - r * r + r * r * spread[before][:, None] + unsure
    alone = 1.0 + unsure
    given = (end - r * start) ** 2 / moved + np.log(moved)
    return -0.5 * np.sum(given - end**2 / alone - np.log(alone), axis=2)
