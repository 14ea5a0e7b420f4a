"""Joint normals against scipy.stats and brute force."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import linalg
from posterity.distributions import MultivariateNormal, Normal

rng = np.random.default_rng(5)
A = rng.standard_normal((2, 6, 6))
C = A @ np.swapaxes(A, 1, 2) + np.eye(6)
M = rng.standard_normal((6, 2))
Y = rng.standard_normal((3, 6, 2))
BOTH = MultivariateNormal(M, C)


def test_log_density_and_entropy_agree_with_scipy():
    one = MultivariateNormal(M[:, 0], C[0])
    theirs = stats.multivariate_normal(M[:, 0], C[0])
    np.testing.assert_allclose(one.logpdf(Y[0, :, 0]), theirs.logpdf(Y[0, :, 0]), rtol=1e-10)
    np.testing.assert_allclose(one.logpdf(Y[..., 0]), theirs.logpdf(Y[..., 0]), rtol=1e-10)
    np.testing.assert_allclose(one.entropy(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(one.pdf(Y[..., 0]), theirs.pdf(Y[..., 0]), rtol=1e-10)
    assert one.logpdf(Y[0, :, 0]).shape == ()


def test_outputs_are_independent():
    for k in range(2):
        one = MultivariateNormal(M[:, k], C[k])
        np.testing.assert_allclose(BOTH.log_prob(Y)[..., k], one.log_prob(Y[..., k]), rtol=1e-12)
        np.testing.assert_allclose(BOTH.entropy()[k], one.entropy())
        np.testing.assert_allclose(BOTH.variance()[:, k], np.diag(C[k]))


def test_one_covariance_serves_all_outputs():
    shared, repeated = MultivariateNormal(M, C[0]), MultivariateNormal(M, C[[0, 0]])
    np.testing.assert_array_equal(shared.variance(), repeated.variance())
    np.testing.assert_array_equal(shared.logpdf(Y), repeated.logpdf(Y))
    np.testing.assert_array_equal(shared.entropy(), repeated.entropy())
    draws = [d.sample(2, rng=np.random.default_rng(0)) for d in (shared, repeated)]
    np.testing.assert_array_equal(*draws)


def test_draws_have_the_covariance():
    draws = BOTH.sample(40_000, rng=np.random.default_rng(0))
    for k in range(2):
        difference = np.cov(draws[..., k].T) - C[k]
        d = np.diag(C[k])
        error = np.sqrt((np.outer(d, d) + C[k] ** 2) / 40_000)
        assert np.all(np.abs(difference) < 5.0 * error)


def test_marginals_are_the_rows_alone():
    marginals = BOTH.marginals()
    assert isinstance(marginals, Normal)
    np.testing.assert_array_equal(marginals.mean(), M)
    np.testing.assert_allclose(marginals.variance(), BOTH.variance())


def test_rows_are_selected_with_their_covariance():
    part = BOTH[[4, 1]]
    np.testing.assert_array_equal(part.covariance, C[:, [[4, 4], [1, 1]], [[4, 1], [4, 1]]])
    assert BOTH[2:5].shape == (3, 2)
    with pytest.raises(TypeError, match=r"marginals\(\)"):
        BOTH[3]


def test_a_singular_covariance_can_be_drawn_from():
    v = np.array([[1.0], [2.0], [-1.0]])
    singular = MultivariateNormal([1.0, 2.0, 3.0], v @ v.T)
    draws = singular.sample(1000, rng=np.random.default_rng(0)) - singular.mean()
    np.testing.assert_allclose(draws, draws[:, :1] * v.T, atol=1e-6)
    np.testing.assert_allclose(draws[:, 0].std(), 1.0, atol=0.1)
    certain = MultivariateNormal([1.0, 2.0], np.zeros((2, 2)))
    np.testing.assert_array_equal(certain.sample(rng=np.random.default_rng(0)), [1.0, 2.0])


def test_a_negative_eigenvalue_is_named():
    indefinite = MultivariateNormal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"negative eigenvalue -1.00e\+00"):
        indefinite.sample(rng=np.random.default_rng(0))
    with pytest.raises(linalg.NotPositiveDefiniteError):
        indefinite.logpdf([0.0, 0.0])


def test_round_off_below_zero_is_no_variance():
    tiny = MultivariateNormal([0.0, 0.0], [[1.0, 0.0], [0.0, -1e-15]])
    np.testing.assert_array_equal(tiny.variance(), [1.0, 0.0])


@for_each(
    ("location", "covariance"),
    [
        (0.0, [[1.0]]),
        ([0.0], [1.0]),
        ([0.0, 0.0], np.eye(3)),
        (np.zeros((3, 2)), np.ones((3, 3, 3))),
    ],
)
def test_shapes_that_do_not_fit_are_refused(location, covariance):
    with pytest.raises(ValueError, match="location has shape"):
        MultivariateNormal(location, covariance)


def test_an_asymmetric_covariance_is_refused():
    asymmetric = np.eye(300)
    asymmetric[290, 3] = 0.5
    with pytest.raises(ValueError, match=r"not symmetric: 0 at \(3, 290\) but 0.5 at \(290, 3\)"):
        MultivariateNormal(np.zeros(300), asymmetric)
