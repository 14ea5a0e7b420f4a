"""Sparse regressors under any likelihood: normal noise again, integrals, and refusals."""

import numpy as np
import pytest
from scipy import integrate, stats

from posterity import (
    RelevanceVectorRegressor,
    SparseLinearRegression,
    kernels,
    likelihoods,
    persistence,
)

KERNEL = kernels.RBF(1.0).fixed()


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, 0.5 + 0.8 * X[:, 1], rng


def draw(name, a, rng):
    """Targets of latent values, the likelihood, and log p(y | a)."""
    if name == "poisson":
        y = rng.poisson(np.exp(a)).astype(float)
        return y, likelihoods.Poisson(), lambda y, a: stats.poisson.logpmf(y, np.exp(a))
    if name == "gamma":
        y = rng.gamma(3.0, np.exp(a) / 3.0)
        return (
            y,
            likelihoods.Gamma(3.0),
            lambda y, a: stats.gamma.logpdf(y, 3.0, scale=np.exp(a) / 3.0),
        )
    y = a + 0.3 * rng.standard_t(4.0, len(a))
    return (
        y,
        likelihoods.StudentT(0.3, 4.0),
        lambda y, a: stats.t.logpdf(y, 4.0, loc=a, scale=0.3),
    )


each_likelihood = pytest.mark.parametrize("name", ["poisson", "gamma", "student"])


def integrated(log_joint, center, width):
    """log of the integral of exp(log_joint), and the average of a function under it."""
    peak = log_joint(center)
    low, high = center - 12.0 * width, center + 12.0 * width

    def average(f):
        return integrate.quad(
            lambda w: f(w) * np.exp(log_joint(w) - peak), low, high, points=[center], limit=200
        )[0]

    area = average(lambda w: 1.0)
    return peak + np.log(area), lambda f: average(f) / area


@each_likelihood
def test_one_weight_has_the_evidence_and_the_mean_of_quadrature(name):
    X, _, rng = rows()
    x = X[:, 1]
    y, likelihood, log_p = draw(name, 0.8 * x, rng)
    model = SparseLinearRegression(likelihood=likelihood, fit_intercept=False).fit(X[:, [1]], y)
    assert model.relevance_.tolist() == [0]
    h = model.precision_[0] * np.mean(x * x)  # precisions are of columns of unit mean square

    def log_joint(w):
        return float(np.sum(log_p(y, w * x)) + stats.norm.logpdf(w, 0.0, np.sqrt(1.0 / h)))

    width = float(np.sqrt(model.weight_distribution([0]).covariance[0, 0]))
    log_evidence, average = integrated(log_joint, float(model.coef_[0]), width)
    assert model.log_evidence_ == pytest.approx(log_evidence, abs=0.02)
    assert model.coef_[0] == pytest.approx(average(lambda w: w), abs=0.05 * width)
    at = model.predict([[0.7]])[0]
    mean = {"poisson": np.exp, "gamma": np.exp, "student": lambda a: a}[name]
    assert at == pytest.approx(average(lambda w: mean(0.7 * w)), rel=2e-3)


@each_likelihood
def test_a_vector_and_an_offset_have_the_posterior_of_a_grid(name):
    X, _, rng = rows(80)
    x = X[:, [0]]
    z = KERNEL(x, np.zeros((1, 1)))[:, 0]
    y, likelihood, log_p = draw(name, -0.5 + 2.0 * z, rng)
    model = RelevanceVectorRegressor(KERNEL, likelihood=likelihood, candidates=[[0.0]]).fit(x, y)
    assert model.relevance_.tolist() == [0]
    p = model.posterior_
    Z = (z - p.center[0]) / p.scale[0]
    shift, v0 = (
        float(p.fit.problem.targets.shift[0]),
        float(p.fit.problem.targets.offset_variance[0]),
    )
    W, S = p.fit.weights.W[:, 0], np.sqrt(np.diagonal(p.fit.packed_covariance))
    w, b = np.meshgrid(*(W[i] + S[i] * np.linspace(-7.0, 7.0, 121) for i in (0, 1)), indexing="ij")
    latent = shift + b[..., None] + w[..., None] * Z
    log_joint = np.sum(log_p(y, latent), axis=2)
    log_joint += stats.norm.logpdf(w, 0.0, model.precision_[0] ** -0.5)
    log_joint += stats.norm.logpdf(b, 0.0, np.sqrt(v0))
    share = np.exp(log_joint - log_joint.max())
    cell = (w[1, 0] - w[0, 0]) * (b[0, 1] - b[0, 0])
    log_evidence = log_joint.max() + np.log(share.sum() * cell)
    share /= share.sum()
    assert model.log_evidence_ == pytest.approx(log_evidence, abs=0.03)
    query = (KERNEL(np.full((1, 1), 0.5), np.zeros((1, 1)))[0, 0] - p.center[0]) / p.scale[0]
    a = shift + b + w * query
    f = model.predict_latent([[0.5]])
    exact = np.sum(share * a), np.sqrt(np.sum(share * a * a) - np.sum(share * a) ** 2)
    assert f.mean()[0] == pytest.approx(exact[0], abs=0.1 * exact[1])
    assert f.standard_deviation()[0] == pytest.approx(exact[1], rel=0.05)
    mean = a if name == "student" else np.exp(a)
    assert model.predict([[0.5]])[0] == pytest.approx(np.sum(share * mean), rel=5e-3)


def test_normal_noise_as_a_likelihood_is_normal_noise():
    X, a, rng = rows(100)
    y = a + 0.3 * rng.normal(size=100)
    for given, likelihood in ((None, likelihoods.Normal()), (0.09, likelihoods.Normal(0.09))):
        best = SparseLinearRegression(noise_variance=given, hyperparameters="maximise")
        one = best.fit(X, y)
        other = SparseLinearRegression(likelihood=likelihood).fit(X, y)
        assert one.relevance_.tolist() == other.relevance_.tolist()
        assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=0.05)
        for mine, theirs in zip(
            *(m.predict(X, return_std=True) for m in (one, other)), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=0.01, atol=0.01)
    x = X[:, [1]]
    one = RelevanceVectorRegressor(KERNEL, noise_variance=0.09).fit(x, y)
    other = RelevanceVectorRegressor(KERNEL, likelihood=likelihoods.Normal(0.09)).fit(x, y)
    np.testing.assert_allclose(other.predict(x), one.predict(x), atol=0.05)
    assert not hasattr(other, "noise_variance_")


def test_parameters_that_are_none_are_learned():
    X, a, rng = rows(300)
    model = SparseLinearRegression(likelihood=likelihoods.Gamma()).fit(
        X, rng.gamma(4.0, np.exp(a) / 4.0)
    )
    assert model.likelihood_.shape == pytest.approx(4.0, rel=0.3)
    assert 1 in model.relevance_
    assert model.noise_variance_ is None


def test_draws_have_the_mean_and_the_spread_of_the_latent_values():
    X, a, rng = rows(80)
    y = rng.poisson(np.exp(a)).astype(float)
    for model in (
        SparseLinearRegression(likelihood=likelihoods.Poisson()).fit(X, y),
        RelevanceVectorRegressor(KERNEL, likelihood=likelihoods.Poisson()).fit(X, y),
    ):
        f, draws = model.predict_latent(X[:4]), model.sample_functions(X[:4], 4000, 0)
        error = 5.0 * f.standard_deviation() / np.sqrt(4000.0)
        assert np.all(np.abs(draws.mean(axis=0) - f.mean()) < error)
        np.testing.assert_allclose(draws.std(axis=0), f.standard_deviation(), rtol=0.06)


def test_another_fit_forgets_the_likelihood():
    X, a, rng = rows()
    y = rng.poisson(np.exp(a)).astype(float)
    model = RelevanceVectorRegressor(KERNEL, likelihood=likelihoods.Poisson()).fit(X, y)
    assert not hasattr(model.set_params(likelihood=None).fit(X, y), "likelihood_")
    model = SparseLinearRegression(likelihood=likelihoods.Poisson()).fit(X, y)
    assert model.set_params(likelihood=None).fit(X, y).likelihood_ is None
    assert model.noise_variance_ > 0.0


def test_files_keep_the_likelihood(tmp_path):
    X, a, rng = rows()
    y = rng.poisson(np.exp(a)).astype(float)
    for cls in (SparseLinearRegression, RelevanceVectorRegressor):
        model = cls(likelihood=likelihoods.Poisson()).fit(X, y)
        persistence.save(model, tmp_path / "model")
        again = persistence.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("cls", [SparseLinearRegression, RelevanceVectorRegressor])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"likelihood": "poisson"}, "must be a likelihood of one latent value"),
        ({"likelihood": likelihoods.Categorical(3)}, "must be a likelihood of one latent value"),
        ({"noise_variance": 0.1}, "give it to the likelihood"),
        ({"inference": "exact"}, "inference='exact' must be one of"),
    ],
)
def test_what_does_not_go_together_is_refused(cls, wrong, sentence):
    X, a, rng = rows(30)
    y = rng.poisson(np.exp(a)) + 1.0
    with pytest.raises((TypeError, ValueError), match=sentence):
        cls(**{"likelihood": likelihoods.Poisson(), **wrong}).fit(X, y)


def test_what_only_normal_noise_has_is_refused():
    X, a, rng = rows(40)
    y = rng.poisson(np.exp(a)).astype(float)
    for cls in (SparseLinearRegression, RelevanceVectorRegressor):
        model = cls(likelihood=likelihoods.Poisson()).fit(X, y)
        with pytest.raises(TypeError, match="not jointly normal"):
            model.predict(X, return_cov=True)
        with pytest.raises(ValueError, match="no use"):
            model.predict_dist(X, noise_variance=1.0)
        with pytest.raises(ValueError, match="Poisson"):
            model.fit(X, y - 5.0)
    with pytest.raises(TypeError, match="fit all rows at once"):
        SparseLinearRegression(likelihood=likelihoods.Poisson()).partial_fit(X, y)
    with pytest.raises(ValueError, match="log-concave"):
        RelevanceVectorRegressor(likelihood=likelihoods.StudentT(), query_column=True).fit(X, y)
