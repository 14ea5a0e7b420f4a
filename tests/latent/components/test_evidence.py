"""The evidence of a number of axes: beside quadrature, in its units, and as a choice."""

import numpy as np
from scipy import stats
from scipy.special import hyp1f1, i0e, logsumexp
from support.for_each import for_each

from posterity.latent.components import principal, routes
from posterity.latent.components.principal import Spectrum
from posterity.latent.components.routes import MemorySource


def spectrum_of(X):
    route = routes.decompose_by_columns if len(X) > X.shape[1] else routes.decompose_by_rows
    return route(MemorySource(X), lambda spectrum: 0).spectrum


def rows(n, scales, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(len(scales), len(scales))))[0]
    return (rng.normal(size=(n, len(scales))) * scales) @ turn


def latent_rows(n, d, k, noise, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + noise * rng.normal(size=(n, d))


def log_likelihood(X, C):
    """With the mean, normal about that of the sample with covariance C, integrated out."""
    N = len(X)
    joint = np.kron(np.eye(N) + np.ones((N, N)), C)
    return stats.multivariate_normal(np.tile(X.mean(axis=0), N), joint).logpdf(X.ravel())


def log_likelihoods(S, N, precisions):
    """The same for rows of scatter S and many covariances with these precisions (..., 2, 2)."""
    D = len(S)
    log_det = np.log(np.linalg.det(precisions))
    trace = np.einsum("...ij,ji->...", precisions, S)
    return 0.5 * (N * log_det - trace - D * (N * np.log(2 * np.pi) + np.log1p(N)))


def log_prior(log_variance, scale):
    """Of the log of a variance under the scaled inverse chi-square of one degree of freedom."""
    return stats.invgamma(0.5, scale=0.5 * scale).logpdf(np.exp(log_variance)) + log_variance


def test_the_formula_of_the_oracle_is_that_of_the_joint_density():
    X, C = rows(6, [1.0, 2.0]), np.array([[2.0, 0.3], [0.3, 1.0]])
    S = 5 * np.cov(X.T)
    np.testing.assert_allclose(log_likelihoods(S, 6, np.linalg.inv(C)), log_likelihood(X, C))


@for_each("n", [3, 30, 300])
def test_no_axes_is_exact(n):
    X = rows(n, [1.0, 3.0], seed=n)
    S, scale = (n - 1) * np.cov(X.T), (n - 1) / n * np.cov(X.T).trace() / 2
    t = np.linspace(-25.0, 25.0, 20_001)
    values = log_likelihoods(S, n, np.exp(-t)[:, None, None] * np.eye(2)) + log_prior(t, scale)
    expected = logsumexp(values) + np.log(t[1] - t[0])
    np.testing.assert_allclose(spectrum_of(X).log_evidence(0), expected, rtol=1e-9)


@for_each(("n", "ratio", "error"), [(20, 3.0, 0.1), (200, 3.0, 0.02), (200, 1.1, 0.7)])
def test_one_axis_of_two_agrees_with_quadrature(n, ratio, error):
    """Over the angle and both variances in order; the last case has no clear axis at all."""
    X = rows(n, [ratio, 1.0], seed=1)
    S, scale = (n - 1) * np.cov(X.T), (n - 1) / n * np.cov(X.T).trace() / 2
    width = 12.0 / np.sqrt(n)
    centre = np.log(np.linalg.eigvalsh(S)[::-1] / n)
    a = np.linspace(centre[0] - width, centre[0] + width, 161)
    b = np.linspace(centre[1] - width, centre[1] + width, 161)
    angle = np.linspace(0.0, np.pi, 120, endpoint=False)
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    along, beyond = np.einsum("ai,ij,aj->a", u, S, u), S.trace()
    P, V = np.exp(-a)[:, None, None], np.exp(-b)[None, :, None]
    trace = P * along + V * (beyond - along)
    constant = -2 * (n * np.log(2 * np.pi) + np.log1p(n))
    values = 0.5 * (n * (np.log(P) + np.log(V)) - trace + constant)
    values = values + (log_prior(a, scale)[:, None] + log_prior(b, scale)[None, :])[..., None]
    ordered = np.where((a[:, None] > b[None, :])[..., None], values, -np.inf)
    cell = (a[1] - a[0]) * (b[1] - b[0]) / len(angle)  # the angle is uniform
    expected = np.log(2.0) + logsumexp(ordered) + np.log(cell)
    np.testing.assert_allclose(spectrum_of(X).log_evidence(1), expected, atol=error, rtol=0)


@for_each("a", [0.0, 0.1, 1.0, 5.0, 30.0, 1e4])
def test_the_mean_over_a_circle_is_a_bessel_function(a):
    found, _ = principal._log_sphere(np.array([a]), np.ones(1), 2.0, 0.5)
    np.testing.assert_allclose(found, np.log(i0e(a / 2)), atol=0.03)


@for_each("p", [3, 10, 50])
@for_each("a", [0.0, 0.3, 3.0, 30.0, 300.0])
def test_the_mean_over_a_sphere_is_a_hypergeometric_function(p, a):
    found, _ = principal._log_sphere(np.array([a]), np.array([p - 1.0]), float(p), 0.5)
    singly, _ = principal._log_sphere(np.full(p - 1, a), np.ones(p - 1), float(p), 7.0)
    expected = np.log(hyp1f1(0.5, p / 2, a)) - a
    np.testing.assert_allclose(found, expected, atol=0.1)
    np.testing.assert_allclose(singly, found, rtol=1e-6, atol=1e-9)


def test_unlike_weights_on_a_sphere_agree_with_sampling():
    a = np.array([0.5, 2.0, 4.0, 9.0])
    u = np.random.default_rng(0).normal(size=(400_000, 5))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    expected = np.log(np.mean(np.exp(-(u[:, 1:] ** 2) @ a)))
    found, _ = principal._log_sphere(a, np.ones(4), 5.0, 0.5)
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_a_product_of_many_large_factors_does_not_overflow():
    a = np.full(1000, 1e8)
    np.testing.assert_allclose(
        principal._log_product(a, np.ones(1000), 1.0), 1000 * np.log(1e8 + 1)
    )


@for_each("shape", [(50, 4), (5, 30)])
def test_units_of_the_rows_are_units_of_the_evidence(shape):
    X, c = rows(shape[0], np.geomspace(3.0, 0.5, shape[1])), 12.7
    a, b = spectrum_of(X).log_evidences, spectrum_of(c * X + 5.0).log_evidences
    np.testing.assert_allclose(b, a - X.size * np.log(c), rtol=1e-10)


def test_all_axes_are_one_model_with_all_but_one():
    found = spectrum_of(rows(50, [3.0, 2.0, 1.0])).log_evidences
    assert found.shape == (4,)
    np.testing.assert_allclose(found[3], found[2], rtol=1e-12)


def test_equal_variances_do_not_let_the_evidence_diverge():
    """Minka's expansion of the frames has a term -log(l_i - l_j) / 2."""
    equal = Spectrum(np.array([2.0, 2.0, 1.0, 1.0]), 0.0, 40.0, 4).log_evidences
    apart = Spectrum(np.array([2.1, 1.9, 1.1, 0.9]), 0.0, 40.0, 4).log_evidences
    assert np.all(np.isfinite(equal))
    np.testing.assert_allclose(equal, apart, atol=2.0)


def test_one_number_alone_is_that_of_the_table():
    spectrum = spectrum_of(latent_rows(60, 12, 3, 0.5, 0))
    table = spectrum.log_evidences
    np.testing.assert_allclose([spectrum.log_evidence(k) for k in range(13)], table, rtol=1e-9)


@for_each(("n", "d", "k"), [(100, 10, 3), (1000, 10, 3), (30, 60, 3), (200, 100, 5), (300, 20, 0)])
def test_the_number_of_axes_that_made_the_rows_is_found(n, d, k):
    for seed in range(5):
        spectrum = spectrum_of(latent_rows(n, d, k, 0.5, seed))
        assert int(np.argmax(spectrum.log_evidences)) == k


def test_variances_that_are_not_known_count_as_equal():
    known = np.array([5.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    whole = Spectrum(known, 0.0, 80.0, 6)
    cut = Spectrum(known[:2], 4.0, 80.0, 6)
    np.testing.assert_allclose(cut.log_evidences, whole.log_evidences[:3], rtol=1e-12)


def test_zeros_beyond_few_rows_count_like_zeros_that_are_listed():
    known = np.array([5.0, 3.0, 1.0])
    listed = Spectrum(np.concatenate([known, np.zeros(7)]), 0.0, 4.0, 10)
    short = Spectrum(known, 0.0, 4.0, 10)
    np.testing.assert_allclose(short.log_evidences, listed.log_evidences[:4], rtol=1e-12)


def test_rows_that_are_all_alike_are_infinitely_likely():
    assert np.all(np.isposinf(Spectrum(np.zeros(3), 0.0, 5.0, 3).log_evidences))
