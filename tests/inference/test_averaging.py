"""Points over which hyperparameters are averaged: a normal exactly, other densities nearly."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy import stats
from support import simulated_calibration
from support.for_each import for_each

from posterity import (
    BayesianLogisticRegression,
    GammaRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    distributions,
    kernels,
    likelihoods,
    optimize,
)
from posterity.inference import averaging
from posterity.inference.averaging import Hyperprior, PosteriorMixture, choose_points

rng = np.random.default_rng(0)


def points_of(objective, start, prior=None, limits=(-20.0, 20.0)):
    start = np.asarray(start, dtype=float)
    limits = np.array(np.broadcast_to(limits, (len(start), 2)))
    best = optimize.minimise_bfgs(objective, start)
    flat = Hyperprior(np.zeros(len(start)), np.zeros(len(start)))
    names = [f"p{i}" for i in range(len(start))]
    return choose_points(objective, best, limits=limits, names=names, prior=prior or flat)


@for_each("n", [1, 2, 3, 5, 16])
def test_the_design_has_the_first_three_moments_of_a_normal(n):
    Z, shares = averaging.make_design(n)
    assert np.sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(shares @ Z, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("k,ki,kj->ij", shares, Z, Z), np.eye(n), atol=1e-12)
    np.testing.assert_allclose(np.einsum("k,ki,kj,kl->ijl", shares, Z, Z, Z), 0.0, atol=1e-12)


def test_a_normal_posterior_is_met_exactly():
    A = np.array([[2.0, 0.6], [0.6, 0.5]])
    centre = np.array([1.0, -2.0])
    found = points_of(lambda x: (0.5 * (x - centre) @ A @ (x - centre), A @ (x - centre)), [0, 0])
    mean = found.weights @ found.theta
    np.testing.assert_allclose(mean, centre, atol=1e-3)
    d = found.theta - mean
    np.testing.assert_allclose((found.weights * d.T) @ d, np.linalg.inv(A), rtol=1e-3)


@for_each("n", [4, 8, 20])
def test_an_unknown_variance_makes_nearly_a_student_t(n):
    """The evidence of the log variance of n normal values of mean square one, and its Jeffreys."""
    found = points_of(lambda x: (0.5 * n * (x[0] + np.exp(-x[0])), 0.5 * n * (1 - np.exp(-x))), [1])
    normals = distributions.Normal(np.zeros(len(found.theta)), np.exp(0.5 * found.theta[:, 0]))
    mixture = distributions.Mixture(normals, np.log(found.weights))
    exact = stats.t(n)
    assert mixture.icdf(0.95) == pytest.approx(exact.ppf(0.95), rel=0.1)
    plug_in = abs(stats.norm.ppf(0.95) / exact.ppf(0.95) - 1.0)
    assert abs(mixture.icdf(0.95) / exact.ppf(0.95) - 1.0) < 0.5 * plug_in


def test_priors_are_half_cauchy_and_their_gradient_is_that_of_differences():
    prior = Hyperprior(np.array([0.5, -1.0, 0.0]), np.array([1.0, 0.5, 0.0]))
    penalized = prior.penalize(lambda x: (0.0, 0.0 * x))
    x = np.array([0.3, 2.0, 5.0])
    numeric = scipy_optimize.approx_fprime(x, lambda x: penalized(x)[0])
    np.testing.assert_allclose(penalized(x)[1], numeric, atol=1e-6)
    values = np.array([0.5, 2.0])  # of a parameter whose median is e^0.5
    log_density = [-penalized(np.array([np.log(v), 0.0, 0.0]))[0] - np.log(v) for v in values]
    exact = stats.halfcauchy(scale=np.exp(0.5)).logpdf(values)
    assert log_density[1] - log_density[0] == pytest.approx(exact[1] - exact[0])


def test_no_axis_is_longer_than_the_prior_is_wide():
    prior = Hyperprior.weak(np.zeros(2))
    flat = points_of(lambda x: (0.0, 0.0 * x), [0.1, 0.1], prior)
    assert np.max(np.abs(flat.theta)) < 2.0 * np.pi


def test_no_point_lies_beyond_the_limits():
    limits = np.array([[-9.0, 0.5], [-0.004, 0.004], [1.0, 1.0]])

    def bowl(x):
        assert np.all((limits[:, 0] <= x) & (x <= limits[:, 1])), x
        return 0.5 * float(x @ x), x

    flat = Hyperprior(np.zeros(3), np.zeros(3))
    best = optimize.Optimum(np.array([0.5, 0.0, 1.0]), 0.5, np.zeros(3), 0, "", True)
    found = choose_points(bowl, best, limits=limits, names=["a", "b", "c"], prior=flat)
    assert np.ptp(found.theta[:, 0]) > 1.0  # the curvature was found, a step inwards
    assert np.ptp(found.theta[:, 2]) == 0.0


def test_a_point_at_a_limit_weighs_what_the_density_there_is():
    """Half a normal: its mode is at the limit, and its mean 0.8 deviations away."""
    found = points_of(lambda x: (0.5 * float(x @ x), x), [-1.0], limits=(-20.0, 0.0))
    at_limit = found.weights[found.theta[:, 0] > -0.1].sum()
    assert at_limit == pytest.approx(2.0 / 3.0, abs=1e-3)
    clipped_too_much = -0.3
    assert found.weights @ found.theta[:, 0] < clipped_too_much


def test_a_decay_learned_up_to_its_bound_is_averaged():
    own = np.random.default_rng(2)

    def draw_tree(depth=0):
        if depth > 2 or own.uniform() < 0.35:
            return str(own.choice(list("NVS"))), str(own.choice(list("xy")))
        label = str(own.choice(list("NVS")))
        return (label, *[draw_tree(depth + 1) for _ in range(own.integers(1, 3))])

    rows = [draw_tree() for _ in range(20)]
    y = np.array([str(row).count("(") for row in rows]) + 0.3 * own.normal(size=20)
    model = GaussianProcessRegressor(kernels.Scaled(kernels.SubsetTree())).fit(rows, y)
    assert "kernel__decay (upper)" in model.at_bounds_  # no warning: there is no wider one
    assert isinstance(model.posterior_, PosteriorMixture)
    assert all(np.isfinite(model.predict(rows[:3])))


def process_rows(n=12, seed=3):
    own = np.random.default_rng(seed)
    X = own.uniform(0.0, 4.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * own.normal(size=n)


def averaged_process():
    X, y = process_rows()
    kernel = kernels.Scaled(kernels.RBF())
    return GaussianProcessRegressor(kernel, n_restarts=0).fit(X, y)


def test_predictions_are_the_mixture_of_those_at_the_points():
    model, X = averaged_process(), np.linspace(0.0, 5.0, 7)[:, None]
    mixture = model.posterior_
    assert isinstance(mixture, PosteriorMixture)
    assert np.sum(mixture.weights) == pytest.approx(1.0)
    y = np.linspace(-1.0, 1.0, 7)
    density = 0.0
    for part, weight in zip(mixture.parts, mixture.weights, strict=True):
        f, noise = part.latent(X), part.noise_variance
        center = model.target_center_[0]
        density += weight * stats.norm.pdf(
            y, f.mean[:, 0] + center, np.sqrt(f.variance[:, 0] + noise)
        )
    dist = model.predict_dist(X)
    np.testing.assert_allclose(np.exp(dist.log_prob(y)), density, rtol=1e-10)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, dist.mean(), atol=1e-12)
    np.testing.assert_allclose(std, dist.standard_deviation(), rtol=1e-10)
    joint = model.predict_joint(X)
    np.testing.assert_allclose(np.diagonal(joint.covariance), std**2, rtol=1e-10)
    draws = model.sample_functions(X, n_samples=4000, random_state=0)
    latent = model.predict_latent(X)
    np.testing.assert_allclose(draws.mean(axis=0), latent.mean(), atol=0.06)
    np.testing.assert_allclose(draws.std(axis=0), latent.standard_deviation(), rtol=0.1)


def test_further_rows_tell_for_and_against_the_points():
    model = averaged_process()
    before = model.posterior_
    X, y = process_rows(3, seed=4)
    model.partial_fit(X, y)
    after = model.posterior_
    gain = [b.log_evidence - a.log_evidence for a, b in zip(before.parts, after.parts, strict=True)]
    expected = before.weights * np.exp(gain)
    np.testing.assert_allclose(after.weights, expected / expected.sum())


def test_outputs_are_averaged_each_by_itself():
    X, y = process_rows()
    Y = np.column_stack([y, 100.0 * (X[:, 0] + np.random.default_rng(5).normal(size=12))])
    both = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), n_restarts=0).fit(X, Y)
    alone = averaged_process().predict_dist(X)
    np.testing.assert_allclose(both.predict_dist(X).mean()[:, 0], alone.mean(), rtol=1e-6)
    np.testing.assert_allclose(both.predict_dist(X).variance()[:, 0], alone.variance(), rtol=1e-6)
    assert both.sample_functions(X, 3, random_state=0).shape == (3, 12, 2)


def test_many_rows_and_given_parameters_are_not_averaged():
    X = rng.normal(size=(130, 1))
    model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), n_restarts=0, max_iter=3)
    with pytest.warns(optimize.ConvergenceWarning):
        model.fit(X, np.sin(X[:, 0]))
    assert not isinstance(model.posterior_, PosteriorMixture)
    held = GaussianProcessRegressor(kernels.RBF(1.0).fixed(), noise_variance=0.1)
    assert not isinstance(held.fit(X[:9], X[:9, 0]).posterior_, PosteriorMixture)


def test_an_unknown_choice_is_refused():
    with pytest.raises(ValueError, match="'average' or 'maximise'"):
        GaussianProcessRegressor(hyperparameters="mean").fit([[0.0], [1.0]], [0.0, 1.0])


def test_weights_have_the_moments_of_their_mixture():
    X = rng.normal(size=(15, 2))
    y = X[:, 0] + rng.normal(size=15) > 0.0
    model = BayesianLogisticRegression().fit(X, y)
    best = BayesianLogisticRegression(hyperparameters="maximise").fit(X, y)
    assert model.prior_variance_ == best.prior_variance_
    assert model.log_evidence_ == best.log_evidence_
    latent = model.predict_latent(X)
    np.testing.assert_allclose(latent.mean(), X @ model.coef_[0] + model.intercept_[0])
    assert np.mean(latent.standard_deviation()) > np.mean(
        best.predict_latent(X).standard_deviation()
    )


def test_learned_likelihoods_are_averaged_with_the_weights():
    X = rng.normal(size=(10, 1))
    y = rng.gamma(2.0, np.exp(X[:, 0]) / 2.0)
    wide, best = (GammaRegression(hyperparameters=h).fit(X, y) for h in ("average", "maximise"))
    lower, upper = wide.predict_interval(X, 0.9)
    low, high = best.predict_interval(X, 0.9)
    assert np.all(np.log(upper / lower) > np.log(high / low))
    process = GaussianProcessRegressor(
        kernels.Scaled(kernels.RBF()), likelihood=likelihoods.StudentT(), n_restarts=0
    ).fit(X, y)
    assert isinstance(process.predict_dist(X), distributions.Mixture)


def test_classes_of_few_rows_are_less_certain():
    X = np.linspace(-1.0, 1.0, 8)[:, None]
    y = X[:, 0] > 0.0
    p = [
        GaussianProcessClassifier(kernels.Scaled(kernels.RBF()), n_restarts=0, hyperparameters=h)
        .fit(X, y)
        .predict_proba([[0.9]])[0, 1]
        for h in ("average", "maximise")
    ]
    assert 0.5 < p[0] < p[1]


def simulate(own):
    """Seven noisy values of a draw of a process, and one new one."""
    X = own.uniform(-2.0, 2.0, size=(8, 1))
    kernel = np.exp(2.0 * own.normal()) * kernels.RBF(float(np.exp(0.5 * own.normal())))
    f = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(8)) @ own.normal(size=8)
    y = f + 0.3 * own.normal(size=8)
    return X[:7], y[:7], X[7:], y[7]


@pytest.mark.full
def test_predictions_of_processes_are_calibrated_where_rows_are_few():
    model = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), n_restarts=0)
    ranks = simulated_calibration.rank_new_targets(model.fit, simulate, 50)
    assert simulated_calibration.coverage(ranks) >= 0.82
    assert simulated_calibration.probability_of_uniform(ranks) > 0.01
