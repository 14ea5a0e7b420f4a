"""One of several classes: derivatives by differences, averages by dense quadrature."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import log_softmax, softmax
from support.for_each import for_each

from posterity import likelihoods

RNG = np.random.default_rng(0)
Y = np.array([0.0, 2.0, 1.0, 3.0, 3.0])
A = 2.0 * RNG.standard_normal((5, 4))
FOUR = likelihoods.Categorical(4)


@pytest.fixture(autouse=True)
def same_draws():
    """Every test draws the same numbers, whatever ran before it."""
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state


def covariances(n, C, scale):
    R = RNG.standard_normal((n, C, C))
    return scale * R @ R.transpose(0, 2, 1) / C


def by_dense_quadrature(mean, covariance, nodes=80):
    """The mean of the softmax of three latent values, over a grid of their two contrasts."""
    t, w = hermegauss(nodes)
    P = np.eye(3) - 1.0 / 3.0
    lam, V = np.linalg.eigh(P @ covariance @ P)
    F = V[:, 1:] * np.sqrt(np.maximum(lam[1:], 0.0))
    a = mean + np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1) @ F.T
    return np.einsum("i,j,ijc->c", w, w, softmax(a, axis=-1)) / np.sum(w) ** 2


def differences(f, a, h=1e-6):
    """Derivatives of f (N, ...) in each of the C values of its row, last."""
    steps = h * np.eye(a.shape[1])
    return np.stack([(f(a + s) - f(a - s)) / (2.0 * h) for s in steps], axis=-1)


def test_log_prob_is_the_log_of_the_softmax():
    expected = [log_softmax(a)[int(c)] for a, c in zip(A, Y, strict=True)]
    np.testing.assert_allclose(FOUR.log_prob(Y, A), expected, rtol=1e-14)
    assert FOUR.log_prob(2, A).shape == (5,)


def test_value_and_slope_are_log_prob_and_gradient():
    for a in (A, 1e6 * A):
        value, slope = FOUR.value_and_slope(Y, a)
        np.testing.assert_allclose(value, FOUR.log_prob(Y, a), rtol=1e-13)
        np.testing.assert_allclose(slope, FOUR.d1(Y, a), rtol=1e-13, atol=1e-15)
    value, slope = FOUR.value_and_slope(Y[:, None], A[:, None, :])
    assert value.shape == (5, 1)
    assert slope.shape == (5, 1, 4)


def test_gradient_agrees_with_differences():
    expected = differences(lambda a: FOUR.log_prob(Y, a), A)
    np.testing.assert_allclose(FOUR.d1(Y, A), expected, atol=1e-9)
    np.testing.assert_allclose(FOUR.d1(Y, A).sum(axis=1), 0.0, atol=1e-15)


def test_curvature_agrees_with_differences():
    H = -differences(lambda a: FOUR.d1(Y, a), A)
    np.testing.assert_allclose(FOUR.curvature(Y, A), H, atol=1e-9)
    assert np.all(FOUR.curvature_shares(Y, A) > 0.0)


def test_curvature_pullback_agrees_with_differences():
    S = covariances(5, 4, 3.0)

    def contracted(a):
        return np.einsum("nij,nij->n", S, FOUR.curvature(Y, a))

    expected = differences(contracted, A)
    np.testing.assert_allclose(FOUR.curvature_pullback(Y, A, S), expected, atol=1e-8)


@for_each("averaging", ["exact", "approximate"])
def test_two_classes_are_the_bernoulli_of_the_difference(averaging):
    two, one = likelihoods.Categorical(2, averaging), likelihoods.Bernoulli(averaging)
    m, S = 5.0 * RNG.standard_normal((30, 2)), covariances(30, 2, 40.0)
    v = S[:, 0, 0] + S[:, 1, 1] - 2.0 * S[:, 0, 1]
    expected = one.predict(m[:, 1] - m[:, 0], v).log_probabilities()
    np.testing.assert_allclose(two.predict(m, S).log_probabilities(), expected, 1e-12, 1e-15)
    np.testing.assert_allclose(two.log_prob(1, m), one.log_prob(1, m[:, 1] - m[:, 0]), 1e-12, 1e-15)


@for_each("scale", [1e-6, 0.3, 3.0])
def test_averages_agree_with_dense_quadrature(scale):
    m, S = 2.0 * RNG.standard_normal((8, 3)), covariances(8, 3, scale)
    expected = [by_dense_quadrature(*pair) for pair in zip(m, S, strict=True)]
    p = likelihoods.Categorical(3).predict(m, S).probabilities()
    np.testing.assert_allclose(p, expected, atol=1e-3 * min(np.sqrt(scale), 1.0))
    close = likelihoods.Categorical(3, "approximate").predict(m, S).probabilities()
    assert np.mean(np.abs(close - expected)) < 0.04


def test_without_averaging_the_mean_counts_alone():
    m, S = RNG.standard_normal((4, 3)), covariances(4, 3, 5.0)
    p = likelihoods.Categorical(3, "none").predict(m, S).probabilities()
    np.testing.assert_allclose(p, softmax(m, axis=1), rtol=1e-12)
    one = likelihoods.Bernoulli("none").predict(m[:, 0], S[:, 0, 0])
    np.testing.assert_allclose(one.mean(), 1.0 / (1.0 + np.exp(-m[:, 0])), rtol=1e-12)


def test_ten_equal_classes_of_large_variance_have_equal_probabilities():
    ten = likelihoods.Categorical(10)
    p = ten.predict(np.full((1, 10), 7.0), 25.0 * np.eye(10)).probabilities()
    np.testing.assert_allclose(p, 0.1, atol=1e-3)


def test_what_all_latent_values_share_does_not_matter():
    m, S = RNG.standard_normal((6, 4)), covariances(6, 4, 2.0)
    p = FOUR.predict(m, S).probabilities()
    shifted = FOUR.predict(m + 1e3, S + 1e4).probabilities()
    np.testing.assert_allclose(shifted, p, atol=1e-9)


def test_rows_of_any_width_are_averaged_alone():
    """Rows of different widths take different numbers of points, and come back in their places."""
    m = RNG.standard_normal((40, 4))
    S = np.eye(4) * np.logspace(-8.0, 6.0, 40)[:, None, None]
    S[::7] = 0.0
    together = FOUR.predict(m, S).log_probabilities()
    alone = np.stack([FOUR.predict(m[i], S[i]).log_probabilities() for i in range(40)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    np.testing.assert_allclose(together[::7], log_softmax(m[::7], axis=-1), rtol=1e-14)


@for_each("averaging", ["exact", "approximate"])
def test_no_activation_rounds_to_certainty(averaging):
    m = np.array([[1e6, 0.0, -1e6], [0.0, 0.0, 0.0], [-800.0, 0.0, 700.0], [1e6, 1e6, -1e6]])
    for v in (0.0, 1e-12, 1.0, 1e6):
        prediction = likelihoods.Categorical(3, averaging).predict(m, v * np.eye(3))
        log_p = prediction.log_probabilities()
        assert np.all(np.isfinite(log_p) & (log_p <= 0.0))
        np.testing.assert_allclose(np.exp(log_p).sum(axis=-1), 1.0, rtol=1e-12)
        if v < 1e-9:
            np.testing.assert_allclose(log_p, log_softmax(m, axis=-1), rtol=1e-6, atol=1e-12)


def test_a_covariance_without_full_rank_is_no_obstacle():
    S = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    expected = by_dense_quadrature(np.zeros(3), S)
    p = likelihoods.Categorical(3).predict(np.zeros(3), S).probabilities()
    np.testing.assert_allclose(p, expected, atol=2e-4)


@pytest.mark.parametrize("v", [0.5, 4.0, 30.0])
def test_the_average_is_the_same_whatever_eigenvectors_a_program_finds(v, monkeypatch):
    """Where the variances of contrasts are equal, any basis is one of eigenvectors."""
    m, S = RNG.standard_normal((20, 4)), v * (np.eye(4) + 3.0)
    p, eigh = FOUR.predict(m, S).probabilities(), np.linalg.eigh
    turn = np.linalg.qr(RNG.standard_normal((3, 3)))[0]

    def turned(A):
        lam, V = eigh(A)
        return lam, V @ turn

    monkeypatch.setattr(np.linalg, "eigh", turned)
    np.testing.assert_allclose(FOUR.predict(m, S).probabilities(), p, atol=1e-12)


def test_points_change_smoothly_where_eigenvalues_meet():
    m, bend = RNG.standard_normal(4), np.diag([1.0, -1.0, 2.0, -2.0])
    near = [FOUR.predict(m, 4.0 * np.eye(4) + h * bend).probabilities() for h in (-1e-7, 1e-7)]
    np.testing.assert_allclose(*near, atol=1e-6)


def test_a_covariance_that_rounding_made_indefinite_is_no_obstacle():
    m, v = np.array([0.3, -0.2, 0.5, 0.1]), np.array([1.0, -2.0, 0.5, 3.0])
    S = np.outer(v, v)
    p, expected = (FOUR.predict(m, A).probabilities() for A in (S - 1e-9 * np.eye(4), S))
    np.testing.assert_allclose(p, expected, atol=1e-6)


def test_expected_values_of_two_classes_are_those_of_their_difference():
    rng = np.random.default_rng(0)
    mean, R = rng.normal(size=(6, 2)), rng.normal(size=(6, 2, 2))
    S, y = 4.0 * R @ R.transpose(0, 2, 1), np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    d = np.array([-1.0, 1.0])
    two = likelihoods.Categorical(2).expected_derivatives(y, mean, S)
    variance = np.einsum("c,ncd,d->n", d, S, d)
    one = likelihoods.Bernoulli().expected_derivatives(y, mean @ d, variance)
    np.testing.assert_allclose(two[0], one[0], rtol=1e-12)
    np.testing.assert_allclose(two[1], one[1][:, None] * d, rtol=1e-12)
    np.testing.assert_allclose(two[2], one[2][:, None, None] * np.outer(d, d), rtol=1e-12)


def test_expected_values_are_averages_over_draws():
    rng = np.random.default_rng(0)
    three = likelihoods.Categorical(3)
    mean, R = 2.0 * rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 2))
    S, y = 2.0 * R @ R.transpose(0, 2, 1), np.array([0.0, 1.0, 2.0, 0.0])
    S += 1.0  # what all share: nothing but the log-sum of the others would see it
    log_p, d1, h = three.expected_derivatives(y, mean, S)
    for n in range(4):
        a = rng.multivariate_normal(mean[n], S[n], size=200_000, check_valid="ignore")
        assert log_p[n] == pytest.approx(three.log_prob(y[n], a).mean(), abs=0.02)
        np.testing.assert_allclose(d1[n], three.d1(y[n], a).mean(axis=0), atol=5e-3)
        hessian = three.curvature(y[n], a).mean(axis=0)
        np.testing.assert_allclose(h[n], hessian, atol=5e-3)
    np.testing.assert_allclose(h.sum(axis=1), 0.0, atol=1e-14)


def test_the_null_has_the_frequencies_of_the_classes():
    value, variance = FOUR.fit_constant(Y, np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
    np.testing.assert_allclose(softmax(value), np.array([1.0, 1.0, 2.0, 4.0]) / 8.0)
    np.testing.assert_allclose(variance, [8.0, 8.0, 4.0, 2.0])
    np.testing.assert_allclose(value.mean(), 0.0, atol=1e-15)


def test_samples_have_the_frequencies_of_the_softmax():
    a = np.broadcast_to(A[0], (20_000, 4))
    y = FOUR.sample(a, rng=np.random.default_rng(1))
    p = np.bincount(y, minlength=4) / 20_000
    np.testing.assert_allclose(p, softmax(A[0]), atol=0.02)


def test_it_is_a_value_of_at_least_two_classes():
    assert likelihoods.Categorical(4) == FOUR
    assert likelihoods.Categorical(4, "approximate") != FOUR
    assert FOUR.n_latents == 4
    assert FOUR.names == []
    FOUR.check(Y)
    with pytest.raises(ValueError, match="n_classes=1 must be at least 2"):
        likelihoods.Categorical(1)
    with pytest.raises(ValueError, match="averaging='no' must be one of"):
        likelihoods.Categorical(3, "no")
