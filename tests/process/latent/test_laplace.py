"""Laplace's approximation against dense algebra, brute optimisation and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from latent_oracles import DenseLaplace, HeavyTailed, differences
from support.for_each import for_each
from support.latents import of_one

from posterity import kernels, likelihoods, linalg, optimize
from posterity.process import kernel_blocks
from posterity.process.exact import Evidence, Observations, ProcessPosterior
from posterity.process.latent import density, site_posterior, sites
from posterity.process.latent import laplace as process_mode
from posterity.process.latent.density import LatentDensity, LatentTargets
from posterity.process.latent.site_posterior import SiteEvidence, SitePosterior
from posterity.process.latent.sites import Sites

KERNEL = 3.0 * kernels.RBF([0.9, 1.4]) + kernels.White(0.2)
LIKELIHOODS = {
    "two classes": likelihoods.Bernoulli(),
    "normal": likelihoods.Normal(noise_variance=0.4),
    "outliers": HeavyTailed(scale=0.2),
}
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
each_offset = pytest.mark.parametrize("offset", [False, True], ids=["no offset", "offset"])


def data(likelihood, *, n=20, offset=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = (a + 0.3 * rng.normal(size=n) > 0).astype(float)
    if not isinstance(likelihood, likelihoods.Bernoulli):
        y = a + 0.2 * rng.normal(size=n)
        y[::5] += [6.0, -5.0, 7.0, -6.0]
    targets = LatentTargets.with_offset_prior(
        y, rng.uniform(0.5, 2.5, n), likelihood, offset=offset
    )
    return X, targets, rng.normal(size=(7, 2))


@pytest.fixture(params=["one block", "blocks"])
def blocked(request, monkeypatch):
    if request.param == "blocks":
        monkeypatch.setattr(kernel_blocks, "_CPU_ROWS", 6)
        monkeypatch.setattr(sites, "_PANEL", 7)
        monkeypatch.setattr(site_posterior, "_QUERY_VALUES", 45)


@each_likelihood
@each_offset
def test_it_is_what_dense_algebra_says(likelihood, offset, blocked):
    X, targets, queries = data(likelihood, offset=offset)
    posterior = SitePosterior.condition("laplace", KERNEL, likelihood, X, targets)
    # Of several modes that of the same valley.
    near = None if likelihood.log_concave else 1.01 * posterior.alpha
    dense = DenseLaplace(KERNEL, likelihood, X, targets, near)
    mean, covariance = dense.latent(queries)
    found_mean, found_variance = of_one(posterior.latent(queries))
    np.testing.assert_allclose(found_mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found_variance, np.diagonal(covariance), rtol=1e-6)
    np.testing.assert_allclose(
        posterior.joint(queries).covariance[0], covariance, rtol=1e-6, atol=1e-7
    )
    assert posterior.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    assert SiteEvidence("laplace", X, targets)(KERNEL, likelihood)[0] == posterior.log_evidence


@each_likelihood
@each_offset
def test_the_gradient_is_that_of_the_evidence(likelihood, offset, blocked):
    X, targets, _ = data(likelihood, offset=offset)
    P = len(KERNEL.theta)

    def value(theta):
        return SiteEvidence("laplace", X, targets)(
            KERNEL.with_theta(theta[:P]), likelihood.with_parameters(theta[P:])
        )[0]

    gradient = SiteEvidence("laplace", X, targets)(KERNEL, likelihood)[1]
    expected = differences(value, np.append(KERNEL.theta, likelihood.theta))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def test_some_outliers_curve_the_log_density_upwards():
    """Otherwise the tests above would not look at negative sites."""
    likelihood = LIKELIHOODS["outliers"]
    X, targets, _ = data(likelihood)
    posterior = SitePosterior.condition("laplace", KERNEL, likelihood, X, targets)
    assert posterior.sites.T.shape[1] >= 2
    assert np.sum(posterior.sites.T**2) > 0.1


@each_offset
def test_with_normal_noise_it_is_exact(offset):
    likelihood = likelihoods.Normal(noise_variance=0.4)
    X, targets, queries = data(likelihood, offset=offset)
    observations = Observations.from_targets(
        (targets.y - targets.shift)[:, None], weights=targets.weights
    )
    v = targets.offset_variance[0]
    total = KERNEL + kernels.Constant(v).fixed() if offset else KERNEL
    exact = ProcessPosterior.condition(total, 0.4, X, observations)
    found = SitePosterior.condition("laplace", KERNEL, likelihood, X, targets)
    mean, variance = of_one(exact.latent(queries))
    # The variance of the offset, beside which rows tell little, costs two digits.
    np.testing.assert_allclose(found.latent(queries).mean[:, 0], targets.shift + mean, rtol=1e-8)
    np.testing.assert_allclose(found.latent(queries).variance[:, 0], variance, rtol=1e-8)
    assert found.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
    np.testing.assert_allclose(
        SiteEvidence("laplace", X, targets)(KERNEL, likelihood)[1],
        Evidence(X, observations)(total, 0.4)[1],
        rtol=1e-9,
    )


def test_an_integer_weight_is_a_repeated_row():
    likelihood = likelihoods.Bernoulli()
    X, targets, queries = data(likelihood)
    kernel = 3.0 * kernels.RBF(1.0)
    counts = np.arange(len(X)) % 3 + 1
    weighted = replace(targets, weights=counts.astype(float))
    repeated = LatentTargets(
        np.repeat(targets.y, counts), np.ones(counts.sum()), targets.shift, targets.offset_variance
    )
    once = SitePosterior.condition("laplace", kernel, likelihood, X, weighted)
    often = SitePosterior.condition(
        "laplace", kernel, likelihood, np.repeat(X, counts, axis=0), repeated
    )
    assert once.log_evidence == pytest.approx(often.log_evidence, rel=1e-10)
    for mine, theirs in zip(
        of_one(once.latent(queries)), of_one(often.latent(queries)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8)
    value, gradient = SiteEvidence("laplace", X, weighted)(kernel, likelihood)
    expected = SiteEvidence("laplace", np.repeat(X, counts, axis=0), repeated)(kernel, likelihood)
    np.testing.assert_allclose(np.append(value, gradient), np.append(*expected), rtol=1e-8)


@for_each(
    "kernel",
    [
        kernels.Constant(2.0),
        1e-9 * kernels.RBF(1.0),
        1e7 * kernels.RBF(2.0),
        1e4 * kernels.RBF(1e-3),
        kernels.Linear(3.0),
    ],
    ids=str,
)
def test_extreme_kernels_have_a_mode_and_variances(kernel):
    likelihood = likelihoods.Bernoulli()
    X, targets, queries = data(likelihood)
    posterior = SitePosterior.condition("laplace", kernel, likelihood, X, targets)
    variance = posterior.latent(queries).variance[:, 0]
    total = sites.with_offset(kernel, targets)
    assert np.all((variance >= 0.0) & (variance <= total.diag(queries) * (1.0 + 1e-9)))
    at_rows = posterior.latent(X).mean[:, 0]
    slope = targets.weights * likelihood.d1(targets.y, at_rows)
    np.testing.assert_allclose(posterior.alpha, slope, rtol=1e-5, atol=1e-7)
    assert np.all(np.isfinite(SiteEvidence("laplace", X, targets)(kernel, likelihood)[1]))


def test_targets_that_are_next_to_certain_leave_a_finite_gradient():
    """Their curvature rounds to zero, and no variance can be read off it."""
    X, targets, _ = data(likelihoods.Bernoulli())
    sure = replace(targets, y=np.ones(len(X)), shift=np.array([800.0]))
    value, gradient = SiteEvidence("laplace", X, sure)(KERNEL, likelihoods.Bernoulli())
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_where_a_search_has_been_before_does_not_change_the_answer():
    likelihood = LIKELIHOODS["two classes"]
    X, targets, _ = data(likelihood)
    evidence = SiteEvidence("laplace", X, targets)
    for theta in ([2.0, 0.5, 0.5, -3.0], [7.0, -2.0, 3.0, 1.0], [-6.0, 0.0, 0.0, -9.0]):
        kernel = KERNEL.with_theta(np.array(theta))
        value, gradient = evidence(kernel, likelihood)
        cold_value, cold_gradient = SiteEvidence("laplace", X, targets)(kernel, likelihood)
        assert value == pytest.approx(cold_value, rel=1e-9)
        np.testing.assert_allclose(gradient, cold_gradient, rtol=1e-6, atol=1e-8)


@each_likelihood
def test_a_start_worse_than_the_prior_mean_is_not_used(likelihood):
    X, targets, _ = data(likelihood)
    evidence = SiteEvidence("laplace", X, targets)
    evidence._f = np.where(np.arange(len(X)) % 2, 700.0, -700.0)
    value, gradient = evidence(KERNEL, likelihood)
    cold_value, cold_gradient = SiteEvidence("laplace", X, targets)(KERNEL, likelihood)
    assert value == pytest.approx(cold_value, rel=1e-10)
    np.testing.assert_allclose(gradient, cold_gradient, rtol=1e-7, atol=1e-9)


def test_a_climb_begins_at_the_better_of_its_start_and_the_prior_mean():
    likelihood = LIKELIHOODS["two classes"]
    X, targets, _ = data(likelihood)
    K, memory = np.asfortranarray(1e4 * KERNEL(X)), np.empty((20, 20), order="F")
    climb = process_mode._Climb(LatentDensity(K, likelihood, targets), memory)
    mode = climb.climb(None)
    assert climb._begin(mode.f).point.value == pytest.approx(mode.log_density, rel=1e-9)
    assert not np.any(climb._begin(np.full(20, 700.0)).point.f)


@each_likelihood
def test_it_stops_where_rounding_is_all_that_is_left(likelihood, monkeypatch):
    monkeypatch.setattr(process_mode, "_CONVERGED", -1.0)
    X, targets, _ = data(likelihood)
    posterior = SitePosterior.condition("laplace", KERNEL, likelihood, X, targets)
    assert posterior.stop_reason == "no Newton step gains more than rounding"
    assert posterior.n_iter < 60


def test_a_row_where_the_curvature_changes_sign_has_an_exact_gradient():
    likelihood, kernel = HeavyTailed(scale=0.5), 0.5 * kernels.RBF(1.0)
    r = np.sqrt(3.0) * 0.5 * (1.0 - 1e-9)
    y = np.array([r + 0.5 * float(likelihood.d1(r, 0.0))])
    X, targets = np.zeros((1, 1)), LatentTargets(y, np.ones(1), np.zeros(1), np.zeros(1))

    def value(theta):
        at = kernel.with_theta(theta[:2]), likelihood.with_parameters(theta[2:])
        return SiteEvidence("laplace", X, targets)(*at)[0]

    expected = differences(value, np.append(kernel.theta, likelihood.theta))
    found = SiteEvidence("laplace", X, targets)(kernel, likelihood)[1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@for_each(
    ("likelihood", "y", "shift", "expected"),
    [
        (HeavyTailed(scale=0.5), np.sqrt(0.75) * (1.0 - 1e-12), 0.0, [0]),
        (HeavyTailed(scale=0.5), np.sqrt(0.75) * (1.0 + 1e-12), 0.0, [0]),
        (HeavyTailed(scale=0.5), 0.1, 0.0, []),
        (likelihoods.Bernoulli(), 1.0, 0.0, []),
        (likelihoods.Bernoulli(), 1.0, 40.0, []),
        (likelihoods.Bernoulli(), 1.0, 800.0, []),
    ],
)
def test_a_variance_is_divided_by_the_curvature_only_where_that_keeps_its_digits(
    likelihood, y, shift, expected
):
    """A curvature that is small with all its changes, of a class next to certain, does no harm."""
    targets = LatentTargets(np.array([y]), np.ones(1), np.array([shift]), np.zeros(1))
    K, f = np.ones((1, 1)), np.zeros(1)
    climb = process_mode._Climb(LatentDensity(K, likelihood, targets), K.copy())
    np.testing.assert_array_equal(climb._few(f, climb._curvature(f)), expected)


def test_a_warm_start_saves_factors(monkeypatch):
    likelihood = LIKELIHOODS["two classes"]
    X, targets, _ = data(likelihood)
    calls, factorise = [], Sites.factorise
    monkeypatch.setattr(Sites, "factorise", lambda *args: calls.append(1) or factorise(*args))
    evidence = SiteEvidence("laplace", X, targets)
    evidence(KERNEL, likelihood)
    cold = len(calls)
    evidence(KERNEL.with_theta(KERNEL.theta + 0.01), likelihood)
    assert len(calls) - cold == 2 < cold


def test_a_saddle_between_two_modes_is_left():
    """Two targets far apart at one place: the prior mean between them is stationary, and worst."""
    likelihood, kernel = HeavyTailed(scale=0.1), 100.0 * kernels.RBF(1.0)
    X = np.zeros((2, 1))
    targets = LatentTargets(np.array([-5.0, 5.0]), np.ones(2), np.zeros(1), np.zeros(1))
    posterior = SitePosterior.condition("laplace", kernel, likelihood, X, targets)
    mean, variance = of_one(posterior.latent(X[:1]))
    assert abs(mean[0]) == pytest.approx(5.0, abs=0.1)
    assert 0.0 < variance[0] < 0.1
    h = 1e-4

    def log_density(a):
        return np.sum(likelihood.log_prob(targets.y, a)) - a * a / 200.0

    up, here, down = (log_density(mean[0] + step) for step in (h, 0.0, -h))
    assert abs(up - down) / (2 * h) < 1e-5
    assert 1.0 / variance[0] == pytest.approx((2.0 * here - up - down) / h**2, rel=1e-5)


def test_where_nothing_is_higher_than_a_saddle_it_says_so(monkeypatch):
    monkeypatch.setattr(density, "_HALVINGS", 0)
    monkeypatch.setattr(process_mode, "_REACH", 0)
    targets = LatentTargets(np.array([-5.0, 5.0]), np.ones(2), np.zeros(1), np.zeros(1))
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not a maximum"):
        SitePosterior.condition(
            "laplace", 100.0 * kernels.RBF(1.0), HeavyTailed(scale=0.1), np.zeros((2, 1)), targets
        )


def test_steps_that_are_not_enough_warn(monkeypatch):
    monkeypatch.setattr(process_mode, "_FACTORS", 1)
    X, targets, _ = data(LIKELIHOODS["two classes"])
    with pytest.warns(optimize.ConvergenceWarning, match="did not reach the most probable"):
        SitePosterior.condition("laplace", KERNEL, LIKELIHOODS["two classes"], X, targets)


def test_a_posterior_says_how_it_was_found():
    X, targets, _ = data(LIKELIHOODS["two classes"])
    posterior = SitePosterior.condition("laplace", KERNEL, LIKELIHOODS["two classes"], X, targets)
    assert 3 <= posterior.n_iter < 30
    assert "promises to gain less" in posterior.stop_reason


def test_rows_that_do_not_fit_are_refused(monkeypatch):
    X, targets, _ = data(LIKELIHOODS["two classes"])
    monkeypatch.setattr("posterity.arrays.free_memory", lambda x: 2 * 8 * len(X) ** 2 - 1)
    with pytest.raises(MemoryError, match="20 rows and a factor"):
        SiteEvidence("laplace", X, targets)(KERNEL, LIKELIHOODS["two classes"])


def test_many_rows_have_the_mode_of_a_climb_from_the_prior_mean():
    X = np.linspace([-3.0, 0.0], [3.0, 1.0], 420)
    y = (np.sin(3.0 * X[:, 0]) > 0.3).astype(float)
    likelihood = LIKELIHOODS["two classes"]
    targets = LatentTargets.with_offset_prior(y, np.ones(420), likelihood, offset=False)
    K, memory = np.asfortranarray(9.0 * KERNEL(X)), np.zeros((420, 420), order="F")
    climb = process_mode._Climb(LatentDensity(K, likelihood, targets), memory)
    assert climb._begin(climb._guess()).point.value > climb._begin(None).point.value
    f = climb.climb(None).f
    np.testing.assert_allclose(
        process_mode.find_mode((K, memory), likelihood, targets).f, f, atol=1e-8
    )
    tau, nu = process_mode.approach((K, memory), likelihood, targets)
    np.testing.assert_allclose(np.linalg.solve(np.eye(420) + K * tau, K @ nu), f, atol=0.1)
