"""Poses that frames of a video may show, weighed by how evenly they follow each other.

A single silhouette does not tell which leg is in front, and where the legs pass each other the two
answers meet. A chain that knows velocities keeps them apart: each answer comes with the velocity
that such poses have, and the velocity between two frames lasts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from posterity.arrays import Array

_LOG_JUMP = np.log(1e-4)  # what a jump costs at most

Follows = NDArray[np.bool_]


def measure_speeds(poses: Array, follows: Follows) -> Array:
    """Change of each pose until the next frame, (n, P).

    A last frame goes on as it came; frames alone stand still.

    Parameters
    ----------
    poses : array (n, P)
    follows : array (n - 1,) of bool
        Whether each row but the first is the frame after the one before it.

    Examples
    --------
    >>> import numpy as np
    >>> measure_speeds(np.array([[0.0], [1.0], [3.0]]), np.array([True, True])).ravel()
    array([1., 2., 2.])
    """
    speeds = np.zeros_like(poses)
    moved = np.flatnonzero(follows)
    speeds[moved] = poses[moved + 1] - poses[moved]
    last = np.setdiff1d(moved + 1, moved)
    speeds[last] = speeds[last - 1]
    return speeds


def measure_bend(poses: Array, follows: Follows) -> float:
    """Root mean square change of the velocity, over all coordinates together.

    Zero where no three frames follow each other.

    Examples
    --------
    >>> import numpy as np
    >>> measure_bend(np.array([[0.0], [1.0], [3.0]]), np.array([True, True]))
    1.0
    """
    bends = np.diff(poses, 2, axis=0)[follows[1:] & follows[:-1]]
    return float(np.sqrt(np.mean(np.sum(bends**2, axis=1)))) if len(bends) else 0.0


def weigh_paths(log_weights: Array, poses: Array, speeds: Array, scale: float) -> Array:
    """Log probability of each hypothesis of each frame, given all frames of a video.

    Sums over all paths through the hypotheses. A path costs half the squared differences between
    each pose and the one before, moved by its speed, and half the squared changes of velocity, both
    in units of ``scale``; the cost of a jump is bounded.

    Parameters
    ----------
    log_weights : array (n, K)
        Log probability of each hypothesis of a frame by itself.
    poses, speeds : array (n, K, P)
        Pose of each hypothesis, and its expected change until the next frame.
    scale : float
        Size of changes of velocity.

    Returns
    -------
    array (n, K)

    Examples
    --------
    Of a point that moves evenly, the middle frame is undecided by itself:

    >>> import numpy as np
    >>> poses = np.array([[[0.0], [0.0]], [[1.0], [-1.0]], [[2.0], [2.0]]])
    >>> log_weights = np.log(np.full((3, 2), 0.5))
    >>> np.exp(weigh_paths(log_weights, poses, np.ones_like(poses), 0.5))[1].round(3)
    array([1., 0.])
    """
    if len(poses) < 2:
        return log_weights - logsumexp(log_weights, axis=1, keepdims=True)
    steps = _score_steps(poses, speeds, scale) + log_weights[1:, None]
    bends = _score_bends(poses, scale)
    # Entry (a, b) of a message: hypothesis a of a frame, and b of the next.
    ahead = [steps[0] + log_weights[0][:, None]]
    for step, bend in zip(steps[1:], bends, strict=True):
        ahead.append(_rescale(logsumexp(ahead[-1][:, :, None] + bend, axis=0) + step))
    back = [np.zeros_like(ahead[0])]
    for step, bend in zip(steps[:0:-1], bends[::-1], strict=True):
        back.append(_rescale(logsumexp(bend + back[-1] + step, axis=2)))
    pairs = np.array(ahead) + np.array(back[::-1])
    found = np.vstack([logsumexp(pairs[:1], axis=2), logsumexp(pairs, axis=1)])
    return np.asarray(found - logsumexp(found, axis=1, keepdims=True))


def _score_steps(poses: Array, speeds: Array, scale: float) -> Array:
    """Log potentials of pairs of hypotheses of successive frames, (n - 1, K, K)."""
    gaps = poses[1:, None] - (poses + speeds)[:-1, :, None]
    return _bound(np.sum(gaps**2, axis=3), scale)


def _score_bends(poses: Array, scale: float) -> Array:
    """Log potentials of three hypotheses a, b, c of successive frames, (n - 2, K, K, K).

    |a - 2 b + c|^2 is written with inner products: differences would take P times the memory.
    """
    centred = poses - poses.mean(axis=(0, 1))
    norms = np.sum(centred**2, axis=2)
    one, two = (np.einsum("tap,tbp->tab", centred[:-gap], centred[gap:]) for gap in (1, 2))
    squares = (
        norms[:-2, :, None, None]
        + 4.0 * norms[1:-1, None, :, None]
        + norms[2:, None, None, :]
        - 4.0 * one[:-1, :, :, None]
        - 4.0 * one[1:, None, :, :]
        + 2.0 * two[:, :, None, :]
    )
    return _bound(np.maximum(squares, 0.0), scale)


def _bound(squares: Array, scale: float) -> Array:
    return np.asarray(np.logaddexp(-0.5 * squares / scale**2, _LOG_JUMP))


def _rescale(message: Array) -> Array:
    return np.asarray(message - message.max())
