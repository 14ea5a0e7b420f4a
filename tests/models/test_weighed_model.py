"""Beliefs about weights are those that predictions average over, and those of the textbook."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    DualLinearRegression,
    DualLogisticRegression,
    GeneralizedLinearRegression,
    LogisticRegression,
    RidgeRegression,
    RobustRegression,
    SparseLinearRegression,
    SparseLogisticRegression,
    features,
    kernels,
    likelihoods,
)

CENTER, SPREAD = np.array([5.0, 100.0, 0.0]), np.array([1.0, 20.0, 0.1])


def rows(n=40, *, seed=0):
    rng = np.random.default_rng(seed)
    X = CENTER + SPREAD * rng.normal(size=(n, 3))
    return X, (X - CENTER) @ [1.0, 0.1, -8.0] + 2.0 + rng.normal(size=n)


X, Y = rows()
TWO = np.where(Y > 2.0, "high", "low")
THREE = np.digitize(Y, [1.0, 3.0])


def prior_in_units(m, spread, tau2, offset_mean, offset_variance):
    """Mean and covariance of offset and weights, from weights of scaled and centred columns."""
    T = np.eye(len(m) + 1)
    T[0, 1:] = -m
    C = T @ np.diag(np.append(offset_variance, tau2 / spread**2)) @ T.T
    return np.append(offset_mean, np.zeros(len(m))), C


def bayes(prior, curvature, Z, target):
    """Normal prior times rows of the given curvature, by the textbook's inverses. [P8 8.9]"""
    mean, C = prior
    precision = np.linalg.inv(C) + Z.T @ (curvature[:, None] * Z)
    slope = np.linalg.solve(C, mean) + Z.T @ (curvature * target)
    return np.linalg.solve(precision, slope), np.linalg.inv(precision)


def assert_is(belief, mean, covariance, rtol=1e-6):
    size = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(belief.mean(), mean, rtol=rtol, atol=rtol * size.max())
    np.testing.assert_allclose(
        belief.covariance / np.outer(size, size), covariance / np.outer(size, size), atol=rtol
    )


@for_each("standardize", [True, False])
@for_each("n", [40, 3])
def test_prior_and_posterior_of_a_normal_model_are_those_of_the_textbook(standardize, n):
    some, y = X[:n], Y[:n]
    model = BayesianLinearRegression(
        prior_variance=2.0, noise_variance=0.7, standardize=standardize
    ).fit(some, y)
    spread = some.std(axis=0) if standardize else np.ones(3)
    prior = prior_in_units(some.mean(axis=0), spread, 2.0, y.mean(), y.var())
    assert_is(model.weight_distribution(prior=True), *prior)
    Z = np.column_stack([np.ones(n), some])
    assert_is(model.weight_distribution(), *bayes(prior, np.full(n, 1.0 / 0.7), Z, y))


def test_an_offset_with_a_penalty_has_the_prior_of_a_weight():
    model = RidgeRegression(
        0.5, penalize_intercept=True, standardize=False, hyperparameters="maximise"
    ).fit(X, Y)
    sigma2 = model.noise_variance_
    prior = np.zeros(4), sigma2 / 0.5 * np.eye(4)
    assert_is(model.weight_distribution(prior=True), *prior)
    Z = np.column_stack([np.ones(len(X)), X])
    assert_is(model.weight_distribution(), *bayes(prior, np.full(len(X), 1.0 / sigma2), Z, Y))


def test_weights_of_a_sparse_model_have_a_prior_each_and_those_left_out_are_zero():
    model = SparseLinearRegression(hyperparameters="maximise").fit(
        np.column_stack([X, X[::-1, 0]]), Y
    )
    m, kept = X.mean(axis=0), model.relevance_
    assert kept.tolist() == [0, 1, 2]
    tau2 = model.noise_variance_ / model.precision_
    expected = prior_in_units(m, X.std(axis=0), tau2, Y.mean(), Y.var())
    places = ("intercept", 0, 1, 2)
    prior = model.weight_distribution(places, prior=True)
    assert_is(prior, *expected)
    sigma2 = np.full(len(X), model.noise_variance_)
    Z = np.column_stack([np.ones(len(X)), X])
    assert_is(model.weight_distribution(places), *bayes(expected, 1.0 / sigma2, Z, Y))
    out = model.weight_distribution([3])
    assert (out.mean(), out.variance()) == (0.0, 0.0)


def test_of_two_classes_laplace_has_the_normal_at_the_mode():
    model = BayesianLogisticRegression(prior_variance=3.0, inference="laplace").fit(X, TWO)
    p = np.mean(TWO == "low")
    prior = prior_in_units(X.mean(axis=0), X.std(axis=0), 3.0, logit(p), 1.0 / (p * (1.0 - p)))
    assert_is(model.weight_distribution(prior=True), *prior)
    Z = np.column_stack([np.ones(len(X)), X])
    mode = np.append(model.intercept_, model.coef_)
    mu = expit(Z @ mode)
    h = mu * (1.0 - mu)
    target = Z @ mode + ((TWO == "low") - mu) / h  # one step of Newton's method stays at a mode
    assert_is(model.weight_distribution(output="low"), *bayes(prior, h, Z, target), rtol=1e-5)


def test_of_counts_it_is_the_normal_at_the_mode():
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * (Y - 2.0)))
    model = GeneralizedLinearRegression(
        likelihoods.Poisson(), prior_variance=1.0, inference="laplace"
    ).fit(X, counts)
    value, variance = likelihoods.Poisson().fit_constant(counts, np.ones(len(counts)))
    prior = prior_in_units(X.mean(axis=0), X.std(axis=0), 1.0, value, variance)
    assert_is(model.weight_distribution(prior=True), *prior)
    Z = np.column_stack([np.ones(len(X)), X])
    mode = np.append(model.intercept_, model.coef_)
    h = np.exp(Z @ mode)
    assert_is(model.weight_distribution(), *bayes(prior, h, Z, Z @ mode + (counts - h) / h), 1e-5)


def test_before_the_rows_three_classes_have_what_is_left_without_their_common_part():
    tau2, C = 3.0, 3
    model = BayesianLogisticRegression(prior_variance=tau2).fit(X, THREE)
    p = np.bincount(THREE) / len(THREE)
    H = np.eye(C) - 1.0 / C
    for c in range(C):
        expected = prior_in_units(
            X.mean(axis=0), X.std(axis=0), tau2 * H[c, c], np.log(p)[c], (H / p @ H)[c, c]
        )
        belief = model.weight_distribution(output=c, prior=True)
        shared = belief.mean()[0] - expected[0][0]
        np.testing.assert_allclose(belief.covariance, expected[1], rtol=1e-8, atol=1e-8)
        assert shared == pytest.approx(
            model.weight_distribution(["intercept"], output=0, prior=True).mean()[0] - np.log(p)[0]
        )


def test_classes_with_columns_of_their_own_have_a_prior_of_their_own():
    model = SparseLogisticRegression(columns="per_class").fit(X, THREE)
    p = np.bincount(THREE) / len(THREE)
    used = np.isfinite(model.precision_)
    c = int(np.argmax(used.sum(axis=0)))
    own = model.relevance_[used[:, c]]
    belief = model.weight_distribution(["intercept", *own], output=c, prior=True)
    expected = prior_in_units(
        X.mean(axis=0)[own],
        X.std(axis=0)[own],
        1.0 / model.precision_[used[:, c], c],
        belief.mean()[0],
        1.0 / p[c],
    )
    assert_is(belief, *expected)


def latent(model, Z, output):
    """Mean and variance of the noise-free value that a model predicts."""
    if isinstance(model, BayesianLinearRegression | DualLinearRegression | RidgeRegression):
        normal = model.predict_dist(Z, noise_variance=0.0)
        return normal.mean(), normal.variance()
    normal = model.predict_latent(Z)
    if output is None:
        return normal.mean(), normal.variance()
    return normal.mean()[:, output], normal.variance()[:, output]


MODELS = [
    (BayesianLinearRegression(), Y, None),
    (BayesianLinearRegression(fit_intercept=False), Y, None),
    (RidgeRegression(penalize_intercept=True), Y, None),
    (DualLinearRegression(), Y, None),
    (DualLinearRegression(fit_intercept=False), Y, None),
    (GeneralizedLinearRegression(likelihoods.Normal()), Y, None),
    (RobustRegression(), Y, None),
    (BayesianLogisticRegression(), TWO, None),
    (BayesianLogisticRegression(fit_intercept=False), THREE, 2),
    (BayesianLogisticRegression(), THREE, 0),
    (LogisticRegression(predictive="averaged"), TWO, None),
    (SparseLogisticRegression(), TWO, None),
    (SparseLogisticRegression(), THREE, 1),
    (SparseLogisticRegression(columns="per_class"), THREE, 2),
    (DualLogisticRegression(), TWO, None),
    (DualLogisticRegression(), THREE, 1),
]


def assert_sums_are_predictions(model, X, output):
    """Of a fitted model, at rows that fix every entry of a covariance."""
    belief = model.weight_distribution(output=output)
    steps = np.random.default_rng(5).normal(size=(60, X.shape[1]))
    Z = X.mean(axis=0) + 3.0 * X.std(axis=0) * steps
    A = np.column_stack([np.ones((len(Z), int(model.fit_intercept))), Z])
    mean, variance = latent(model, Z, output)
    np.testing.assert_allclose(A @ belief.mean(), mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        np.einsum("ij,jk,ik->i", A, belief.covariance, A), variance, rtol=1e-7, atol=1e-9
    )


@for_each(("model", "targets", "output"), MODELS)
def test_sums_of_weights_are_what_the_model_predicts(model, targets, output):
    assert_sums_are_predictions(model.fit(X, targets), X, output)


@for_each(
    ("model", "targets", "output"),
    [
        (BayesianLinearRegression(prior_variance=1.0, noise_variance=1.0), Y[:2], None),
        (BayesianLogisticRegression(prior_variance=1.0), [0, 1], None),
        (BayesianLogisticRegression(prior_variance=1.0), [0, 1, 2], 1),
    ],
)
def test_along_directions_that_no_row_has_the_prior_is_believed(model, targets, output):
    few = np.column_stack([X, X**2])[: len(targets)]
    assert_sums_are_predictions(model.fit(few, targets), few, output)
    outside = np.linalg.svd((few - few.mean(axis=0)) / few.std(axis=0))[2][-1]
    belief = model.weight_distribution(range(6), output=output)
    prior = model.weight_distribution(range(6), output=output, prior=True)
    across = few.std(axis=0) * outside
    np.testing.assert_allclose(
        across @ belief.covariance @ across, across @ prior.covariance @ across, rtol=1e-9
    )
    assert np.trace(belief.covariance) < np.trace(prior.covariance)


def test_draws_have_the_moments_that_are_told():
    for model, targets in (
        (BayesianLinearRegression(), np.column_stack([Y, -2.0 * Y])),
        (BayesianLogisticRegression(), THREE),
    ):
        model.fit(X, targets)
        coef, intercept = model.sample_weights(20_000, random_state=0)
        belief = model.weight_distribution(["intercept", 2], output=1)
        draws = np.column_stack([intercept[:, 1], coef[:, 1, 2]])
        size = belief.standard_deviation()
        np.testing.assert_allclose(draws.mean(axis=0) / size, belief.mean() / size, atol=0.03)
        np.testing.assert_allclose(
            np.cov(draws.T) / np.outer(size, size),
            belief.covariance / np.outer(size, size),
            atol=0.04,
        )


def test_a_sparse_model_of_nothing_is_sure_of_every_weight():
    noise = np.random.default_rng(3).normal(size=(60, 2))
    y = np.arange(60) % 2
    for offset in (True, False):
        model = SparseLogisticRegression(fit_intercept=offset).fit(noise, y)
        assert not len(model.relevance_)
        for prior in (False, True):
            belief = model.weight_distribution([0, 1], prior=prior)
            np.testing.assert_array_equal(belief.covariance, 0.0)


def test_columns_are_told_by_position_or_by_name():
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    model = BayesianLinearRegression().fit(frame, Y)
    named = model.weight_distribution(["depth", "intercept"])
    assert named == model.weight_distribution([2, "intercept"])
    assert named == model.weight_distribution([-1, "intercept"])
    np.testing.assert_allclose(named.mean(), [model.coef_[2], model.intercept_])


def test_with_features_positions_are_those_of_the_features():
    model = BayesianLinearRegression(features=features.Polynomial(2)).fit(X[:, :1], Y)
    assert model.weight_distribution([1]).mean() == pytest.approx(model.coef_[1])


def test_what_there_is_no_weight_of_is_named():
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    model = BayesianLinearRegression(fit_intercept=False).fit(frame, Y)
    with pytest.raises(ValueError, match=r"Weight 'length' does not exist: .* width, height"):
        model.weight_distribution(["length"])
    with pytest.raises(ValueError, match="Weight 3 does not exist"):
        model.weight_distribution([3])
    with pytest.raises(ValueError, match="no intercept"):
        model.weight_distribution(["intercept"])


def test_of_several_outputs_one_is_to_be_named():
    model = BayesianLogisticRegression().fit(X, np.array(["a", "b", "c"])[THREE])
    with pytest.raises(ValueError, match="several outputs; say which: output= one of 'a', 'b'"):
        model.weight_distribution([0])
    with pytest.raises(ValueError, match="output='z' must be one of 'a', 'b', 'c'"):
        model.weight_distribution([0], output="z")


def test_models_without_a_posterior_of_weights_say_so():
    with pytest.raises(TypeError, match="LogisticRegression has no posterior of its weights"):
        LogisticRegression().fit(X, TWO).weight_distribution()
    for model, targets in ((DualLinearRegression, Y), (DualLogisticRegression, TWO)):
        with pytest.raises(TypeError, match="Only with kernel='linear'"):
            model(kernels.RBF(1.0)).fit(X, targets).weight_distribution()
    flat = LogisticRegression(predictive="averaged").fit(X, TWO)
    with pytest.raises(ValueError, match="A flat prior is not a distribution"):
        flat.weight_distribution(prior=True)
