"""What is foreseen of other prior variances is what fits at them find."""

import numpy as np
import pytest

from posterity import designs, likelihoods
from posterity.inference.weights import laplace, laplace_search
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets


def problem(likelihood, y, Z, variance=1.0):
    targets = RowTargets.from_observations(y, None, likelihood, offset=True)
    columns = designs.Standardized.from_design(designs.Dense(Z), offset=True)
    prior = WeightPrior(1.0 / variance, columns.n_columns, targets.offset_precision)
    return WeightProblem(columns, targets, prior)


def other(p, variance):
    return WeightPrior(1.0 / variance, p.prior.n_columns, p.prior.offset_precision)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_under_normal_noise_nothing_is_left_out(rng):
    """The log likelihood is a quadratic: what is foreseen is exact, however far away."""
    Z = rng.standard_normal((60, 4))
    p = problem(likelihoods.Normal(0.5), Z @ [1.0, -2.0, 0.0, 0.3] + rng.normal(size=60), Z)
    seen = laplace.QuadraticApproximation(LaplaceFit.from_problem(p))
    for variance in (1e-4, 0.3, 1e4):
        prior = other(p, variance)
        fit = LaplaceFit.from_problem(WeightProblem(p.design, p.targets, prior))
        np.testing.assert_allclose(seen.predict_mode(prior), fit.weights.W, rtol=1e-9, atol=1e-12)
        assert seen.predict_log_evidence(prior) == pytest.approx(fit.log_evidence, rel=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_many_rows_are_foreseen_closely(n_classes, rng):
    Z = rng.standard_normal((4000, 3))
    A = Z @ rng.standard_normal((3, n_classes)) + rng.gumbel(size=(4000, n_classes))
    y = np.argmax(A, axis=1).astype(float)
    kinds = (likelihoods.Bernoulli(), likelihoods.Categorical(3))
    p = problem(kinds[n_classes - 2], y, Z)
    seen = laplace.QuadraticApproximation(LaplaceFit.from_problem(p))
    prior = other(p, 0.2)
    fit = LaplaceFit.from_problem(WeightProblem(p.design, p.targets, prior))
    assert seen.predict_log_evidence(prior) == pytest.approx(fit.log_evidence, abs=0.1)
    deviation = np.sqrt(np.einsum("mjmj->mj", fit.covariance))
    np.testing.assert_array_less(np.abs(seen.predict_mode(prior) - fit.weights.W), 0.1 * deviation)


def test_a_parabola_goes_through_its_points():
    x, values = np.array([3.0, 1.0, -0.5]), [0.2, 1.1, -0.7]
    a, b, _ = np.polyfit(x, values, 2)
    np.testing.assert_allclose(laplace.fit_parabola(x, values), (-b / (2.0 * a), -2.0 * a))


def test_the_search_ends_where_a_scan_does(rng, monkeypatch):
    Z = rng.standard_normal((1500, 5))
    y = (Z @ [1.0, -0.5, 0.2, 0.0, 0.0] + rng.logistic(size=1500) > 0.0).astype(float)
    p = problem(likelihoods.Bernoulli(), y, Z)
    search = laplace_search.LaplaceSearch(
        p.design, p.targets, None, np.empty((0, 2)), True, p.design.square_length
    )
    ahead = laplace_search.maximise_laplace_evidence(search)
    monkeypatch.setattr(laplace, "_ENOUGH", np.inf)
    scanned = laplace_search.maximise_laplace_evidence(search)
    assert ahead.fit.log_evidence == pytest.approx(scanned.fit.log_evidence, abs=1e-6)
    assert ahead.prior_variance == pytest.approx(scanned.prior_variance, rel=1e-3)
    assert ahead.optimum.n_iter < scanned.optimum.n_iter


def test_weights_that_explain_nothing_end_at_the_bound(rng):
    """Where the evidence only falls with the variance, there is a bound and no error."""
    Z = rng.standard_normal((2000, 2))
    y = rng.integers(0, 2, 2000).astype(float)
    Z -= np.linalg.lstsq(np.ones((2000, 1)), Z, rcond=None)[0]
    p = problem(likelihoods.Bernoulli(), y, Z)
    search = laplace_search.LaplaceSearch(
        p.design, p.targets, None, np.empty((0, 2)), True, p.design.square_length
    )
    found = laplace_search.maximise_laplace_evidence(search)
    assert found.prior_variance < 1e-2
    assert np.isfinite(found.fit.log_evidence)
