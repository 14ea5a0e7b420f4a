"""Data sets with inputs and a target, measured or simulated."""

from collections.abc import Callable

import numpy as np
from sklearn import datasets

from posterity.arrays import Array
from posterity.datasets import base

_CIRCUIT = ("resistance", "frequency", "inductance", "capacitance")


def diabetes() -> base.Dataset:
    """Return the diabetes data: 442 patients, ten measurements, disease progression.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.diabetes().X.shape
    (442, 10)
    """
    bunch = datasets.load_diabetes(scaled=False)
    return base.Dataset(
        np.asarray(bunch.data, dtype=np.float64),
        np.asarray(bunch.target, dtype=np.float64),
        tuple(bunch.feature_names),
        "progression",
        "Diabetes progression of 442 patients (Efron, Hastie, Johnstone and Tibshirani 2004).",
    )


def line(
    n_rows: int = 50, *, noise_variance: float = 0.25, random_state: base.Seed = 0
) -> base.Dataset:
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
    rng = np.random.default_rng(random_state)
    x = rng.uniform(0.0, 4.0, base.check_count("n_rows", n_rows))
    y = 1.0 + 2.0 * x + base.check_standard_deviation(noise_variance) * rng.standard_normal(n_rows)
    return base.Dataset(x[:, None], y, ("x",), "y", "y = 1 + 2 x with normal noise.")


def sinc(
    n_rows: int = 100, *, noise_variance: float = 0.01, random_state: base.Seed = 0
) -> base.Dataset:
    """Simulate y = sin(x) / x with normal noise, x uniform on [-10, 10].

    Parameters
    ----------
    n_rows : int, default=100
        Number of rows.
    noise_variance : float, default=0.01
        Variance of the noise.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.sinc().y.shape
    (100,)
    """
    rng = np.random.default_rng(random_state)
    x = rng.uniform(-10.0, 10.0, base.check_count("n_rows", n_rows))
    noise = base.check_standard_deviation(noise_variance) * rng.standard_normal(n_rows)
    return base.Dataset(
        x[:, None], np.sinc(x / np.pi) + noise, ("x",), "y", "sin(x) / x with noise."
    )


def heteroscedastic_steps(
    n_rows: int = 150, *, noise_variance: float = 0.01, random_state: base.Seed = 0
) -> base.Dataset:
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
    rng = np.random.default_rng(random_state)
    x = rng.uniform(-4.0, 4.0, base.check_count("n_rows", n_rows))
    noise = base.check_standard_deviation(noise_variance) * (x + 5.0) * rng.standard_normal(n_rows)
    y = np.tanh(3.0 * (x + 2.0)) + np.tanh(3.0 * (x - 2.0)) + noise
    return base.Dataset(x[:, None], y, ("x",), "y", "Two steps; the noise grows with x.")


def friedman1(
    n_rows: int = 200, *, noise_variance: float = 1.0, random_state: base.Seed = 0
) -> base.Dataset:
    """Simulate ten uniform inputs, of which five are relevant (Friedman 1991).

    y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4, with normal noise.

    Parameters
    ----------
    n_rows : int, default=200
        Number of rows.
    noise_variance : float, default=1.0
        Variance of the noise.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman1(30).X.shape
    (30, 10)
    """
    X, y = _friedman(datasets.make_friedman1, n_rows, noise_variance, random_state)
    names = tuple(f"x{d}" for d in range(X.shape[1]))
    return base.Dataset(X, y, names, "y", "Friedman's first set: five of ten inputs are relevant.")


def friedman2(
    n_rows: int = 200, *, noise_variance: float = 15625.0, random_state: base.Seed = 0
) -> base.Dataset:
    """Simulate the impedance of a circuit, from four inputs of different scales (Friedman 1991).

    Parameters
    ----------
    n_rows : int, default=200
        Number of rows.
    noise_variance : float, default=15625.0
        Variance of the noise.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman2(30).feature_names
    ('resistance', 'frequency', 'inductance', 'capacitance')
    """
    X, y = _friedman(datasets.make_friedman2, n_rows, noise_variance, random_state)
    return base.Dataset(
        X, y, _CIRCUIT, "impedance", "Friedman's second set: a circuit's impedance."
    )


def friedman3(
    n_rows: int = 200, *, noise_variance: float = 0.01, random_state: base.Seed = 0
) -> base.Dataset:
    """Simulate the phase of the circuit of ``friedman2`` (Friedman 1991).

    Parameters
    ----------
    n_rows : int, default=200
        Number of rows.
    noise_variance : float, default=0.01
        Variance of the noise.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import datasets
    >>> datasets.friedman3(30).target_name
    'phase'
    """
    X, y = _friedman(datasets.make_friedman3, n_rows, noise_variance, random_state)
    return base.Dataset(X, y, _CIRCUIT, "phase", "Friedman's third set: a circuit's phase.")


def _friedman(
    make: Callable[..., tuple[Array, Array]],
    n_rows: int,
    noise_variance: float,
    random_state: base.Seed,
) -> tuple[Array, Array]:
    """Return inputs and targets of a generator of scikit-learn."""
    seed = int(np.random.default_rng(random_state).integers(2**31))
    deviation = base.check_standard_deviation(noise_variance)
    return make(n_samples=base.check_count("n_rows", n_rows), noise=deviation, random_state=seed)
