"""The mixture of experts, against differences, EM and ordinary regression."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy.special import expit, softmax
from support.for_each import for_each

from posterity import likelihoods, optimize
from posterity.local import experts as moe


def problem(likelihood=None, n_experts=2, n=80, seed=0, prior_variance=10.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, (n, 2))
    kind = likelihood or likelihoods.Bernoulli()
    C = getattr(kind, "n_classes", 2)
    y = 1.0 * (X[:, 0] * X[:, 1] > 0.0) + 1.0 * (C > 2) * (X[:, 0] > 0.5)
    counts = rng.integers(1, 4, n).astype(float)
    Z = np.column_stack([X, np.ones(n)])
    return moe.ExpertsProblem.from_rows(
        Z, y, counts, kind, n_experts=n_experts, prior_variance=prior_variance
    )


LIKELIHOODS = [likelihoods.Bernoulli(), likelihoods.Categorical(3)]


@for_each("likelihood", LIKELIHOODS, ids=["two", "three"])
@for_each("n_experts", [1, 3])
def test_gradient_is_what_differences_give(likelihood, n_experts):
    p, h = problem(likelihood, n_experts), 1e-6
    x = p.draw_start(np.random.default_rng(1))
    numeric = [(p(x + h * e)[0] - p(x - h * e)[0]) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(p(x)[1], numeric, rtol=1e-6, atol=1e-5)


def test_value_is_minus_the_log_of_the_mixture_and_the_prior():
    p = problem(n_experts=3)
    x = p.draw_start(np.random.default_rng(1))
    V, W = x[:9].reshape(3, 3), x[9:].reshape(3, 3)
    share = np.average(p.y, weights=p.counts)
    one = expit(p.Z @ W)
    given = np.where(p.y[:, None] == 1.0, one, 1.0 - one)
    expected = -p.counts @ np.log(np.sum(softmax(p.Z @ V, axis=1) * given, axis=1))
    expected += 0.05 * (np.sum(V[:2] ** 2) + np.sum(W[:2] ** 2)) + np.sum(V[2] ** 2) / 6.0
    logit = np.log(share / (1 - share))
    expected += 0.5 * share * (1 - share) * np.sum((W[2] - logit) ** 2)
    assert p(x)[0] == pytest.approx(expected, rel=1e-12)


def test_one_expert_is_penalised_logistic_regression():
    p = problem(n_experts=1)
    share = np.average(p.y, weights=p.counts)
    variance = np.array([10.0, 10.0, 1.0 / (share * (1 - share))])
    center = np.array([0.0, 0.0, np.log(share / (1 - share))])

    def loss(w):
        a = (2.0 * p.y - 1.0) * (p.Z @ w)
        return p.counts @ np.logaddexp(0.0, -a) + 0.5 * np.sum((w - center) ** 2 / variance)

    best = scipy_optimize.minimize(loss, np.zeros(3), tol=1e-12)
    fit = moe.fit_experts(p, n_restarts=1, rng=np.random.default_rng(0))
    np.testing.assert_allclose(fit.mixture.experts[:, 0, 0], best.x, atol=1e-3)
    np.testing.assert_allclose(fit.mixture.gates, 0.0, atol=1e-3)


def test_softmax_experts_of_two_classes_are_logistic_experts_of_the_difference():
    two, one = problem(likelihoods.Categorical(2), 2), problem(likelihoods.Bernoulli(), 2)
    x = one.draw_start(np.random.default_rng(1))
    mixture = one.center.with_weights(x)
    pair = moe.ExpertMixture(mixture.gates, mixture.experts * np.array([-0.5, 0.5]))
    likes = [
        p(m.flat)[0] - 0.5 * np.sum((m.flat - p.center.flat) ** 2 / p.variance.flat)
        for p, m in ((one, mixture), (two, pair))
    ]
    assert likes[0] == pytest.approx(likes[1])


@for_each("likelihood", LIKELIHOODS, ids=["two", "three"])
def test_the_log_posterior_never_falls(likelihood):
    p = problem(likelihood)
    start = p.draw_start(np.random.default_rng(0))
    ends = [
        optimize.minimise_lbfgs(p, start, max_iter=k, announce=False).value for k in range(1, 40)
    ]
    assert np.all(np.diff([p(start)[0], *ends]) <= 1e-9)


def expected_loss(p, x, responsibility):
    """What the M-step of EM minimises."""
    mixture = p.center.with_weights(x)
    log_g, a = mixture.log_gates(p.Z), mixture.latents(p.Z)[:, :, 0]
    log_p = log_g + p.likelihood.log_prob(p.y[:, None], a)
    penalty = 0.5 * np.sum((x - p.center.flat) ** 2 / p.variance.flat)
    return penalty - p.counts @ np.sum(responsibility * log_p, axis=1)


def test_the_best_weights_are_a_fixed_point_of_em():
    p = problem()
    fit = moe.fit_experts(p, n_restarts=2, rng=np.random.default_rng(0))
    mixture = fit.mixture
    a = mixture.latents(p.Z)[:, :, 0]
    log_p = mixture.log_gates(p.Z) + p.likelihood.log_prob(p.y[:, None], a)
    r = softmax(log_p, axis=1)
    step = scipy_optimize.minimize(lambda x: expected_loss(p, x, r), mixture.flat)
    assert p(step.x)[0] == pytest.approx(p(mixture.flat)[0], abs=1e-4)
    np.testing.assert_allclose(step.x, mixture.flat, atol=0.02)


def test_the_best_of_the_searches_is_kept_and_more_add_to_fewer():
    p = problem(n=60, n_experts=3)
    few = moe.fit_experts(p, n_restarts=1, rng=np.random.default_rng(3))
    many = moe.fit_experts(p, n_restarts=5, n_jobs=2, rng=np.random.default_rng(3))
    np.testing.assert_allclose(many.values[:2], few.values, rtol=1e-9)
    assert many.log_posterior >= many.values.max() >= few.values.max()
    assert many.log_posterior == pytest.approx(many.values.max(), abs=0.1)
    assert np.ptp(many.values) > 1e-2, "this problem has one valley only, and tests nothing"
    constant = np.sum(np.log(2 * np.pi * p.variance.flat)) / 2
    assert many.log_posterior == pytest.approx(-p(many.mixture.flat)[0] - constant)


def test_experts_come_by_falling_share():
    p = problem(n_experts=3)
    fit = moe.fit_experts(p, n_restarts=2, rng=np.random.default_rng(0))
    share = p.counts @ np.exp(fit.mixture.log_gates(p.Z))
    assert np.all(np.diff(share) <= 0.0)


def test_a_search_that_is_cut_short_says_so():
    with pytest.warns(optimize.ConvergenceWarning, match="2 L-BFGS iterations were not enough"):
        moe.fit_experts(problem(), n_restarts=0, max_iter=2, rng=np.random.default_rng(0))
