"""Mixtures: quantiles, scores and the two parts of the variance."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from support.for_each import for_each

from posterity.distributions import (
    Bernoulli,
    Categorical,
    Gamma,
    Mixture,
    Normal,
    StudentT,
)

W = np.array([0.5, 0.3, 0.2])
HARD = Mixture(Normal([0.0, 3.0, 1e4], [1e-4, 0.2, 100.0]), np.log(W))


def cdf(y):
    return W @ stats.norm.cdf(y, [0.0, 3.0, 1e4], [1e-4, 0.2, 100.0])


@for_each("p", [1e-200, 1e-9, 0.1, 0.4999999, 0.5, 0.50001, 0.65, 0.8, 0.9, 1 - 1e-9])
def test_quantiles_of_components_of_very_different_scales(p):
    y = HARD.icdf(p)
    np.testing.assert_allclose(HARD.cdf(y), p, rtol=1e-11)
    if 1e-3 < p < 0.999:
        expected = optimize.brentq(lambda x: cdf(x) - p, -1.0, 2e4, xtol=1e-13, rtol=1e-14)
        np.testing.assert_allclose(cdf(y), cdf(expected), rtol=1e-10)
    np.testing.assert_allclose(HARD.ccdf(HARD.iccdf(p)), p, rtol=1e-11)


def test_quantiles_reach_the_ends_of_the_support():
    np.testing.assert_array_equal(HARD.icdf([0.0, 1.0]), [-np.inf, np.inf])
    np.testing.assert_array_equal(HARD.iccdf([0.0, 1.0]), [np.inf, -np.inf])
    gammas = Mixture(Gamma([3.0, 2.0], 1.0), np.log([0.5, 0.5]))
    np.testing.assert_array_equal(gammas.icdf([0.0, 1.0]), [0.0, np.inf])


def test_logs_survive_in_the_tails():
    mixture = Mixture(Normal([0.0, 1.0], 1.0), np.log([0.25, 0.75]))
    expected = np.logaddexp(stats.norm.logcdf(-60.0) + np.log(0.25), stats.norm.logcdf(-61.0))
    np.testing.assert_allclose(mixture.logcdf(-60.0), expected, rtol=1e-14)
    np.testing.assert_allclose(
        mixture.logccdf(61.0), Normal(0.0, 1.0).logccdf(60.0) + np.log(0.75), rtol=1e-12
    )


def test_probabilities_do_not_exceed_one_where_weights_do():
    six = Mixture(Normal(np.zeros(6), 1.0), np.full(6, -np.log(6.0)))
    assert np.sum(np.exp(six.log_weights)) > 1.0
    assert six.cdf(50.0) == six.ccdf(-50.0) == 1.0
    assert six.logcdf(50.0) == six.logccdf(-50.0) == 0.0


def test_points_are_components_like_any_other():
    points = Mixture(Normal([0.0, 1.0, 2.0], 0.0), np.log(W))
    np.testing.assert_array_equal(points.icdf([0.1, 0.5, 0.6, 0.9]), [0.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(points.iccdf([0.1, 0.3, 0.6]), [2.0, 1.0, 0.0])
    np.testing.assert_array_equal(points.icdf([0.0, 1.0]), [0.0, 2.0])
    np.testing.assert_array_equal(points.iccdf([0.0, 1.0]), [2.0, 0.0])
    np.testing.assert_allclose(points.cdf([-1.0, 0.0, 1.5, 2.0]), [0.0, 0.5, 0.8, 1.0])
    np.testing.assert_array_equal(points.logpdf([1.0, 1.5]), [np.inf, -np.inf])
    assert points.entropy() == -np.inf
    np.testing.assert_allclose(points.crps(0.0), (1.0 - 0.5) ** 2 + 0.2**2)
    partly = Mixture(Normal([0.0, 1.0], [0.0, 1.0]), np.log([0.6, 0.4]))
    np.testing.assert_allclose(partly.median(), 0.0, atol=1e-15)
    np.testing.assert_allclose(partly.cdf(partly.icdf([0.01, 0.05, 0.9])), [0.01, 0.05, 0.9])


def test_a_weight_of_zero_hides_its_component():
    with np.errstate(divide="ignore"):
        log_w = np.log([1.0, 0.0])
    hidden = Mixture(StudentT(0.0, [1.0, 0.0], [3.0, 0.5]), log_w)
    alone = StudentT(0.0, 1.0, 3.0)
    for method in ("mean", "variance", "entropy", "median"):
        np.testing.assert_allclose(getattr(hidden, method)(), getattr(alone, method)(), rtol=1e-7)
    np.testing.assert_allclose(hidden.logpdf([0.0, 1.0]), alone.logpdf([0.0, 1.0]), rtol=1e-14)
    np.testing.assert_allclose(hidden.icdf(0.3), alone.icdf(0.3), rtol=1e-12)


def test_variance_splits_into_aleatoric_and_epistemic():
    m, s = np.array([[0.0, 2.0, 5.0], [1.0, 1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    mixture = Mixture(Normal(m, s), np.log(W))
    mean = m @ W
    np.testing.assert_allclose(mixture.mean(), mean)
    np.testing.assert_allclose(mixture.aleatoric_variance(), [W @ s**2] * 2)
    np.testing.assert_allclose(mixture.epistemic_variance(), (m - mean[:, None]) ** 2 @ W, atol=0)
    np.testing.assert_allclose(mixture.variance(), (m**2 + s**2) @ W - mean**2, rtol=1e-12)


def test_entropy_and_crps_with_a_narrow_component():
    pieces = [(-2.0, -6e-4), (-6e-4, 6e-4), (6e-4, 2.0), (2.0, 5.0), (9e3, 1.1e4)]
    surprise = sum(
        integrate.quad(lambda y: -HARD.pdf(y) * HARD.logpdf(y), a, b, limit=200)[0]
        for a, b in pieces
    )
    np.testing.assert_allclose(HARD.entropy(), surprise, rtol=1e-8)
    np.testing.assert_allclose(HARD.crps(3.1), HARD._crps_by_quadrature(np.array(3.1)), rtol=1e-8)


def test_crps_of_equal_components_is_that_of_one():
    y = np.linspace(-5.0, 5.0, 7)
    copies = Mixture([Normal(1.0, 2.0)] * 4, np.full(4, np.log(0.25)))
    np.testing.assert_allclose(copies.crps(y), Normal(1.0, 2.0).crps(y), rtol=1e-13)


def test_a_sequence_is_stacked_and_weights_broadcast():
    one_by_one = Mixture([Normal([0.0, 1.0], 1.0), Normal(5.0, 2.0)], np.log([0.5, 0.5]))
    at_once = Mixture(Normal([[0.0, 5.0], [1.0, 5.0]], [1.0, 2.0]), np.log([0.5, 0.5]))
    assert one_by_one == at_once
    gated = Mixture(Normal([0.0, 5.0], 1.0), np.log([[0.1, 0.9], [0.8, 0.2]]))
    assert gated.shape == (2,)
    np.testing.assert_allclose(gated.mean(), [4.5, 1.0])


def test_a_mixture_of_mixtures_is_a_mixture():
    inner = Mixture(Normal([[0.0, 1.0], [5.0, 6.0]], 1.0), np.log([0.5, 0.5]))
    outer = Mixture(inner, np.log([0.2, 0.8]))
    flat = Mixture(Normal([0.0, 1.0, 5.0, 6.0], 1.0), np.log([0.1, 0.1, 0.4, 0.4]))
    y = np.array([-3.0, 0.4, 5.5])
    np.testing.assert_allclose(outer.logpdf(y), flat.logpdf(y), rtol=1e-13)
    np.testing.assert_allclose(outer.icdf([0.1, 0.6]), flat.icdf([0.1, 0.6]), rtol=1e-12)
    np.testing.assert_allclose(outer.variance(), flat.variance())
    np.testing.assert_allclose(outer.crps(y), flat.crps(y), rtol=1e-7)


def test_components_of_several_families_are_mixed():
    normal, gamma = Normal([0.0, 1.0], 2.0), Gamma([1.5, 4.0], 0.5)
    inner = Mixture([normal, normal], np.log([0.5, 0.5]))
    both = Mixture([inner, gamma], np.log([0.25, 0.75]))
    y = np.array([0.7, 3.0])
    np.testing.assert_allclose(both.pdf(y), 0.25 * normal.pdf(y) + 0.75 * gamma.pdf(y), rtol=1e-13)
    np.testing.assert_allclose(both.mean(), 0.25 * normal.mean() + 0.75 * gamma.mean())
    np.testing.assert_allclose(both.cdf(both.icdf([0.1, 0.9])), [0.1, 0.9], rtol=1e-12)


def test_components_that_cannot_be_mixed_are_refused():
    with pytest.raises(TypeError, match="continuous components; got Bernoulli, Normal"):
        Mixture([Normal(0.0, 1.0), Bernoulli.from_logit(0.0)], np.log([0.5, 0.5]))
    with pytest.raises(TypeError, match=r"average\(\)"):
        Mixture([Bernoulli.from_logit(0.0)] * 2, np.log([0.5, 0.5]))
    with pytest.raises(TypeError, match="got nothing"):
        Mixture([], [0.0])
    with pytest.raises(ValueError, match=r"components have shape \(3,\) and log_weights \(2,\)"):
        Mixture(Normal(np.zeros(3), 1.0), np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match=r"sum of exp\(log_weights\) is 0.9"):
        Mixture(Normal(np.zeros(2), 1.0), np.log([0.5, 0.4]))


def test_the_average_of_classes_is_their_mixture():
    p = np.array([[[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]])
    w = np.array([0.25, 0.75])
    members = Categorical(np.log(p))
    np.testing.assert_allclose(members.average().probabilities(), p.mean(axis=1))
    np.testing.assert_allclose(members.average(np.log(w)).probabilities(), w @ p)
    two = Bernoulli.from_logit([[0.0, 3.0, -900.0]])
    np.testing.assert_allclose(two.average().mean(), two.mean().mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(two.average(np.log(W)).mean(), two.mean() @ W, rtol=1e-14)
    np.testing.assert_allclose(
        Bernoulli.from_logit([-900.0, -900.0]).average().logpmf(1), -900.0, rtol=1e-14
    )
    with pytest.raises(ValueError, match="no axis to average"):
        Bernoulli.from_logit(0.0).average()


def _many_normals(n=40, K=30, spread=3.0, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(0.3 * np.ones(K), size=n)
    weights[:, 0] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    scale = np.exp(spread * rng.normal(size=(n, K)))
    return Mixture(Normal(5.0 * rng.normal(size=(n, K)), scale), log_weights)


@for_each("p", [1e-3, 0.05, 0.5, 0.9, 0.999])
@for_each("spread", [0.3, 3.0])
def test_quantiles_of_many_normals_are_where_their_chance_is(p, spread):
    mixture = _many_normals(spread=spread)
    np.testing.assert_allclose(mixture.cdf(mixture.icdf(p)), p, rtol=1e-12)
    np.testing.assert_allclose(mixture.ccdf(mixture.iccdf(p)), p, rtol=1e-12)


def test_compiled_quantiles_are_those_of_the_general_way(monkeypatch):
    """The second way knows neither that these are normals nor any compiled code."""
    mixture, p = _many_normals(), np.array([[0.01], [0.3], [0.97]])
    compiled = mixture.icdf(p), mixture.iccdf(p)
    monkeypatch.setattr(Mixture, "_has_spread_normals", lambda self: False)
    for fast, slow in zip(compiled, (mixture.icdf(p), mixture.iccdf(p)), strict=True):
        assert fast.shape == (3, 40)
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)
