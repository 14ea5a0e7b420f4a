"""Coordinates of the weights: centring, scaling and rotation change nothing that can be seen."""

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import with_covariance

from posterity import designs, likelihoods, priors
from posterity.inference.weights import space as weight_space
from posterity.inference.weights.space import WeightSpace
from posterity.inference.weights.targets import RowTargets

LIKELIHOODS = [likelihoods.Bernoulli(), likelihoods.Categorical(3), likelihoods.Poisson()]
each_likelihood = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda part: type(part).__name__
)


def data(n=40, m=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = 3.0 + rng.normal(size=(n, m)) * 2.0
    return Z, np.arange(n) % 3 * 1.0, rng.normal(size=(6, m)) * 3.0


def learned(Z, y, likelihood, *, weights=None, offset=True, prior_variance=0.6, **choices):
    codes = np.minimum(y, 1.0) if isinstance(likelihood, likelihoods.Bernoulli) else y
    space = WeightSpace.from_design(designs.Dense(Z), weights, offset=offset, **choices)
    return weight_space.learn_weights(
        space, codes, weights, likelihood, prior=priors.Normal(prior_variance)
    )


def assert_alike(one, other, queries, rtol=1e-8):
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=rtol)
    for a, b in zip(
        with_covariance(one.posterior.latent(queries)),
        with_covariance(other.posterior.latent(queries)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.coef, other.coef, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.intercept, other.intercept, rtol=rtol, atol=rtol)


@pytest.mark.full(but=8)
@each_likelihood
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("n", [5, 40])
def test_directions_of_the_rows_give_the_same_posterior(
    likelihood, offset, standardize, n, monkeypatch
):
    """Also of new rows, which have parts that no row of the training had."""
    Z, y, queries = data(n, 9)
    rotated = learned(Z, y, likelihood, offset=offset, standardize=standardize, rotate=True)
    assert rotated.posterior.space.V is not None
    monkeypatch.setattr(designs.Dense, "in_memory", False)  # so that few rows are not rotated
    direct = learned(Z, y, likelihood, offset=offset, standardize=standardize)
    assert direct.posterior.space.V is None
    assert_alike(rotated, direct, queries)


def test_few_rows_are_rotated_without_asking():
    Z, y, _ = data(5, 9)
    space = learned(Z, y, likelihoods.Poisson()).posterior.space
    assert space.V.shape == (9, 4)  # centred on their mean, five rows span four directions
    np.testing.assert_allclose(space.V.T @ space.V, np.eye(4), atol=1e-12)


@pytest.mark.full(but=1)
@each_likelihood
@for_each("n", [5, 40])
def test_units_and_origin_of_the_columns_do_not_matter(likelihood, n):
    Z, y, queries = data(n, 9)
    a, b = np.logspace(-9, 9, 9), np.linspace(-1e6, 1e6, 9) * np.logspace(-9, 9, 9)
    plain = learned(Z, y, likelihood, prior_variance=None)
    moved = learned(a * Z + b, y, likelihood, prior_variance=None)
    assert moved.log_evidence == pytest.approx(plain.log_evidence, abs=1e-5)
    np.testing.assert_allclose(moved.coef.T * a, plain.coef.T, rtol=1e-4, atol=1e-5)
    for one, other in zip(
        with_covariance(plain.posterior.latent(queries)),
        with_covariance(moved.posterior.latent(a * queries + b)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@each_likelihood
def test_weights_in_the_units_of_the_columns_give_the_latent_mean(likelihood):
    Z, y, queries = data()
    for choices in ({}, {"rotate": True}, {"offset": False}, {"standardize": False}):
        found = learned(Z, y, likelihood, **choices)
        mean = found.posterior.latent(queries).mean
        np.testing.assert_allclose(queries @ found.coef + found.intercept, mean, atol=1e-10)


@each_likelihood
def test_weights_equal_repetition(likelihood):
    Z, y, queries = data()
    times = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = learned(Z, y, likelihood, weights=times.astype(float))
    repeated = learned(Z.repeat(times, axis=0), y.repeat(times), likelihood)
    assert_alike(weighted, repeated, queries)


@pytest.mark.full(but=1)
@each_likelihood
@for_each("n", [6, 40])
def test_draws_have_the_mean_and_the_covariance_of_the_latent_values(likelihood, n):
    Z, y, queries = data(n, 8)
    found = learned(Z, y, likelihood)
    coef, intercept = found.posterior.sample(20_000, np.random.default_rng(0))
    draws = np.einsum("nm,smc->nsc", queries, coef) + intercept
    mean, covariance = with_covariance(found.posterior.latent(queries))
    deviation = np.sqrt(np.max(np.diagonal(covariance, axis1=1, axis2=2), axis=1))
    for i in range(len(queries)):
        np.testing.assert_allclose(draws[i].mean(axis=0), mean[i], atol=0.03 * deviation[i])
        sampled = np.atleast_2d(np.cov(draws[i].T))
        np.testing.assert_allclose(sampled, covariance[i], atol=0.04 * deviation[i] ** 2)


def test_the_common_part_of_the_classes_stays_at_the_prior():
    Z, y, queries = data()
    found = learned(Z, y, likelihoods.Categorical(3))
    np.testing.assert_allclose(found.coef.sum(axis=1), 0.0, atol=1e-12)
    _, covariance = with_covariance(found.posterior.latent(queries))
    np.testing.assert_allclose(covariance.sum(axis=2), 0.0, atol=1e-10)


def flat(Z, codes, weights=None, **choices):
    likelihood = likelihoods.Bernoulli() if codes.max() == 1 else likelihoods.Categorical(3)
    space = WeightSpace.from_design(designs.Dense(Z), weights, offset=True, **choices)
    return weight_space.maximise_likelihood(space, codes, weights, likelihood, exactly=True)


@for_each("n_classes", [2, 3])
def test_where_there_is_no_maximum_the_weights_are_those_of_one_row_of_prior(n_classes):
    Z, y, _ = data()
    codes = y % n_classes
    Z[:, 0] = codes
    problem, found = flat(Z, codes)
    assert found.separable
    targets = RowTargets.from_observations(codes, None, problem.targets.likelihood, offset=True)
    assert problem.prior.precision == pytest.approx(1.0 / targets.typical_variance)
    bounded = learned(Z, codes, problem.targets.likelihood, prior_variance=targets.typical_variance)
    np.testing.assert_allclose(found.W, bounded.posterior.fit.weights.W, atol=1e-8)


def test_one_row_is_worth_the_variance_of_the_null_model():
    codes = np.array([0.0, 0.0, 0.0, 1.0])
    targets = RowTargets.from_observations(codes, None, likelihoods.Bernoulli(), offset=True)
    np.testing.assert_allclose(targets.shift, np.log(1.0 / 3.0))
    np.testing.assert_allclose(targets.offset_precision, [[0.25 * 0.75]])
    assert targets.typical_variance == pytest.approx(1.0 / (0.25 * 0.75))
    assert RowTargets.from_observations(
        codes, None, likelihoods.Bernoulli(), offset=False
    ).shift == [0.0]
