"""The sparse prior as a mixture of normals, and what its hidden precisions cost."""

import fixed_point_models
import numpy as np
import pytest
from scipy import integrate, stats
from support.for_each import for_each

from posterity import priors

W = np.array([-7.0, -0.02, 0.0, 0.4, 3.0])
H = np.array([1e-3, 0.2, 1.0, 4.0, 50.0])


@for_each("nu", [0.5, 1.0, 3.0, 40.0])
@for_each("w", W)
def test_the_mixture_of_normals_over_the_hidden_precision_is_the_density(nu, w):
    """[P8 8.33], by quadrature in log h."""

    def mixed(log_h):
        h = np.exp(log_h)
        return (
            stats.norm.pdf(w, 0.0, 1.0 / np.sqrt(h)) * stats.gamma.pdf(h, nu / 2, scale=2 / nu) * h
        )

    total = integrate.quad(mixed, -60.0, 12.0, limit=400, points=[-3.0, 0.0, 3.0], epsabs=1e-13)[0]
    assert np.exp(priors.Sparse(nu).log_prob(w)) == pytest.approx(total, rel=1e-8)


@for_each("nu", [0.5, 3.0])
def test_the_penalty_is_the_density_of_log_h_less_its_largest_value(nu):
    log_density = stats.gamma.logpdf(H, nu / 2, scale=2 / nu) + np.log(H)
    at_one = stats.gamma.logpdf(1.0, nu / 2, scale=2 / nu)
    np.testing.assert_allclose(priors.Sparse(nu).penalty(H), log_density - at_one, atol=1e-12)
    assert np.all(priors.Sparse(nu).penalty(H) <= 0.0)


@for_each("nu", [0.0, 2.0])
def test_a_weight_that_is_out_costs_nothing(nu):
    np.testing.assert_array_equal(priors.Sparse(nu).penalty([np.inf, 1.0, np.inf]), 0.0)


def test_no_degrees_of_freedom_cost_nothing_anywhere():
    np.testing.assert_array_equal(priors.Sparse().penalty([0.0, 1e-300, 1e300]), 0.0)


def test_few_degrees_of_freedom_tend_to_the_limit():
    """Up to the constant, which the limit does not have."""
    w, nu = np.array([0.3, 1.0, 20.0]), 1e-7
    near, limit = priors.Sparse(nu), priors.Sparse()
    np.testing.assert_allclose(np.diff(near.log_prob(w)), np.diff(limit.log_prob(w)), rtol=1e-5)


def test_the_spike_at_zero():
    assert priors.Sparse().log_prob(0.0) == np.inf


@for_each("nu", [0.0, 0.7])
def test_the_update_is_the_textbooks(nu):
    g, mu2 = np.array([0.2, 0.9]), np.array([3.0, 0.5])
    np.testing.assert_allclose(
        fixed_point_models.update_precisions(priors.Sparse(nu), g, mu2),
        (g + nu) / (mu2 + nu),
        rtol=1e-15,
    )


def test_an_update_of_a_mean_that_is_zero_drops_the_weight_or_keeps_the_prior():
    np.testing.assert_array_equal(
        fixed_point_models.update_precisions(priors.Sparse(), [0.0, 0.5], 0.0), np.inf
    )
    np.testing.assert_allclose(
        fixed_point_models.update_precisions(priors.Sparse(2.0), [0.0, 0.5], 0.0), [1.0, 1.25]
    )


@for_each("bad", [-1.0, np.nan, np.inf, [1.0, 2.0]])
def test_impossible_degrees_of_freedom_are_refused(bad):
    with pytest.raises(ValueError, match="degrees_of_freedom must be one number"):
        priors.Sparse(bad)
