"""Theorems of the sparse family: two ways up one objective, and models that are the same."""

import numpy as np
import pytest
import sparse_support
from fixed_point_models import NormalObjective
from sklearn.linear_model import ARDRegression
from support.for_each import for_each

from posterity import BayesianLinearRegression, designs, likelihoods, priors
from posterity.inference.weights.targets import RowTargets

TIGHT = {"tol": 1e-10, "max_iter": 20_000}
WAYS = {
    "sequential": sparse_support.select_normal,
    "alternating": sparse_support.alternate_normal,
}


def candidates(X, *, centred=True):
    return designs.CandidateColumns.from_columns(designs.MatrixColumnSource(X), centred=centred)


def independent(n=80, m=10, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    w = np.zeros((m, n_outputs))
    w[[2, 6, 7]] = 1.0 + rng.normal(size=(3, n_outputs))
    return X, X @ w + 0.3 * rng.normal(size=(n, n_outputs))


def nearly_orthogonal(n=64, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, 20)))[0] + 0.02 * rng.normal(size=(n, 20))
    return Q, 5.0 * Q[:, [0]] - 3.0 * Q[:, [3]] + 0.2 * rng.normal(size=(n, 1))


def sinc(n=100, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10.0, 10.0, n)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.5**2)
    return K, (np.sinc(x / np.pi) + 0.1 * rng.normal(size=n))[:, None]


def latent(n=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    return X, 2.0 * X[:, 0] - 1.5 * X[:, 3], rng


SETS = {
    "independent columns": independent,
    "three outputs": lambda seed: independent(n_outputs=3, seed=seed),
    "nearly orthogonal columns": lambda seed: nearly_orthogonal(seed=seed),
}


@for_each("name", SETS)
@for_each("noise", ["learned", "known"])
@for_each("seed", range(3))
def test_both_ways_lead_to_the_same_columns_where_columns_are_unlike(name, noise, seed):
    X, Y = SETS[name](seed=seed)
    given = None if noise == "learned" else np.full(Y.shape[1], 0.05)
    one, other = (
        way(candidates(X), Y, centred=True, noise_variance=given, prior=priors.Sparse(), **TIGHT)
        for way in WAYS.values()
    )
    assert one.value == pytest.approx(other.value, rel=1e-6)
    assert set(one.places) == set(other.places)


@for_each("seed", range(4))
def test_where_columns_are_alike_an_end_of_one_way_is_an_end_of_the_other(seed):
    """Columns of smooth kernels: there are many local maxima, and no way is always the better."""
    K, Y = sinc(seed=seed)
    prior, source = priors.Sparse(), candidates(K)
    choices = {"centred": True, "prior": prior}
    alternated = sparse_support.alternate_normal(source, Y, **choices, **TIGHT)
    further = sparse_support.select_normal(
        source, Y, start=alternated, reheats=0, tol=1e-7, **choices
    )
    assert further.value == pytest.approx(alternated.value, rel=1e-6)
    stepped = sparse_support.select_normal(source, Y, **choices, **TIGHT)
    Z = source.take_columns(np.arange(len(K))).copy_to_host()
    model = NormalObjective.from_columns(Z, Y, None, centred=True, noise_variance=None, prior=prior)
    h = np.full(len(K), np.inf)
    h[stepped.places] = stepped.precision
    state = model.evaluate_at(h, None)
    assert state.value == pytest.approx(stepped.value, rel=1e-9)
    told, step = state.told[stepped.places], state.step[stepped.places]
    slope = 0.5 * told * -np.expm1(-step)  # of the objective in log h
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)
    assert np.all(state.worth > 0.0)
    s, u = model.offers_of_excluded(state)
    out = s > 0.0
    assert np.all(u[out] <= s[out] * (1.0 + 1e-3))


@for_each("seed", range(3))
def test_both_ways_lead_to_the_same_columns_for_any_likelihood(seed):
    X, a, rng = latent(seed=seed)
    for y, likelihood in (
        (rng.uniform(size=100) < 1.0 / (1.0 + np.exp(-a)), likelihoods.Bernoulli()),
        (rng.poisson(np.exp(0.5 * a)), likelihoods.Poisson()),
        (a + 0.3 * rng.standard_t(3.0, 100), likelihoods.StudentT(3.0, 0.3)),
    ):
        targets = RowTargets.from_observations(y.astype(float), None, likelihood, offset=True)
        choices = {"offset": True, "prior": priors.Sparse(), "tol": 1e-7}
        one, _ = sparse_support.select_laplace(candidates(X), targets, **choices)
        other, _ = sparse_support.alternate_laplace(candidates(X), targets, **choices)
        assert one.value == pytest.approx(other.value, rel=1e-6)
        assert set(one.places) == set(other.places)


def test_both_ways_lead_to_the_same_columns_for_three_classes():
    X, a, rng = latent()
    scores = np.column_stack([a, 2.0 * X[:, 1], np.zeros(100)])
    y = np.argmax(scores + rng.gumbel(size=(100, 3)), axis=1)
    targets = RowTargets.from_observations(y, None, likelihoods.Categorical(3), offset=True)
    choices = {"offset": True, "prior": priors.Sparse(), "tol": 1e-7}
    one, _ = sparse_support.select_softmax(candidates(X), targets, **choices)
    other, _ = sparse_support.alternate_laplace(candidates(X), targets, **choices)
    assert one.value == pytest.approx(other.value, rel=1e-5)
    assert set(one.places) == set(other.places)


@for_each("way", ["sequential", "alternating"])
def test_softmax_of_two_classes_is_logistic(way):
    """The one contrast of two classes is the logistic's latent value by the square root of two."""
    X, a, rng = latent()
    y = (rng.uniform(size=100) < 1.0 / (1.0 + np.exp(-a))).astype(int)
    choices = {"offset": True, "prior": priors.Sparse(), "tol": 1e-8}
    found = {}
    for likelihood in (likelihoods.Bernoulli(), likelihoods.Categorical(2)):
        is_logistic = isinstance(likelihood, likelihoods.Bernoulli)
        select = {
            "sequential": sparse_support.select_laplace
            if is_logistic
            else sparse_support.select_softmax,
            "alternating": sparse_support.alternate_laplace,
        }[way]
        targets = RowTargets.from_observations(y, None, likelihood, offset=True)
        found[type(likelihood)] = select(candidates(X), targets, **choices)[0]
    logistic, softmax = found[likelihoods.Bernoulli], found[likelihoods.Categorical]
    assert softmax.value == pytest.approx(logistic.value, rel=1e-6)
    order = np.argsort(logistic.places), np.argsort(softmax.places)
    np.testing.assert_array_equal(logistic.places[order[0]], softmax.places[order[1]])
    np.testing.assert_allclose(
        2.0 * logistic.precision[order[0]], softmax.precision[order[1]], rtol=0.02
    )


@for_each("way", WAYS)
@for_each("nu", [0.0, 0.5])
def test_laplace_with_normal_noise_is_the_model_of_known_noise(way, nu):
    """In units of the noise, precisions are those of the weights themselves."""
    X, Y = independent()
    prior = priors.Sparse(nu)
    direct = WAYS[way](
        candidates(X, centred=False),
        Y / 0.3,
        centred=False,
        noise_variance=np.ones(1),
        prior=prior,
        **TIGHT,
    )
    targets = RowTargets.from_observations(
        Y[:, 0] / 0.3, None, likelihoods.Normal(1.0), offset=False
    )
    engines = {
        "sequential": sparse_support.select_laplace,
        "alternating": sparse_support.alternate_laplace,
    }
    laplace, fit = engines[way](
        candidates(X, centred=False), targets, offset=False, prior=prior, tol=1e-8
    )
    assert set(laplace.places) == set(direct.places)
    assert laplace.value == pytest.approx(direct.value, rel=1e-7)
    assert fit.weights.W.shape == (len(direct.places), 1)


@for_each("way", WAYS)
def test_very_many_degrees_of_freedom_are_a_normal_prior(way):
    """All hidden precisions are one: weights of the variance of the noise."""
    X, Y = independent()
    Z = X[:, [2, 6, 7]] / np.sqrt(np.mean(X[:, [2, 6, 7]] ** 2, axis=0))
    found = WAYS[way](
        candidates(Z, centred=False),
        Y,
        centred=False,
        noise_variance=np.array([0.09]),
        prior=priors.Sparse(1e9),
    )
    np.testing.assert_array_equal(np.sort(found.places), [0, 1, 2])
    np.testing.assert_allclose(found.precision, 1.0, rtol=1e-5)
    normal = BayesianLinearRegression(
        prior_variance=0.09, noise_variance=0.09, fit_intercept=False, standardize=False
    )
    assert found.value == pytest.approx(normal.fit(Z, Y[:, 0]).log_evidence_, rel=1e-6)


@for_each("way", WAYS)
def test_an_independent_alternation_ends_at_the_same_weights(way):
    X, Y = independent()
    found = WAYS[way](
        candidates(X, centred=False), Y, centred=False, prior=priors.Sparse(), **TIGHT
    )
    theirs = ARDRegression(
        max_iter=3000,
        tol=1e-12,
        alpha_1=0.0,
        alpha_2=0.0,
        lambda_1=0.0,
        lambda_2=0.0,
        threshold_lambda=1e7,
        fit_intercept=False,
    ).fit(X, Y[:, 0])
    Z, h = X[:, found.places] / found.scale, found.precision
    mu = np.linalg.solve(Z.T @ Z + np.diag(h), Z.T @ Y[:, 0])
    noise = (Y[:, 0] @ Y[:, 0] - Y[:, 0] @ (Z @ mu)) / len(X)
    ours = np.zeros(X.shape[1])
    ours[found.places] = mu / found.scale
    np.testing.assert_allclose(ours, theirs.coef_, atol=1e-4)
    assert noise == pytest.approx(1.0 / theirs.alpha_, rel=1e-3)
