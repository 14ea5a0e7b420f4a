"""Outputs at latent points, some of them missing, against dense formulas a column at a time."""

import copy

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import norm
from support.for_each import for_each
from support.latents import with_variance

from posterity import kernels
from posterity.latent.gplvm.outputs import ExactOutputs
from posterity.process.exact import Observations, ProcessPosterior

NOISE = 0.3
KERNELS = {
    "RBF": 1.5 * kernels.RBF([0.8, 2.0]),
    "not stationary": kernels.RBF(1.2) + kernels.Linear([0.4, 0.1]) + kernels.White(0.2),
    "product": kernels.Polynomial(2, offset=0.5) * kernels.Periodic(3.0),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def data(n=14, D=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X) @ rng.normal(size=(2, D)) + 0.3 * rng.normal(size=(n, D))


def holed(Y):
    """Three patterns: columns 0 and 3 miss the same rows, 1 others; row 6 misses all."""
    Y = Y.copy()
    Y[2:5, [0, 3]] = np.nan
    Y[::2, 1] = np.nan
    Y[6] = np.nan
    return Y


def term_of(Y, kernel, noise_bounds=(1e-6, 1e2)):
    bounds = np.tile([-9.0, 9.0], (len(kernel.theta), 1))
    return ExactOutputs(Y, kernel, bounds, NOISE, noise_bounds)


def dense(X, Y, kernel, noise):
    """A normal for every column, of the rows that it has."""
    total = 0.0
    for y in Y.T:
        i = np.flatnonzero(~np.isnan(y))
        C = 2.0 * np.pi * (kernel(X[i]) + noise * np.eye(len(i)))
        total -= 0.5 * np.linalg.slogdet(C)[1] + np.pi * y[i] @ np.linalg.solve(C, y[i])
    return total


def slopes(function, x, h=1e-5):
    """Central differences in every entry of x."""
    found = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[at] = h
        found[at] = (function(x + step) - function(x - step)) / (2.0 * h)
    return found


@for_each("hole", [np.copy, holed], ids=["whole", "holed"])
@for_each("D", [5, 16])
@each_kernel
def test_value_and_slopes_are_those_of_each_column_by_itself(kernel, D, hole):
    X, Y = data(D=D)
    Y = hole(Y)
    term = term_of(Y, kernel)

    def brute(x, own):
        return dense(x, Y, kernel.with_theta(own[:-1]), np.exp(own[-1]))

    value, dX, d_own = term(X, term.start)
    assert value == pytest.approx(brute(X, term.start), rel=1e-10)
    assert dX == pytest.approx(slopes(lambda x: brute(x, term.start), X), rel=1e-6, abs=1e-6)
    assert d_own == pytest.approx(slopes(lambda own: brute(X, own), term.start), rel=1e-6, abs=1e-6)


def test_each_column_with_a_pattern_of_its_own():
    X, Y = data()
    Y[np.random.default_rng(3).random(Y.shape) < 0.4] = np.nan
    term = term_of(Y, KERNELS["RBF"])
    assert term(X, term.start)[0] == pytest.approx(dense(X, Y, KERNELS["RBF"], NOISE), rel=1e-10)


def test_a_row_with_no_value_does_not_feel_the_outputs():
    X, Y = data()
    term = term_of(holed(Y), KERNELS["RBF"])
    _, dX, _ = term(X, term.start)
    assert np.all(dX[6] == 0.0)
    assert np.all(np.delete(dX, 6, axis=0) != 0.0)


def test_noise_that_is_given_is_none_of_its_numbers():
    X, Y = data()
    kernel = KERNELS["RBF"]
    learned, given = term_of(Y, kernel), term_of(Y, kernel, noise_bounds=None)
    assert given.names == kernel.names
    assert learned.names == [*kernel.names, "noise_variance"]
    assert learned.start == pytest.approx([*kernel.theta, np.log(NOISE)])
    assert learned.limits[-1] == pytest.approx(np.log([1e-6, 1e2]))
    assert (given.limits.shape, learned.limits.shape) == ((3, 2), (4, 2))
    (value, dX, own), (value_too, dX_too, own_too) = (t(X, t.start) for t in (given, learned))
    assert value == value_too
    np.testing.assert_array_equal(dX, dX_too)
    np.testing.assert_array_equal(own, own_too[:-1])
    assert given.read_parameters(given.start)[1] == NOISE
    other, louder = learned.read_parameters(learned.start + 1.0)
    assert louder == pytest.approx(np.e * NOISE)
    assert other.theta == pytest.approx(kernel.theta + 1.0)


def test_columns_without_a_value_are_refused_by_number():
    _, Y = data(D=9)
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of the outputs has no value at all; leave it"):
        term_of(Y, KERNELS["RBF"])
    Y[:, 1:8] = np.nan
    with pytest.raises(ValueError, match="columns 1, 2, 3, 4, 5 and 2 more of the outputs have"):
        term_of(Y, KERNELS["RBF"])


def test_a_copy_that_was_used_answers_the_same():
    X, Y = data()
    term = term_of(holed(Y), KERNELS["RBF"])
    value = term(X, term.start)[0]
    assert copy.deepcopy(term)(X, term.start)[0] == value


@for_each("D", [6, 30])
def test_with_a_linear_kernel_the_points_are_principal_components(D):
    """X X^T has the first eigenvectors of Y Y^T / D, its values less the noise.  [LAW 8]"""
    rng = np.random.default_rng(0)
    n, noise = 15, 0.05
    Y = rng.normal(size=(n, 2)) @ rng.normal(size=(2, D)) + 0.2 * rng.normal(size=(n, D))
    Y -= Y.mean(axis=0)
    term = ExactOutputs(Y, kernels.Linear(1.0).fixed(), np.empty((0, 2)), noise, None)

    def negative(x):
        value, dX, _ = term(x.reshape(n, 2), np.empty(0))
        return -value, -dX.ravel()

    found = optimize.minimize(negative, rng.normal(size=2 * n), jac=True, tol=1e-13)
    X = found.x.reshape(n, 2)
    values, vectors = np.linalg.eigh(Y @ Y.T / D)
    U, first = vectors[:, -2:], values[-2:]
    np.testing.assert_allclose(X @ X.T, (U * (first - noise)) @ U.T, atol=1e-6)
    at_components = U * np.sqrt(first - noise)
    assert term(at_components, np.empty(0))[1] == pytest.approx(np.zeros((n, 2)), abs=1e-9)


@each_kernel
def test_nothing_missing_decodes_as_the_process_does(kernel):
    X, Y = data()
    new, _ = data(n=9, seed=5)
    term = term_of(Y, kernel)
    mean, variance = with_variance(term.decoder(X, term.start).latent(new))
    m, v = with_variance(
        ProcessPosterior.condition(kernel, NOISE, X, Observations.from_targets(Y)).latent(new)
    )
    np.testing.assert_allclose(mean, m, rtol=1e-11)
    np.testing.assert_allclose(variance, v, rtol=1e-11)


@each_kernel
def test_missing_values_decode_a_column_at_a_time(kernel):
    X, Y = data()
    new, _ = data(n=9, seed=5)
    Y = holed(Y)
    term = term_of(Y, kernel)
    decoder = term.decoder(X, term.start)
    mean, variance = with_variance(decoder.latent(new))
    for d, y in enumerate(Y.T):
        i = np.flatnonzero(~np.isnan(y))
        C, k = kernel(X[i]) + NOISE * np.eye(len(i)), kernel(new, X[i])
        assert mean[:, d] == pytest.approx(k @ np.linalg.solve(C, y[i]), rel=1e-9)
        expected = kernel.diag(new) - np.sum(k * np.linalg.solve(C, k.T).T, axis=1)
        assert variance[:, d] == pytest.approx(expected, rel=1e-8)
    assert decoder.noise_variance == NOISE


@pytest.mark.parametrize("values", [1 << 20, 40], ids=["at once", "few rows at a time"])
@each_kernel
def test_log_density_of_new_rows_and_its_slope(kernel, values, monkeypatch):
    monkeypatch.setattr("posterity.latent.gplvm.outputs._QUERY_VALUES", values)
    X, Y = data()
    term = term_of(holed(Y), kernel)
    decoder = term.decoder(X, term.start)
    new, seen = data(n=9, seed=5)
    seen[[0, 0, 3], [1, 2, 0]] = np.nan

    def brute(x):
        mean, variance = with_variance(decoder.latent(x))
        return np.nansum(norm.logpdf(seen, mean, np.sqrt(variance + NOISE)), axis=1)

    value, gradient = decoder.log_density(new, seen)
    assert value == pytest.approx(brute(new), rel=1e-10)
    for q, step in enumerate(1e-5 * np.eye(2)):
        expected = (brute(new + step) - brute(new - step)) / 2e-5
        assert gradient[:, q] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_of_a_row_with_no_value_there_is_nothing_to_say():
    X, Y = data()
    term = term_of(Y, KERNELS["not stationary"])
    value, gradient = term.decoder(X, term.start).log_density(X[:3], np.full((3, 5), np.nan))
    assert np.all(value == 0.0)
    assert np.all(gradient == 0.0)


def test_the_answer_of_a_row_does_not_depend_on_the_others():
    X, Y = data()
    term = term_of(Y, KERNELS["RBF"])
    decoder = term.decoder(X, term.start)
    value, gradient = decoder.log_density(X, Y)
    alone = [decoder.log_density(X[[n]], Y[[n]]) for n in range(len(X))]
    assert value == pytest.approx(np.concatenate([v for v, _ in alone]), rel=1e-12)
    assert gradient == pytest.approx(np.concatenate([g for _, g in alone]), rel=1e-9, abs=1e-12)
