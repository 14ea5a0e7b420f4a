"""The evidence of a sparse model in the parameters of its kernel, against differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sparse_support import latent_engine, normal_engine
from support.for_each import for_each

from posterity import kernels, likelihoods, priors
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import kernel_climb as sparse_kernel_climb
from posterity.sparse.kernel_climb import KernelObjective, StandardizedKernelColumns
from posterity.sparse.normal_columns import NormalTargets

KERNELS = {
    "one length": kernels.RBF(1.3),
    "a length for each column": kernels.Matern([0.8, 2.0]),
    "a sum": kernels.RationalQuadratic(1.0, shape=2.0) + 0.5 * kernels.Linear(1.0),
    "a scaled one": kernels.Scaled(kernels.RBF(0.9), 3.0),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
each_centring = pytest.mark.parametrize("centred", [True, False], ids=["offset", "no offset"])
PLACES = np.array([1, 5, 9])


def rows_for(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n), rng


def climb_of(evidence, kernel, X, weights, *, centred, nu=1.5):
    moving = np.ones(len(kernel.theta), dtype=bool)
    prior = priors.Sparse(nu)
    return KernelObjective(evidence, kernel, moving, X, X[PLACES], weights, centred, prior)


def check_gradient(climb, *, step):
    x = np.append(np.log([0.5, 3.0, 20.0]), climb.kernel.theta)
    _, gradient = climb(x)
    slopes = [
        (climb(x + step * e)[0] - climb(x - step * e)[0]) / (2.0 * step) for e in np.eye(len(x))
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-5)


@each_kernel
@each_centring
@for_each("n_outputs", [1, 2])
@for_each("noise", [None, 0.2], ids=["noise learned", "noise known"])
def test_the_normal_gradient_agrees_with_differences(kernel, centred, n_outputs, noise):
    X, weights, rng = rows_for()
    Y = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(30, n_outputs))
    given = None if noise is None else np.full(n_outputs, noise)
    targets = NormalTargets.from_outputs(Y, weights, centred=centred, noise_variance=given)
    evidence = sparse_kernel_climb.normal_evidence(targets, learned=noise is None)
    check_gradient(climb_of(evidence, kernel, X, weights, centred=centred), step=1e-5)


@each_kernel
@each_centring
@for_each("likelihood", [likelihoods.Bernoulli(), likelihoods.Categorical(3)], ids=str)
def test_the_laplace_gradient_agrees_with_differences(kernel, centred, likelihood):
    X, weights, rng = rows_for()
    n_classes = 2 if isinstance(likelihood, likelihoods.Bernoulli) else 3
    y = rng.integers(0, n_classes, 30).astype(float)
    targets = RowTargets.from_observations(y, weights, likelihood, offset=centred)
    evidence = sparse_kernel_climb.laplace_evidence(targets, offset=centred)
    check_gradient(climb_of(evidence, kernel, X, weights, centred=centred), step=1e-4)


def bernoulli_engine(X, y):
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)
    return latent_engine(X, targets, np.random.default_rng(0))


@for_each("known", [False, True])
def test_the_climb_starts_at_the_value_of_the_normal_fit(known):
    X, weights, rng = rows_for(40)
    Y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(40, 2))
    noise = np.array([0.02, 0.01]) if known else None
    engine = normal_engine(X, Y, weights=weights, noise_variance=noise, prior=priors.Sparse(0.5))
    kernel = kernels.RBF(1.0)
    fitted = chosen, _ = engine.select(kernel, None, coarse=False)
    climb = engine.climb(kernel, np.ones(1, dtype=bool), fitted)
    value, _ = climb(np.append(np.log(chosen.precision), kernel.theta))
    assert -value == pytest.approx(chosen.value, rel=1e-9)


def test_the_climb_starts_at_the_value_of_the_laplace_fit():
    X, _, rng = rows_for(60)
    y = (np.sin(2.0 * X[:, 0]) + 0.3 * rng.logistic(size=60) > 0.0).astype(float)
    engine, kernel = bernoulli_engine(X, y), kernels.RBF(1.0)
    fitted = chosen, _ = engine.select(kernel, None, coarse=False)
    climb = engine.climb(kernel, np.ones(1, dtype=bool), fitted)
    value, _ = climb(np.append(np.log(chosen.precision), kernel.theta))
    assert -value == pytest.approx(chosen.value, rel=1e-9)


def test_a_factor_of_the_kernel_has_no_slope():
    X, weights, rng = rows_for()
    targets = NormalTargets.from_outputs(
        rng.normal(size=(30, 1)), weights, centred=True, noise_variance=None
    )
    evidence = sparse_kernel_climb.normal_evidence(targets, learned=True)
    climb = climb_of(evidence, kernels.Scaled(kernels.RBF(1.0), 2.0), X, weights, centred=True)
    _, gradient = climb(np.append(np.zeros(3), climb.kernel.theta))
    assert abs(gradient[3]) < 1e-10 < abs(gradient[4])


def test_columns_that_do_not_vary_are_outside_the_domain():
    X, _, _ = rows_for()
    climb = climb_of(None, kernels.RBF(1e12), X, None, centred=True)
    value, _ = climb(np.append(np.zeros(3), climb.kernel.theta))
    assert value == np.inf


def test_standardised_columns_have_weighted_mean_zero_and_square_one():
    X, weights, _ = rows_for()
    columns = StandardizedKernelColumns.from_raw(X, weights, centred=True)
    np.testing.assert_allclose(weights @ columns.Z, 0.0, atol=1e-13)
    np.testing.assert_allclose(weights @ columns.Z**2, np.sum(weights))
    np.testing.assert_allclose(columns.Z * columns.scale + columns.center, X)


def test_the_normal_evidence_is_that_of_the_dense_covariance():
    rng = np.random.default_rng(0)
    Z, h, noise = rng.normal(size=(20, 3)), np.array([0.5, 3.0, 20.0]), 0.3
    y = rng.normal(size=(20, 1))
    targets = NormalTargets.from_outputs(y, None, centred=False, noise_variance=np.array([noise]))
    value, _, _ = sparse_kernel_climb.normal_evidence(targets, learned=False)(Z, h)
    covariance = noise * (np.eye(20) + (Z / h) @ Z.T)
    expected = multivariate_normal(np.zeros(20), covariance).logpdf(y[:, 0])
    assert value == pytest.approx(expected, rel=1e-10)


def test_without_any_noise_the_evidence_is_finite_and_level():
    X, _, rng = rows_for()
    Z = StandardizedKernelColumns.from_raw(X, None, centred=True).Z
    Y = Z @ rng.normal(size=(2, 3))
    targets = NormalTargets.from_outputs(Y, None, centred=True, noise_variance=None)
    evidence = sparse_kernel_climb.normal_evidence(targets, learned=True)
    h = np.full(2, 1e-14)
    value, in_h, in_Z = evidence(Z, h)
    assert np.isfinite(value)
    np.testing.assert_allclose(in_h, 1.5, rtol=1e-9)  # of the determinant alone
    assert np.all(np.isfinite(in_Z))
