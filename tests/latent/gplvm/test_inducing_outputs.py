"""Outputs through inducing points: a bound that is exact where it can be, with its slopes."""

import numpy as np
import pytest
from scipy import stats
from support.latents import with_variance

from posterity import kernels
from posterity.inference.observations import HeldRows, Observations
from posterity.latent.gplvm.inducing_outputs import InducingOutputs
from posterity.process.inducing import bound as inducing

N, D, Q, M = 25, 4, 2, 6
NOISE = 0.07
KERNELS = {
    "rbf": 1.4 * kernels.RBF(0.9),
    "ard": kernels.RBF((0.8, 1.5)),
    "linear": kernels.Linear((0.7, 1.2)),
    "matern": 0.7 * kernels.Matern(1.1, smoothness=1.5) + kernels.Constant(0.3),
    "product": kernels.RBF(1.3) * kernels.Linear(0.5) + kernels.RBF(0.9).fixed(),
}


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, Q))


@pytest.fixture
def Z(rng):
    return rng.normal(size=(M, Q))


@pytest.fixture
def whole(rng, X):
    return np.sin(X @ rng.normal(size=(Q, D))) + 0.2 * rng.normal(size=(N, D))


@pytest.fixture
def Y(whole):
    """Two columns miss the same rows, one misses another, one none."""
    partial = whole.copy()
    partial[3:8, [0, 2]], partial[20, 1] = np.nan, np.nan
    return partial


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def term(kernel, Y, Z, noise_bounds=(1e-6, 1e2)):
    limits = np.tile([-5.0, 5.0], (len(kernel.theta), 1))
    return InducingOutputs(Y, kernel, limits, NOISE, noise_bounds, Z)


def slopes(function, x, directions, h=1e-5):
    """Along some directions, by central differences; one Richardson step."""

    def central(u, step):
        return (function(x + step * u) - function(x - step * u)) / (2.0 * step)

    return np.array([(4.0 * central(u, h) - central(u, 2.0 * h)) / 3.0 for u in directions])


def exact(kernel, Y, X):
    """sum_d log N(y_d | 0, K + noise), of the values that are there."""
    total = 0.0
    for y in Y.T:
        seen = ~np.isnan(y)
        C = kernel(X[seen]) + NOISE * np.eye(seen.sum())
        total += stats.multivariate_normal(np.zeros(seen.sum()), C).logpdf(y[seen])
    return total


def test_points_everywhere_are_exact(kernel, Y, X):
    value, _, _ = term(kernel, Y, X)(X, term(kernel, Y, X).start)
    assert value == pytest.approx(exact(kernel, Y, X), abs=1e-3)


def test_value_is_a_lower_bound_that_more_points_raise(kernel, Y, X):
    values = []
    for m in (1, 4, 10, 18):
        bound = term(kernel, Y, X[:m])
        values.append(bound(X, bound.start)[0])
    assert np.all(np.diff([*values, exact(kernel, Y, X)]) > -1e-4)
    assert values[0] < values[-1]


def test_each_column_is_bounded_by_the_rows_it_has(kernel, Y, X, Z):
    bound = term(kernel, Y, Z)
    expected = 0.0
    for y in Y.T:
        seen = ~np.isnan(y)
        alone = Observations.from_targets(y[seen, None])
        expected += inducing.compute_bound(kernel, NOISE, HeldRows(X[seen], alone), Z)[0]
    assert bound(X, bound.start)[0] == pytest.approx(expected, rel=1e-10)


def test_slope_in_points_is_that_of_differences(kernel, Y, X, Z, rng):
    bound, directions = term(kernel, Y, Z), rng.normal(size=(4, N, Q))
    _, dX, _ = bound(X, bound.start)
    expected = slopes(lambda x: bound(x, bound.start)[0], X, directions)
    found = np.sum(dX * directions, axis=(1, 2))
    assert found == pytest.approx(expected, abs=1e-6 * np.abs(dX).max())


def test_slope_in_its_own_numbers_is_that_of_differences(kernel, Y, X, Z):
    bound = term(kernel, Y, Z)
    _, _, own = bound(X, bound.start)
    expected = slopes(lambda numbers: bound(X, numbers)[0], bound.start, np.eye(len(own)))
    assert own == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_noise_that_is_given_is_none_of_its_numbers(Y, X, Z):
    kernel = KERNELS["ard"]
    learned, given = term(kernel, Y, Z), term(kernel, Y, Z, None)
    assert len(learned.start) == 2 + 1 + M * Q
    assert given.start == pytest.approx(np.delete(learned.start, 2))
    assert given.limits == pytest.approx(np.delete(learned.limits, 2, axis=0))
    assert given.names == learned.names[:2] + learned.names[3:]
    assert learned.names[2] == "noise_variance"
    assert learned.limits[2] == pytest.approx(np.log([1e-6, 1e2]))
    assert np.all(np.isinf(learned.limits[3:]))
    one, other = learned(X, learned.start), given(X, given.start)
    assert one[0] == other[0]
    assert other[2] == pytest.approx(np.delete(one[2], 2))


def test_its_numbers_say_what_they_are(Y, Z):
    bound = term(KERNELS["ard"], Y, Z)
    moved = bound.start + 0.1
    kernel, noise_variance, points = bound.read_parameters(moved)
    assert kernel.theta == pytest.approx(moved[:2])
    assert noise_variance == pytest.approx(NOISE * np.exp(0.1))
    assert points == pytest.approx(Z + 0.1)
    assert len(bound.names) == len(bound.start) == len(bound.limits)
    assert (
        term(KERNELS["ard"], Y, Z, None).read_parameters(moved[[0, 1, *range(3, 15)]])[1] == NOISE
    )


def test_column_without_a_value_is_refused(Y, Z):
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of the outputs has no value"):
        term(KERNELS["rbf"], Y, Z)


def test_decoder_predicts_each_column_from_the_rows_it_has(kernel, Y, X, Z, rng):
    bound = term(kernel, Y, Z)
    X_new = rng.normal(size=(9, Q))
    mean, variance = with_variance(bound.decoder(X, bound.start).latent(X_new))
    for d, y in enumerate(Y.T):
        seen = ~np.isnan(y)
        alone = inducing.condition_on_points(
            kernel, NOISE, HeldRows(X[seen], Observations.from_targets(y[seen, None])), Z
        )
        expected_mean, expected_variance = with_variance(alone.latent(X_new))
        assert mean[:, [d]] == pytest.approx(expected_mean, abs=1e-8)
        assert variance[:, [d]] == pytest.approx(expected_variance, abs=1e-8)


def test_log_density_is_that_of_the_predictions_that_can_be_compared(kernel, Y, X, Z, rng):
    bound = term(kernel, Y, Z)
    decoder = bound.decoder(X, bound.start)
    X_new, Y_new = rng.normal(size=(9, Q)), rng.normal(size=(9, D))
    Y_new[0, 1], Y_new[3, :3], Y_new[5] = np.nan, np.nan, np.nan
    mean, variance = with_variance(decoder.latent(X_new))
    each = stats.norm.logpdf(Y_new, mean, np.sqrt(variance + NOISE))
    value, gradient = decoder.log_density(X_new, Y_new)
    assert decoder.noise_variance == NOISE
    assert value == pytest.approx(np.nansum(each, axis=1), rel=1e-9)
    assert value[5] == 0.0
    assert np.array_equal(gradient[5], np.zeros(Q))


def test_slope_of_log_density_is_that_of_differences(kernel, Y, X, Z, rng):
    bound = term(kernel, Y, Z)
    decoder = bound.decoder(X, bound.start)
    X_new, Y_new = rng.normal(size=(9, Q)), rng.normal(size=(9, D))
    Y_new[0, 1], Y_new[3, :3] = np.nan, np.nan
    _, gradient = decoder.log_density(X_new, Y_new)
    directions = np.eye(Q)[:, None, :]
    expected = slopes(lambda x: decoder.log_density(x, Y_new)[0], X_new, directions).T
    assert gradient == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_rows_in_blocks_are_as_all_together(monkeypatch, Y, X, Z, rng):
    bound = term(KERNELS["product"], Y, Z)
    decoder, X_new, Y_new = bound.decoder(X, bound.start), X[:11] + 0.1, Y[:11]
    answers = [
        *bound(X, bound.start),
        *with_variance(decoder.latent(X_new)),
        *decoder.log_density(X_new, Y_new),
    ]
    monkeypatch.setattr("posterity.inference.observations._CPU_VALUES", 0)
    monkeypatch.setattr("posterity.inference.observations._LEAST_ROWS", 3)
    again = [
        *bound(X, bound.start),
        *with_variance(decoder.latent(X_new)),
        *decoder.log_density(X_new, Y_new),
    ]
    for one, other in zip(answers, again, strict=True):
        assert one == pytest.approx(other, rel=1e-8, abs=1e-8)
