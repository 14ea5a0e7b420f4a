"""Clusters in a feature space: k-means where that is known, and downhill at every step."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans
from support.for_each import for_each

from posterity import kernels
from posterity.latent.components import clusters
from posterity.latent.components import kernel as kernel_components


def blobs(n=60, centres=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 2.5 * rng.normal(size=(centres, 2))[np.arange(n) % centres]


def centred(kernel, X, w=None):
    K = kernel_components.fill_kernel_matrix(kernel, X)
    means, _ = kernel_components.center_kernel(K, w)
    return K, means


def inertia(F, w, labels):
    """By the features themselves."""
    groups = [labels == c for c in np.unique(labels)]
    means = [np.average(F[g], axis=0, weights=w[g]) for g in groups]
    parts = zip(groups, means, strict=True)
    return sum(float(w[g] @ np.sum((F[g] - m) ** 2, axis=1)) for g, m in parts)


@for_each("weighted", [True, False])
@for_each("seed", range(4))
def test_with_a_linear_kernel_it_descends_as_k_means_does(weighted, seed):
    X, rng = blobs(seed=seed), np.random.default_rng(seed)
    w = rng.uniform(0.5, 3.0, len(X)) if weighted else np.ones(len(X))
    start = np.argmin([np.sum((X - x) ** 2, axis=1) for x in X[:4]], axis=0)
    found = clusters.move_to_nearest(centred(kernels.Linear(1.0), X)[0], w, start)
    centres = np.array([np.average(X[start == c], axis=0, weights=w[start == c]) for c in range(4)])
    theirs = KMeans(4, init=centres, n_init=1, tol=0.0, max_iter=300).fit(X, sample_weight=w)
    np.testing.assert_allclose(found.inertia, theirs.inertia_, rtol=1e-10)
    np.testing.assert_allclose(found.inertia, inertia(X, w, found.labels), rtol=1e-10)
    pairs = np.unique(np.column_stack([found.labels, theirs.labels_]), axis=0)
    assert len(pairs) == 4
    assert found.converged


@for_each("kernel", [kernels.RBF(1.0), kernels.Matern(0.3), kernels.Polynomial(2)])
@for_each("seed", range(3))
def test_no_step_raises_the_inertia(kernel, seed):
    X, rng = blobs(80, seed=seed), np.random.default_rng(seed)
    w = rng.uniform(0.1, 2.0, 80)
    K, _ = centred(kernel, X, w)
    found = clusters._search(K, w, rng.integers(0, 6, 80), 300)
    assert len(found.path) > 1
    assert np.all(np.diff(found.path) <= 1e-12 * found.path[0])
    assert found.inertia == found.path[-1]


def test_inertia_does_not_depend_on_centring():
    X, w, labels = blobs(), np.ones(60), np.arange(60) % 3
    plain = kernel_components.fill_kernel_matrix(kernels.RBF(1.0), X)
    found = [
        clusters.move_to_nearest(K, w, labels) for K in (plain, centred(kernels.RBF(1.0), X)[0])
    ]
    np.testing.assert_allclose(found[0].inertia, found[1].inertia, rtol=1e-12)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)


@for_each("seed", range(6))
def test_the_best_of_all_divisions_of_few_rows_is_found(seed):
    X, w = blobs(7, 3, seed), np.random.default_rng(seed).integers(1, 4, 7).astype(float)
    K, _ = centred(kernels.RBF(1.5), X, w)
    found = clusters.find_clusters(K, w, 3, rng=np.random.default_rng(0))
    d, V = np.linalg.eigh(K)
    F = V * np.sqrt(np.maximum(d, 0.0))
    every = itertools.product(range(3), repeat=6)
    best = min(inertia(F, w, np.array((0, *rest))) for rest in every if {1, 2} <= set(rest))
    np.testing.assert_allclose(found.inertia, best, rtol=1e-9)


def test_single_moves_leave_none_that_gains():
    X, rng = blobs(40, seed=3), np.random.default_rng(3)
    w = rng.uniform(0.5, 2.0, 40)
    K, _ = centred(kernels.RBF(0.5), X, w)
    start = clusters.move_to_nearest(K, w, rng.integers(0, 4, 40)).labels
    labels = clusters.improve_by_moves(K, w, start)
    d, V = np.linalg.eigh(K)
    F = V * np.sqrt(np.maximum(d, 0.0))
    here = inertia(F, w, labels)
    assert here < inertia(F, w, start)
    for i, c in itertools.product(range(40), range(4)):
        moved = labels.copy()
        moved[i] = c
        assert inertia(F, w, moved) >= here - 1e-9


def test_single_moves_never_empty_a_cluster():
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    labels = clusters.improve_by_moves(X @ X.T, np.ones(4), np.array([0, 0, 0, 1]))
    np.testing.assert_array_equal(labels, [0, 0, 0, 1])


def test_an_empty_cluster_is_given_the_farthest_row():
    X = np.array([[0.0], [0.2], [0.1], [9.0], [3.0]])
    K, _ = centred(kernels.Linear(1.0), X)
    found = clusters.move_to_nearest(K, np.ones(5), np.array([0, 0, 0, 0, 2]))
    assert len(found.norms) == 3
    assert np.sum(found.labels == found.labels[3]) == 1


def test_where_rows_do_not_differ_clusters_stay_empty_and_are_left_out():
    X = np.repeat([[1.0], [2.0]], 4, axis=0)
    K, _ = centred(kernels.RBF(1.0), X)
    found = clusters.find_clusters(K, np.ones(8), 3, rng=np.random.default_rng(0))
    assert len(found.norms) == 2
    np.testing.assert_allclose(found.inertia, 0.0, atol=1e-12)


def test_clusters_are_numbered_by_their_first_rows():
    X = np.array([[9.0], [0.0], [0.1], [9.1], [4.0]])
    K, _ = centred(kernels.Linear(1.0), X)
    found = clusters.find_clusters(K, np.ones(5), 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found.labels, [0, 1, 1, 0, 2])


def test_new_rows_go_to_the_nearest_centre():
    X, new = blobs(50), blobs(30, seed=0)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 50)
    K, means = centred(kernels.Linear(1.0), X, w)
    found = clusters.find_clusters(K, w, 4, rng=np.random.default_rng(0))
    labels = found.labels
    centres = [np.average(X[labels == c], axis=0, weights=w[labels == c]) for c in range(4)]
    expected = np.argmin([np.sum((new - m) ** 2, axis=1) for m in centres], axis=0)
    np.testing.assert_array_equal(found.nearest(new @ X.T, means), expected)


def test_seeds_are_far_apart_and_as_many_as_asked():
    X = np.concatenate([blobs(20, 1), blobs(20, 1) + 50.0, blobs(20, 1) - 50.0])
    K, _ = centred(kernels.Linear(1.0), X)
    labels = clusters.start_from_rows(K, np.ones(60), 3, np.random.default_rng(0))
    assert {len(set(labels[i : i + 20])) for i in (0, 20, 40)} == {1}
    assert len(set(labels)) == 3


def test_rows_of_little_weight_are_seldom_seeds():
    X = np.arange(3.0)[:, None]
    K, w = X @ X.T, np.array([1.0, 1.0, 1e-9])
    labels = [clusters.start_from_rows(K, w, 2, np.random.default_rng(s)) for s in range(20)]
    assert all(found[0] != found[1] for found in labels)


def test_eigenvectors_start_in_separate_groups():
    X = np.concatenate([blobs(20, 1) + shift for shift in (0.0, 40.0, -40.0)])
    labels = clusters.start_from_eigenvectors(centred(kernels.RBF(5.0), X)[0], 3)
    assert [len(set(labels[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
    assert len(set(labels)) == 3


def test_too_few_steps_are_told():
    K, _ = centred(kernels.Linear(1.0), blobs())
    start = np.random.default_rng(0).integers(0, 4, 60)
    cut = clusters.move_to_nearest(K, np.ones(60), start, max_iter=1)
    assert not cut.converged
    assert len(cut.path) == 2
    np.testing.assert_allclose(cut.inertia, inertia(blobs(), np.ones(60), cut.labels))


def test_one_cluster_is_the_mean():
    X = blobs()
    K, _ = centred(kernels.Linear(1.0), X)
    found = clusters.find_clusters(K, np.ones(60), 1, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.inertia, np.sum((X - X.mean(axis=0)) ** 2))


def test_a_kernel_that_is_not_semidefinite_is_refused():
    K = -np.eye(4) + 0.3
    with pytest.raises(ValueError, match="not positive semi-definite"):
        clusters.move_to_nearest(
            K + 2.0 * np.diag([1.0, 0, 0, 0]), np.ones(4), np.array([0, 1, 0, 1])
        )
