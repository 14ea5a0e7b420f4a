"""Vectors of many classes, whose weights have a posterior for each class."""

import numpy as np
import pytest

import posterity
from posterity import designs, kernels, likelihoods
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.problem import PosteriorObjective
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.class_normals import ClassNormals, find_nearest
from posterity.sparse.problem import weight_problem

N_CLASSES = 9


def clusters(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = 3.0 * np.array(np.meshgrid(np.arange(3), np.arange(3))).reshape(2, -1).T
    y = np.arange(n) % N_CLASSES
    return centres[y] + rng.normal(size=(n, 2)), y


@pytest.fixture(scope="module")
def problem():
    X, y = clusters(120)
    Z = kernels.RBF(1.5)(X, X[:7])
    rows = np.hstack([(Z - Z.mean(axis=0)) / Z.std(axis=0), np.ones((len(Z), 1))])
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    likelihood = likelihoods.Categorical(N_CLASSES)
    targets = RowTargets.from_observations(y, weights, likelihood, offset=True)
    precision = np.geomspace(0.1, 2.0, 7)
    return weight_problem(precision, designs.Dense(rows), targets.with_separate_weights())


@pytest.fixture(scope="module")
def pair(problem):
    """Laplace's approximation with a covariance between classes, and without."""
    return LaplaceFit.from_problem(problem), ClassNormals.from_problem(
        problem, np.zeros(problem.shape)
    )


def test_precisions_are_those_of_laplace_within_each_class(problem, pair):
    (M, C), own = problem.shape, pair[1]
    passes = PosteriorObjective(problem, hessian=True, surely_positive=False)
    H = passes.hessian(own.weights.W.reshape(-1)).reshape(M, C, M, C)
    for c, L in enumerate(own.factors):
        np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, H[:, c, :, c], atol=1e-9)


def test_what_is_left_out_lowers_the_evidence_and_the_bound(pair):
    full, own = pair  # a determinant is at most that of its blocks, and fewer normals are asked
    nearest, narrow = variational.find_nearest_normal(full), find_nearest(own)
    assert full.log_evidence - 15.0 < own.log_evidence < full.log_evidence
    assert nearest.bound - 15.0 < narrow.bound < nearest.bound + 0.1


def test_latent_values_are_those_of_the_packed_weights(problem, pair):
    own, rows = pair[1], problem.design.rows(0, 5)
    joint, latent = own.joint(rows), own.latent(rows)
    packed = np.linalg.inv(own.L @ own.L.T).reshape(*problem.shape, *problem.shape)
    S = np.einsum("nm,mcpd,np->ncd", rows, packed, rows)
    np.testing.assert_allclose(latent.covariance, S, atol=1e-10)
    diagonals = np.diagonal(joint.covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(diagonals.T, np.diagonal(S, axis1=1, axis2=2), atol=1e-10)


@pytest.fixture(scope="module")
def fitted():
    return posterity.RelevanceVectorClassifier().fit(*clusters(270))


def test_few_vectors_predict_as_well_as_the_clusters_allow(fitted):
    X, y = clusters(900, seed=1)
    centres = 3.0 * np.array(np.meshgrid(np.arange(3), np.arange(3))).reshape(2, -1).T
    logits = -0.5 * np.sum((X[:, None] - centres) ** 2, axis=2)
    best = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    found = np.log(fitted.predict_proba(X))
    lost = (best - found)[np.arange(len(y)), y]
    assert len(fitted.relevance_) < 50
    assert np.mean(lost) < 0.12
    assert "independent" in fitted.stop_reason_


def test_a_file_holds_a_matrix_for_each_class(fitted, tmp_path):
    posterity.save(fitted, tmp_path / "model.posterity")
    again = posterity.load(tmp_path / "model.posterity")
    X = clusters(20, seed=2)[0]
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
    m = len(fitted.relevance_) + 1
    assert fitted.posterior_.fit.factors.shape == (N_CLASSES, m, m)


def test_rows_that_tell_nothing_leave_the_frequencies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(160, 2)), np.arange(160) % 8
    model = posterity.RelevanceVectorClassifier().fit(X, y)
    assert not len(model.relevance_)
    np.testing.assert_allclose(model.predict_proba(X[:3]), 1.0 / 8.0, atol=0.01)


def test_a_column_for_each_query_doubts_far_from_all_rows():
    far, rows = [[60.0, -40.0]], clusters(180)
    model = posterity.RelevanceVectorClassifier(query_column=True).fit(*rows)
    without = posterity.RelevanceVectorClassifier().fit(*rows)
    doubt, before = (one.predict_latent(far).scale for one in (model, without))
    assert np.all(doubt > 1.1 * before)
    X, y = clusters(90, seed=3)
    assert (model.predict(X) == y).mean() > 0.7
