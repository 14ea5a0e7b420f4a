"""The learned variances are where the evidence is largest, and say so."""

import numpy as np
from scipy.optimize import minimize
from support.for_each import for_each

from posterity.designs import Statistics
from posterity.inference.conjugate import variances
from posterity.inference.conjugate.linear import LinearProblem, reduce_statistics


def problem(n=40, m=5, k=2, seed=0, offset=True):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m))
    Y = Z @ rng.normal(size=(m, k)) + [0.3, 2.0] * rng.normal(size=(n, k)) + 1.0
    s = Statistics.from_rows(Z, Y, shift=offset)
    return reduce_statistics(s, fit_intercept=offset, standardize=True)


def total(p, log_sigma2, log_tau2):
    return variances.compute_log_evidence(p, np.exp(log_sigma2), np.exp(log_tau2))


@for_each("offset", [True, False])
@for_each("shape", [(40, 5), (8, 30), (1000, 2)])
def test_a_general_optimiser_finds_nothing_better(shape, offset):
    p = problem(*shape, offset=offset)
    found = variances.maximise_evidence(p)
    start = np.log([found.noise_variance, found.prior_variance])
    for k in range(2):

        def loss(theta, k=k):
            sigma2, tau2 = np.log(found.noise_variance), np.log(found.prior_variance)
            sigma2[k], tau2[k] = theta
            return -total(p, sigma2, tau2)[k]

        for shift in ([0.0, 0.0], [1.0, -2.0], [-1.0, 3.0]):
            polished = minimize(loss, start[:, k] + shift, method="Nelder-Mead")
            assert -polished.fun <= found.log_evidence[k] + 1e-9


def test_the_derivative_vanishes_at_the_learned_variances():
    p = problem()
    found = variances.maximise_evidence(p)
    at, h = np.log([found.noise_variance, found.prior_variance]), 1e-5
    for step in ([h, 0.0], [0.0, h]):
        d = np.array(step)[:, None]
        slope = (total(p, *(at + d)) - total(p, *(at - d))) / (2 * h)
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)


@for_each("given", [{"noise_variance": 0.5}, {"prior_variance": 0.2}])
def test_one_variance_is_learned_when_the_other_is_given(given):
    p = problem()
    found = variances.maximise_evidence(p, **given)
    at, h = np.log([found.noise_variance, found.prior_variance]), 1e-5
    free = 1 if "noise_variance" in given else 0
    step = np.zeros((2, 1))
    step[free] = h
    slope = (total(p, *(at + step)) - total(p, *(at - step))) / (2 * h)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    name, value = next(iter(given.items()))
    np.testing.assert_allclose(getattr(found, name), value)


def test_noise_is_recovered_from_many_rows():
    found = variances.maximise_evidence(problem(n=100_000))
    np.testing.assert_allclose(found.noise_variance, [0.09, 4.0], rtol=0.02)


def test_the_larger_of_two_maxima_is_found():
    """Two directions at very different scales make the evidence bimodal in the ratio."""
    s = np.array([1e3, 1.0])
    T = np.array([[5.0], [40.0]])
    p = LinearProblem(
        s=s,
        V=np.eye(2),
        T=T,
        residual=np.array([0.5]),
        center=np.zeros(2),
        scale=np.ones(2),
        target_center=np.zeros(1),
        offset_variance=np.zeros(1),
        floor=np.array([1e-300]),
        total=4.0,
        count=4.0,
        log_noise=0.0,
    )
    found = variances.maximise_evidence(p)
    grid = np.linspace(-30.0, 30.0, 20_001)
    rho = np.exp(grid)[:, None]
    sigma2 = variances.maximise_noise(p, rho)
    best = variances.compute_log_evidence(p, sigma2, rho * sigma2).max()
    assert found.log_evidence[0] >= best - 1e-9


def test_targets_unrelated_to_the_features_switch_the_weights_off():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(200, 3))
    y = np.ones(200)
    y[::2] = -1.0
    y -= Z @ np.linalg.lstsq(Z - Z.mean(0), y, rcond=None)[0]  # nothing left to explain
    p = reduce_statistics(Statistics.from_rows(Z, y[:, None]), fit_intercept=True, standardize=True)
    found = variances.maximise_evidence(p)
    assert found.prior_variance[0] == 0.0
    assert "no weights" in found.stop_reason


def test_rows_fitted_exactly_are_named_and_stay_finite():
    Z = np.arange(10.0)[:, None]
    p = reduce_statistics(
        Statistics.from_rows(Z, 3.0 * Z + 2.0), fit_intercept=True, standardize=True
    )
    found = variances.maximise_evidence(p)
    assert np.isfinite(found.log_evidence).all()
    assert found.noise_variance[0] < 1e-20


def test_constant_features_leave_the_offset_only():
    p = reduce_statistics(
        Statistics.from_rows(np.ones((6, 2)), np.arange(6.0)[:, None]),
        fit_intercept=True,
        standardize=True,
    )
    found = variances.maximise_evidence(p)
    assert found.prior_variance[0] == 0.0
    assert np.isfinite(found.log_evidence).all()
