"""Laplace's approximation of weights against dense algebra, brute force and differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import multivariate_normal
from support.for_each import for_each
from support.latents import with_covariance
from weight_oracles import DenseWeights, differences, exact_log_evidence

from posterity import designs, likelihoods
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets

LIKELIHOODS = {
    "bernoulli": likelihoods.Bernoulli(),
    "softmax of 2": likelihoods.Categorical(2),
    "softmax of 3": likelihoods.Categorical(3),
    "softmax of 4": likelihoods.Categorical(4),
    "poisson": likelihoods.Poisson(),
    "gamma": likelihoods.Gamma(3.0),
    "student": likelihoods.StudentT(0.5, 4.0),
    "normal": likelihoods.Normal(0.4),
}
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])


def targets_for(likelihood, Z, rng):
    n = len(Z)
    a = Z @ rng.normal(size=Z.shape[1])
    if isinstance(likelihood, likelihoods.Coupled):
        C = likelihood.n_latents
        logits = Z @ rng.normal(size=(Z.shape[1], C)) + rng.gumbel(size=(n, C))
        y = np.argmax(logits, axis=1).astype(float)
        y[:C] = np.arange(C)
        return y
    if isinstance(likelihood, likelihoods.Bernoulli):
        return (a + rng.logistic(size=n) > 0.0).astype(float)
    if isinstance(likelihood, likelihoods.Poisson):
        return rng.poisson(np.exp(0.5 * a)).astype(float)
    if isinstance(likelihood, likelihoods.Gamma):
        return rng.gamma(3.0, np.exp(0.5 * a) / 3.0)
    return a + 0.5 * rng.standard_t(4.0, size=n)


def problem_for(likelihood, *, offset, weighted=True, n=30, m=3, variance=0.7, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m))
    y = targets_for(likelihood, Z, rng)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    targets = RowTargets.from_observations(y, weights, likelihood, offset=offset)
    A = np.hstack([Z, np.ones((n, 1))]) if offset else Z
    prior = WeightPrior(1 / variance, A.shape[1], targets.offset_precision if offset else None)
    return WeightProblem(designs.Dense(A), targets, prior)


def dense_of(problem):
    t, A = problem.targets, problem.design.rows(0, problem.design.n_rows)
    C = len(t.shift)
    n = problem.prior.n_weights
    variance = np.ones((A.shape[1], C))
    variance[:n] = 1.0 / problem.prior.precision_per_weight(1)
    if problem.prior.offset_precision is not None:
        variance[-1] = t.offset_variance
    weights = np.ones(len(A)) if t.weights is None else t.weights
    return DenseWeights(A, t.y, weights, t.likelihood, variance, t.shift)


@each_likelihood
@each_offset
@for_each("weighted", [True, False], ids=["weights", "no weights"])
def test_it_is_dense_algebra_with_weights_for_every_latent_value(likelihood, offset, weighted):
    problem = problem_for(likelihood, offset=offset, weighted=weighted)
    fit, dense = LaplaceFit.from_problem(problem), dense_of(problem)
    assert fit.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    rows = np.random.default_rng(1).normal(size=(5, problem.design.n_columns))
    rows[:, -1] = 1.0 if offset else rows[:, -1]
    mean, covariance = with_covariance(fit.latent(rows))
    dense_mean, dense_covariance = dense.latent(rows)
    # Of several latent values only the differences matter.
    D = np.eye(mean.shape[1]) - (1.0 / mean.shape[1] if mean.shape[1] > 1 else 0.0)
    np.testing.assert_allclose(mean @ D, dense_mean @ D, atol=1e-7)
    np.testing.assert_allclose(D @ covariance @ D, D @ dense_covariance @ D, atol=1e-8)
    assert fit.log_likelihood == pytest.approx(
        dense.weight @ likelihood.log_prob(dense.y, dense.latents(dense.x)), abs=1e-6
    )


@each_likelihood
@each_offset
def test_gradient_in_prior_variance_and_likelihood(likelihood, offset):
    problem = problem_for(likelihood, offset=offset)

    def value(theta):
        moved = replace(
            problem,
            targets=replace(problem.targets, likelihood=likelihood.with_parameters(theta[1:])),
            prior=replace(problem.prior, precision=float(np.exp(-theta[0]))),
        )
        return LaplaceFit.from_problem(moved, start).log_evidence

    fit = LaplaceFit.from_problem(problem)
    start = fit.weights.W
    theta = np.append(-np.log(problem.prior.precision), likelihood.theta)
    in_variance, in_theta = fit.gradient()
    expected = differences(value, theta)
    np.testing.assert_allclose(np.append(in_variance, in_theta), expected, rtol=1e-6, atol=1e-7)


@each_likelihood
@each_offset
def test_gradient_in_the_design(likelihood, offset):
    problem = problem_for(likelihood, offset=offset, n=8, m=2)
    fit = LaplaceFit.from_problem(problem)
    A = problem.design.rows(0, 8)

    def value(x):
        moved = replace(problem, design=designs.Dense(x.reshape(A.shape)))
        return LaplaceFit.from_problem(moved, fit.weights.W).log_evidence

    expected = differences(value, A.reshape(-1)).reshape(A.shape)
    np.testing.assert_allclose(fit.design_gradient(A), expected, rtol=1e-6, atol=1e-7)


@for_each("m", [1, 2, 3])
@for_each("name", ["bernoulli", "poisson", "gamma", "student"])
def test_evidence_is_near_the_integral_and_nearer_with_more_rows(name, m):
    """The error is of the order of one over the rows: sixteen times as many, a sixteenth."""
    problem = problem_for(LIKELIHOODS[name], offset=False, n=25, m=m)
    errors = []
    for times in (1.0, 40.0, 640.0):
        targets = replace(problem.targets, weights=np.full(25, times))
        repeated = replace(problem, targets=targets)
        exact = exact_log_evidence(dense_of(repeated))
        errors.append(abs(LaplaceFit.from_problem(repeated).log_evidence - exact))
    assert errors[0] < 0.15
    assert 1 / 18 < errors[2] / errors[1] < 1 / 14


def test_evidence_with_a_normal_likelihood_is_that_of_a_normal():
    problem = problem_for(LIKELIHOODS["normal"], offset=False, weighted=False)
    Z, y = problem.design.rows(0, 30), problem.targets.y
    exact = multivariate_normal(np.zeros(30), 0.7 * Z @ Z.T + 0.4 * np.eye(30)).logpdf(y)
    assert LaplaceFit.from_problem(problem).log_evidence == pytest.approx(exact, abs=1e-10)


@for_each(("name", "n_classes"), [("bernoulli", 2), ("softmax of 3", 3), ("softmax of 4", 4)])
def test_columns_that_say_nothing_leave_equal_odds(name, n_classes):
    problem = problem_for(LIKELIHOODS[name], offset=False, weighted=False)
    idle = replace(problem, design=designs.Dense(np.zeros((30, 3))))
    assert LaplaceFit.from_problem(idle).log_evidence == pytest.approx(
        -30 * np.log(n_classes), abs=1e-12
    )


def test_an_offset_alone_has_the_evidence_of_one_weight():
    """Also by the integral: offset ~ N(logit p, 1 / (p (1 - p)))."""
    y = np.repeat([0.0, 1.0], [12, 28])
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)
    prior = WeightPrior(1.0, 1, targets.offset_precision)
    fit = LaplaceFit.from_problem(WeightProblem(designs.Dense(np.ones((40, 1))), targets, prior))
    a, v = np.log(28 / 12), 1.0 / (0.3 * 0.7)
    t = np.linspace(a - 8.0, a + 8.0, 20_001)
    log_joint = 28 * log_expit(t) + 12 * log_expit(-t) - 0.5 * (t - a) ** 2 / v
    density = np.exp(log_joint) / np.sqrt(2 * np.pi * v)
    exact = np.log(np.sum(density) * (t[1] - t[0]))
    assert fit.log_evidence == pytest.approx(exact, abs=0.02)
    # The mode of the prior is that of the likelihood, so that Laplace's answer is a closed form.
    closed = 28 * np.log(0.7) + 12 * np.log(0.3) - 0.5 * np.log(41.0)
    assert fit.log_evidence == pytest.approx(closed, abs=1e-10)


@pytest.mark.full
@for_each("name", ["bernoulli", "softmax of 3"])
@for_each("size", [1e3, 1e6])
def test_a_start_with_latent_values_of_any_size_leads_to_the_mode(name, size):
    """From latent values of 1e6 rows do not curve: where Newton is lost, it starts from zero."""
    problem = problem_for(LIKELIHOODS[name], offset=True, variance=1e4)
    A = problem.design.rows(0, 30) * np.array([size, size, size, 1.0])
    large = replace(problem, design=designs.Dense(A))
    fit = LaplaceFit.from_problem(large)
    again = LaplaceFit.from_problem(large, np.ones(fit.weights.W.shape))
    assert fit.weights.converged
    assert again.weights.converged
    assert again.log_evidence == pytest.approx(fit.log_evidence, abs=1e-6)
    assert np.isfinite(fit.gradient()[0])


@each_likelihood
@each_offset
def test_each_column_can_have_a_precision_of_its_own(likelihood, offset):
    problem = problem_for(likelihood, offset=offset)
    own = replace(problem, prior=replace(problem.prior, precision=np.array([0.2, 3.0, 40.0])))
    fit, dense = LaplaceFit.from_problem(own), dense_of(own)
    assert fit.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)


@each_likelihood
@for_each("each_weight", [False, True], ids=["columns", "weights"])
def test_the_gradient_in_every_precision_is_that_of_differences(likelihood, each_weight):
    problem = problem_for(likelihood, offset=True)
    J = problem.shape[1]
    start = np.log([0.5, 2.0, 7.0])
    x0 = (start[:, None] + 0.1 * np.arange(J)).reshape(-1) if each_weight else start

    def fit(x):
        h = np.exp(x).reshape(3, J) if each_weight else np.exp(x)
        return LaplaceFit.from_problem(replace(problem, prior=replace(problem.prior, precision=h)))

    exact = fit(x0).precision_gradient()
    found = exact.reshape(-1) if each_weight else exact.sum(axis=1)
    np.testing.assert_allclose(
        found, differences(lambda x: fit(x).log_evidence, x0), atol=2e-6, rtol=1e-5
    )
