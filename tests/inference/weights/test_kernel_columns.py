"""Weights in the columns of a kernel: the gradient, and the same model by another road."""

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import with_covariance
from weight_oracles import DenseWeights, differences

from posterity import designs, kernels, likelihoods, priors
from posterity.inference.weights import kernel_columns
from posterity.inference.weights import space as weight_space
from posterity.inference.weights.kernel_columns import KernelWeightSearch

KERNEL = kernels.RBF([0.9, 1.6])
each_count = pytest.mark.parametrize("n_classes", [2, 3])
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])


def search_of(n_classes, *, offset=True, prior_variance=None, weighted=True, n=14, kernel=KERNEL):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.arange(n) % n_classes * 1.0
    likelihood = likelihoods.Bernoulli() if n_classes == 2 else likelihoods.Categorical(n_classes)
    weights = rng.uniform(0.5, 2.5, n) if weighted else np.ones(n)
    started, bounds = kernel.search_start(X)
    return KernelWeightSearch(X, y, weights, likelihood, started, bounds, prior_variance, offset)


@each_count
@each_offset
@for_each("given", [None, 0.8], ids=["learned", "given"])
def test_gradient_in_prior_variance_and_kernel(n_classes, offset, given):
    search = search_of(n_classes, offset=offset, prior_variance=given)
    objective = kernel_columns._KernelWeightObjective(search)
    x = KERNEL.theta if given is not None else np.append(-0.3, KERNEL.theta)
    gradient = objective.value_and_gradient(x)[1]
    expected = differences(lambda t: objective.value_and_gradient(t)[0], x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


@each_count
@each_offset
def test_directions_that_move_no_row_make_no_difference(monkeypatch, n_classes, offset):
    wide = kernels.RBF([4.0, 6.0])
    search = search_of(n_classes, offset=offset, n=40, kernel=wide)
    x = np.append(-0.3, wide.theta)
    every = kernel_columns._KernelWeightObjective(search).value_and_gradient(x)
    monkeypatch.setattr(kernel_columns, "_FEW_ROWS", 0)
    objective = kernel_columns._KernelWeightObjective(search)
    fit, directions = objective._fit_directions(x, kernel_columns._UNSEEN)
    value, gradient = objective.value_and_gradient(x)
    assert fit.problem.design.n_columns < 30
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-6)
    assert value == pytest.approx(every[0], abs=1e-6)
    np.testing.assert_allclose(gradient, every[1], atol=1e-5)


@each_count
@each_offset
def test_it_is_dense_algebra_in_the_centred_kernel(n_classes, offset):
    search = search_of(n_classes, offset=offset, prior_variance=0.8)
    found = kernel_columns._KernelWeightObjective(search).solution(KERNEL.theta)
    X, w = search.X, search.weights
    queries = np.random.default_rng(1).normal(size=(5, 2))

    p = w / w.sum()

    def columns(rows):
        K = KERNEL(rows, X)
        about = K - (K @ p)[:, None] - p @ KERNEL(X) + p @ KERNEL(X) @ p if offset else K
        A = about * np.sqrt(w)
        return np.hstack([A, np.ones((len(A), 1))]) if offset else A

    t = found.fit.problem.targets
    variance = np.full((len(X) + offset, len(t.shift)), 0.8)
    if offset:
        variance[-1] = t.offset_variance
    dense = DenseWeights(columns(X), search.y, w, search.likelihood, variance, t.shift)
    assert found.fit.log_evidence == pytest.approx(dense.log_evidence, abs=1e-8)
    mean, covariance = with_covariance(found.latent(queries))
    dense_mean, dense_covariance = dense.latent(columns(queries))
    D = np.eye(len(t.shift)) - (1.0 / n_classes if len(t.shift) > 1 else 0.0)
    np.testing.assert_allclose(mean @ D, dense_mean @ D, atol=1e-7)
    np.testing.assert_allclose(D @ covariance @ D, D @ dense_covariance @ D, atol=1e-7)


@each_count
@each_offset
def test_it_is_weight_space_in_the_same_columns(n_classes, offset):
    search = search_of(n_classes, offset=offset, prior_variance=0.8, weighted=False)
    found = kernel_columns._KernelWeightObjective(search).solution(KERNEL.theta)
    K = KERNEL(search.X)
    if offset:
        K = K - K.mean(axis=1, keepdims=True)
    space = weight_space.WeightSpace.from_design(
        designs.Dense(K), offset=offset, standardize=False, rotate=True
    )
    other = weight_space.learn_weights(
        space, search.y, None, search.likelihood, prior=priors.Normal(0.8)
    )
    assert found.fit.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)


@each_count
def test_no_place_nearby_has_more_evidence(n_classes):
    search = search_of(n_classes, n=40)
    found, best = search.maximise()
    assert best.converged
    assert found.fit.log_evidence == pytest.approx(-best.value, abs=1e-8)
    objective = kernel_columns._KernelWeightObjective(search)
    x = np.append(np.log(found.prior_variance), found.kernel.theta)
    np.testing.assert_allclose(x, best.x)
    limits = np.vstack([[-np.inf, np.inf], search.bounds])
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 0.2:
        near = np.clip(x + step, limits[:, 0], limits[:, 1])
        assert objective.fit(near).log_evidence <= found.fit.log_evidence + 1e-5


def test_everything_given_is_not_searched():
    search = search_of(2, prior_variance=0.8, kernel=KERNEL.fixed())
    found, best = search.maximise()
    assert best.stop_reason == "every parameter was given"
    assert found.prior_variance == 0.8
    assert found.kernel == KERNEL.fixed()
