"""Sets are the same for the same seed, and as noisy as they say."""

import inspect

import numpy as np
import pytest
from support.for_each import for_each

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
    others = {datasets.diabetes, datasets.Dataset, datasets.walks, datasets.Walks}
    assert public == {*GENERATED, *others}


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


@for_each("n_rows", [0, -1, 2.5, "ten"])
def test_a_wrong_number_of_rows_is_named(n_rows):
    with pytest.raises(ValueError, match=r"n_rows=.* must be a whole number"):
        datasets.line(n_rows)


@every_generator
@for_each("variance", [-1.0, np.inf, np.nan])
def test_a_wrong_variance_is_named(make, variance):
    with pytest.raises(ValueError, match=r"noise_variance=.* must be a finite number"):
        make(5, noise_variance=variance)


def test_walks_are_four_of_ten_named_angles():
    walking = datasets.walks(7)
    assert walking.X.shape == (28, len(walking.feature_names))
    assert len(set(walking.labels.tolist())) == len(set(walking.groups.tolist())) == 4
    np.testing.assert_allclose(walking.times[:7], np.arange(7) / 30.0)
    for group in range(4):
        assert len(set(walking.labels[walking.groups == group].tolist())) == 1


def test_a_seed_decides_a_walk():
    first, again, other = (datasets.walks(5, random_state=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def harmonics(phase):
    return np.column_stack(
        [np.ones(len(phase)), *(f(k * phase) for k in (1, 2) for f in (np.cos, np.sin))]
    )


def test_sides_are_two_harmonics_of_one_phase_half_a_stride_apart():
    walking = datasets.walks(80, noise_variance=0.0)
    for group in range(4):
        phase, X = walking.phase[walking.groups == group], walking.X[walking.groups == group]
        left, residual, *_ = np.linalg.lstsq(harmonics(phase), X[:, ::2])
        np.testing.assert_allclose(residual, 0.0, atol=1e-20)
        np.testing.assert_allclose(harmonics(phase - np.pi) @ left, X[:, 1::2], atol=1e-9)


def test_strides_last_as_long_as_their_speed_says():
    walking = datasets.walks(31)
    turns = [np.ptp(walking.phase[walking.groups == group]) / (2.0 * np.pi) for group in range(4)]
    np.testing.assert_allclose(turns, [0.8, 1.3, 0.8, 1.3])  # of one second


def test_people_and_speeds_walk_differently():
    walking = datasets.walks(150, noise_variance=0.0)
    swing = {
        name: np.ptp(walking.X[walking.labels == name], axis=0) for name in set(walking.labels)
    }
    assert np.all(swing["first, fast"] > 1.3 * swing["first, slow"])
    assert walking.X[:, 2:4].min() > 0.0  # a knee bends one way
    assert np.all(swing["second, slow"][6:] < 0.7 * swing["first, slow"][6:])  # arms


def test_noise_of_a_walk_has_the_stated_variance():
    noisy, truth = (
        datasets.walks(2000, noise_variance=4.0),
        datasets.walks(2000, noise_variance=0.0),
    )
    assert (noisy.X - truth.X).var() == pytest.approx(4.0, rel=0.02)


def test_what_no_walk_can_have_is_named():
    with pytest.raises(ValueError, match="n_frames=0 must be a whole number"):
        datasets.walks(0)
    with pytest.raises(ValueError, match="noise_variance=-1"):
        datasets.walks(5, noise_variance=-1.0)
