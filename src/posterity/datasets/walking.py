"""Simulated motion: joint angles of people who walk."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.datasets import base

_FRAMES_PER_SECOND = 30.0
_JOINTS = ("hip", "knee", "ankle", "shoulder", "elbow")
# Degrees: mean, and the cosine and sine of the phase and of its double, of the left side.
_GAIT = np.array(
    [
        [10.0, 20.0, 2.0, -2.0, 3.0],
        [36.0, -5.0, -20.0, -12.0, 8.0],
        [0.0, 4.0, -6.0, -7.0, 3.0],
        [5.0, -15.0, -3.0, 0.0, 1.0],
        [30.0, -9.0, -3.0, 2.0, 2.0],
    ]
)
_STRIDES = {"slow": 0.8, "fast": 1.3}  # a second
_SWING = {"slow": 1.0, "fast": 1.45}  # of all angles, in proportion to the slow walk
# Amplitude and phase delay of each joint, by person.
_MANNERS = {
    "first": (np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.zeros(5)),
    "second": (np.array([0.8, 1.2, 1.3, 0.3, 0.5]), np.array([0.0, 0.05, -0.08, 0.1, 0.15])),
}


@dataclass(frozen=True, eq=False)
class Walks:
    """Joint angles of people who walk, frame by frame.

    Attributes
    ----------
    X : ndarray of shape (N, 10)
        Angles of ten joints, in degrees.
    times : ndarray of shape (N,)
        Seconds since the walk began.
    groups : ndarray of shape (N,)
        Walk of each frame.
    labels : ndarray of shape (N,)
        Person and speed.
    phase : ndarray of shape (N,)
        Unwrapped phase of the stride, in radians.
    feature_names : tuple of str
        The names of the columns of X.
    description : str
        Description of the data.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.walks(5).X.shape
    (20, 10)
    """

    X: Array = field(repr=False)  # (N, 10)
    times: Array = field(repr=False)  # (N,)
    groups: NDArray[np.intp] = field(repr=False)  # (N,)
    labels: NDArray[np.str_] = field(repr=False)  # (N,)
    phase: Array = field(repr=False)  # (N,)
    feature_names: tuple[str, ...]
    description: str = field(repr=False)


def walks(n_frames: int = 60, *, noise_variance: float = 1.0, random_state: base.Seed = 0) -> Walks:
    """Simulate four walks: two people, slow and fast, ten joint angles, 30 frames a second.

    Every angle is a sum of two harmonics of one phase. The right side is half a stride behind the
    left side, and arms swing against legs. Amplitudes depend on speed and person. The frames lie on
    four closed curves in ten dimensions.

    Parameters
    ----------
    n_frames : int, default=60
        Number of frames of each walk.
    noise_variance : float, default=1.0
        Variance of the noise of every angle, in square degrees.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> walking = datasets.walks(60)
    >>> walking.X.shape, sorted(set(walking.labels.tolist()))
    ((240, 10), ['first, fast', 'first, slow', 'second, fast', 'second, slow'])
    >>> walking.feature_names[:2]
    ('left hip', 'right hip')
    """
    seconds = np.arange(base.check_count("n_frames", n_frames)) / _FRAMES_PER_SECOND
    rng, deviation = (
        np.random.default_rng(random_state),
        base.check_standard_deviation(noise_variance),
    )
    kinds = [(person, speed) for person in _MANNERS for speed in _STRIDES]
    phases = [2.0 * np.pi * (_STRIDES[speed] * seconds + rng.uniform()) for _, speed in kinds]
    truth = [_angles(phase, *kind) for phase, kind in zip(phases, kinds, strict=True)]
    X = np.concatenate(truth)
    return Walks(
        X=X + deviation * rng.standard_normal(X.shape),
        times=np.tile(seconds, len(kinds)),
        groups=np.repeat(np.arange(len(kinds)), n_frames),
        labels=np.repeat([f"{person}, {speed}" for person, speed in kinds], n_frames),
        phase=np.concatenate(phases),
        feature_names=tuple(f"{side} {joint}" for joint in _JOINTS for side in ("left", "right")),
        description="Two people who walk slowly and fast: angles of ten joints, in degrees.",
    )


def _angles(phase: Array, person: str, speed: str) -> Array:
    """Return the joint angles, left and right alternating, (n, 10)."""
    swing, late = _MANNERS[person]
    turned = phase[:, None, None] - 2.0 * np.pi * late[:, None] - np.pi * np.arange(2)  # (n, 5, 2)
    waves = np.stack([f(k * turned) for k in (1, 2) for f in (np.cos, np.sin)], axis=-1)
    reach = _SWING[speed] * swing[:, None]
    swung = np.einsum("njsk,jk->njs", waves, _GAIT[:, 1:])
    return (_GAIT[:, 0][:, None] + reach * swung).reshape(len(phase), -1)
