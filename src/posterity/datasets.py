"""Small data sets: measured, rendered, or simulated from a known function.

A simulated set is the same for the same seed. With ``noise_variance=0`` it holds the true function
at the same inputs.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as measured

from posterity.arrays import Array

__all__ = [
    "Dataset",
    "Walks",
    "diabetes",
    "friedman1",
    "friedman2",
    "friedman3",
    "heteroscedastic_steps",
    "line",
    "sinc",
    "walks",
]

Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and targets with their names.

    Attributes
    ----------
    X : ndarray of shape (N, D)
        Inputs.
    y : ndarray of shape (N,)
        Targets.
    feature_names : tuple of str
        The names of the columns of X.
    target_name : str
        The name of y.
    description : str
        Source of the data.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.line(3)
    Dataset(feature_names=('x',), target_name='y')
    """

    X: Array = field(repr=False)  # (N, D)
    y: Array = field(repr=False)  # (N,)
    feature_names: tuple[str, ...]
    target_name: str
    description: str = field(repr=False)


def check_count(name: str, value: int) -> int:
    """Check that a value is a positive integer."""
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    return int(value)


def check_standard_deviation(noise_variance: float) -> float:
    """Return the standard deviation of a valid noise variance."""
    if not 0.0 <= noise_variance < math.inf:
        raise ValueError(f"noise_variance={noise_variance!r} must be a finite number >= 0.")
    return math.sqrt(noise_variance)


_CIRCUIT = ("resistance", "frequency", "inductance", "capacitance")


def diabetes() -> Dataset:
    """Return the diabetes data: 442 patients, ten measurements, disease progression.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.diabetes().X.shape
    (442, 10)
    """
    bunch = measured.load_diabetes(scaled=False)
    return Dataset(
        np.asarray(bunch.data, dtype=np.float64),
        np.asarray(bunch.target, dtype=np.float64),
        tuple(bunch.feature_names),
        "progression",
        "Diabetes progression of 442 patients (Efron, Hastie, Johnstone and Tibshirani 2004).",
    )


def line(n_rows: int = 50, *, noise_variance: float = 0.25, random_state: Seed = 0) -> Dataset:
    """Simulate a line with normal noise: y = 1 + 2 x, x uniform on [0, 4].

    Parameters
    ----------
    n_rows : int, default=50
        Number of rows.
    noise_variance : float, default=0.25
        Variance of the noise.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> data = datasets.line(4, noise_variance=0.0)
    >>> bool((data.y == 1.0 + 2.0 * data.X[:, 0]).all())
    True
    """
    x, noise = _draw_inputs(0.0, 4.0, n_rows, noise_variance, random_state)
    y = 1.0 + 2.0 * x + noise
    return Dataset(x[:, None], y, ("x",), "y", "y = 1 + 2 x with normal noise.")


def sinc(n_rows: int = 100, *, noise_variance: float = 0.01, random_state: Seed = 0) -> Dataset:
    """Simulate y = sin(x) / x with normal noise, x uniform on [-10, 10].

    Parameters are those of :func:`line`.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.sinc().y.shape
    (100,)
    """
    x, noise = _draw_inputs(-10.0, 10.0, n_rows, noise_variance, random_state)
    y = np.sinc(x / np.pi) + noise
    return Dataset(x[:, None], y, ("x",), "y", "sin(x) / x with noise.")


def heteroscedastic_steps(
    n_rows: int = 150, *, noise_variance: float = 0.01, random_state: Seed = 0
) -> Dataset:
    """Simulate y = tanh(3 (x + 2)) + tanh(3 (x - 2)) with increasing noise, x in [-4, 4].

    The standard deviation of the noise grows in proportion to x + 5, ninefold from left to right.

    Parameters
    ----------
    n_rows : int, default=150
        Number of rows.
    noise_variance : float, default=0.01
        Variance of the noise at the left end, x = -4.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.heteroscedastic_steps(20).X.shape
    (20, 1)
    """
    x, noise = _draw_inputs(-4.0, 4.0, n_rows, noise_variance, random_state)
    y = np.tanh(3.0 * (x + 2.0)) + np.tanh(3.0 * (x - 2.0)) + (x + 5.0) * noise
    return Dataset(x[:, None], y, ("x",), "y", "Two steps; the noise grows with x.")


def friedman1(n_rows: int = 200, *, noise_variance: float = 1.0, random_state: Seed = 0) -> Dataset:
    """Simulate ten uniform inputs, of which five are relevant (Friedman 1991).

    y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4, with normal noise.

    Parameters are those of :func:`line`.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman1(30).X.shape
    (30, 10)
    """
    X, y = _friedman(measured.make_friedman1, n_rows, noise_variance, random_state)
    names = tuple(f"x{d}" for d in range(X.shape[1]))
    return Dataset(X, y, names, "y", "Friedman's first set: five of ten inputs are relevant.")


def friedman2(
    n_rows: int = 200, *, noise_variance: float = 15625.0, random_state: Seed = 0
) -> Dataset:
    """Simulate the impedance of a circuit, from four inputs of different scales (Friedman 1991).

    Parameters are those of :func:`line`.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman2(30).feature_names
    ('resistance', 'frequency', 'inductance', 'capacitance')
    """
    X, y = _friedman(measured.make_friedman2, n_rows, noise_variance, random_state)
    return Dataset(X, y, _CIRCUIT, "impedance", "Friedman's second set: a circuit's impedance.")


def friedman3(
    n_rows: int = 200, *, noise_variance: float = 0.01, random_state: Seed = 0
) -> Dataset:
    """Simulate the phase of the circuit of ``friedman2`` (Friedman 1991).

    Parameters are those of :func:`line`.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman3(30).target_name
    'phase'
    """
    X, y = _friedman(measured.make_friedman3, n_rows, noise_variance, random_state)
    return Dataset(X, y, _CIRCUIT, "phase", "Friedman's third set: a circuit's phase.")


def _draw_inputs(
    low: float, high: float, n_rows: int, noise_variance: float, random_state: Seed
) -> tuple[Array, Array]:
    """Draw uniform inputs between two ends, and normal noise."""
    rng = np.random.default_rng(random_state)
    x = rng.uniform(low, high, check_count("n_rows", n_rows))
    return x, check_standard_deviation(noise_variance) * rng.standard_normal(n_rows)


def _friedman(
    make: Callable[..., tuple[Array, Array]],
    n_rows: int,
    noise_variance: float,
    random_state: Seed,
) -> tuple[Array, Array]:
    """Return inputs and targets of a generator of scikit-learn."""
    seed = int(np.random.default_rng(random_state).integers(2**31))
    deviation = check_standard_deviation(noise_variance)
    return make(n_samples=check_count("n_rows", n_rows), noise=deviation, random_state=seed)


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


def walks(n_frames: int = 60, *, noise_variance: float = 1.0, random_state: Seed = 0) -> Walks:
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
    seconds = np.arange(check_count("n_frames", n_frames)) / _FRAMES_PER_SECOND
    rng, deviation = (
        np.random.default_rng(random_state),
        check_standard_deviation(noise_variance),
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
