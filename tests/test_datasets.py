"""Sets are the same for the same seed, and as noisy as they say."""

import inspect

import numpy as np
import pytest

from posterity import datasets

GENERATED = [
    datasets.line,
    datasets.sinc,
    datasets.heteroscedastic_steps,
    datasets.friedman1,
    datasets.friedman2,
    datasets.friedman3,
]
every_generator = pytest.mark.parametrize("make", GENERATED, ids=lambda make: make.__name__)


def noise_scale(make, X):
    """Standard deviation of the noise at each row, relative to the stated one."""
    return X[:, 0] + 5.0 if make is datasets.heteroscedastic_steps else np.ones(len(X))


TRUTHS = {
    datasets.line: lambda x: 1 + 2 * x,
    datasets.sinc: lambda x: np.sin(x) / x,
    datasets.heteroscedastic_steps: lambda x: np.tanh(3 * x + 6) + np.tanh(3 * x - 6),
    datasets.friedman1: lambda a, b, c, d, e, *_: (
        10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    ),
    datasets.friedman2: lambda r, f, l, c: np.hypot(r, f * l - 1 / (f * c)),
    datasets.friedman3: lambda r, f, l, c: np.arctan((f * l - 1 / (f * c)) / r),
}


def test_every_generator_is_in_the_table():
    public = {getattr(datasets, name) for name in datasets.__all__}
    assert public == {*GENERATED, datasets.diabetes, datasets.Dataset}


@every_generator
def test_shapes_and_names_agree(make):
    data = make(12)
    assert data.X.shape == (12, len(data.feature_names))
    assert data.y.shape == (12,)
    assert data.X.dtype == data.y.dtype == np.float64


@every_generator
def test_the_seed_decides_everything(make):
    first, again, other = make(9, random_state=4), make(9, random_state=4), make(9, random_state=5)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    generator = make(9, random_state=np.random.default_rng(4))
    np.testing.assert_array_equal(first.y, generator.y)


@every_generator
def test_without_noise_it_is_the_truth(make):
    data = make(40, noise_variance=0.0)
    np.testing.assert_allclose(data.y, TRUTHS[make](*data.X.T), rtol=1e-10, atol=1e-12)


@every_generator
def test_noise_is_normal_with_the_stated_variance(make):
    stated = inspect.signature(make).parameters["noise_variance"].default
    noisy, truth = make(20_000), make(20_000, noise_variance=0.0)
    np.testing.assert_array_equal(noisy.X, truth.X)
    noise = (noisy.y - truth.y) / noise_scale(make, noisy.X)
    assert noise.var() == pytest.approx(stated, rel=0.05)
    assert abs(noise.mean()) < 5 * np.sqrt(stated / 20_000)
    assert np.mean(noise**4) / noise.var() ** 2 == pytest.approx(3.0, rel=0.1)


def test_diabetes_is_in_its_own_units():
    data = datasets.diabetes()
    assert data.X.shape == (442, 10)
    assert data.feature_names[:3] == ("age", "sex", "bmi")
    assert 18 < data.X[:, 0].min() < data.X[:, 0].max() < 90
    assert data.y.mean() == pytest.approx(152.13, abs=0.01)


@pytest.mark.parametrize("n_rows", [0, -1, 2.5, "ten"])
def test_a_wrong_number_of_rows_is_named(n_rows):
    with pytest.raises(ValueError, match=r"n_rows=.* must be a whole number"):
        datasets.line(n_rows)


@every_generator
@pytest.mark.parametrize("variance", [-1.0, np.inf, np.nan])
def test_a_wrong_variance_is_named(make, variance):
    with pytest.raises(ValueError, match=r"noise_variance=.* must be a finite number"):
        make(5, noise_variance=variance)
