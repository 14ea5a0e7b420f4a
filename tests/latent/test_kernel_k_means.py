"""What kernel k-means promises: rings apart, weights as repetitions, sentences at the door."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from support.for_each import for_each

from posterity import kernels, optimize
from posterity.latent.kernel_k_means import KernelKMeans


def blobs(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 4.0 * rng.normal(size=(3, 2))[np.arange(n) % 3]


@for_each("seed", range(3))
def test_two_rings_are_told_apart(seed):
    X, rings = make_circles(200, factor=0.3, noise=0.05, random_state=seed)
    labels = KernelKMeans(2, kernels.RBF(0.4)).fit_predict(X)
    assert adjusted_rand_score(rings, labels) == 1.0
    assert adjusted_rand_score(rings, KMeans(2, n_init=5, random_state=0).fit_predict(X)) < 0.1


@for_each("seed", range(3))
def test_with_a_linear_kernel_it_is_at_least_as_good_as_k_means(seed):
    X = blobs(seed=seed)
    ours = KernelKMeans(5, kernels.Linear(1.0)).fit(X)
    peer = KMeans(5, n_init=20, random_state=0).fit(X)
    assert ours.inertia_ <= peer.inertia_ * (1.0 + 1e-10)


def test_training_rows_are_in_the_group_they_are_predicted_to_be_in():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = KernelKMeans(4, kernels.RBF(0.4)).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.stop_reason_ == "no row changed its group"
    assert model.n_iter_ >= 1


def test_a_weight_is_a_repetition():
    X = blobs(40)
    weight = np.random.default_rng(0).integers(0, 4, 40)
    by_weight = KernelKMeans(4, kernels.RBF(1.0)).fit(X, sample_weight=weight)
    repeated = KernelKMeans(4, kernels.RBF(1.0)).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(by_weight.inertia_, repeated.inertia_, rtol=1e-12)
    np.testing.assert_array_equal(by_weight.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(np.repeat(by_weight.labels_, weight), repeated.labels_)


def test_the_order_of_the_rows_does_not_matter():
    X = blobs(50)
    order = np.random.default_rng(1).permutation(50)
    first, second = (KernelKMeans(4).fit(rows) for rows in (X, X[order]))
    np.testing.assert_array_equal(first.labels_[order], second.labels_)


def test_words_are_grouped():
    words = ["banana", "bandana", "cabana", "xyzzy", "xyzzyx", "yzzyx"]
    model = KernelKMeans(2, kernels.Spectrum(2)).fit(words, sample_weight=[1, 2, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    assert len(model.X_train_) == 5
    np.testing.assert_array_equal(model.predict(["bananas", "zzyx"]), [0, 1])


def test_rows_with_a_term_of_their_own_keep_their_groups():
    X, kernel = np.repeat(blobs(20), 2, axis=0), kernels.RBF(2.0) + kernels.White(5.0)
    model = KernelKMeans(3, kernel).fit(X)
    assert len(model.X_train_) == 40
    K = kernel(X)
    groups = [np.flatnonzero(model.labels_ == c) for c in range(3)]
    explained = sum(K[np.ix_(g, g)].sum() / len(g) for g in groups)
    np.testing.assert_allclose(model.inertia_, np.trace(K) - explained)
    assert len(set(KernelKMeans(6, kernel).fit_predict(X[:6]))) == 6


def test_names_of_columns_are_understood():
    frame = pd.DataFrame(np.column_stack([blobs(), np.arange(90.0)]), columns=["a", "b", "noise"])
    model = KernelKMeans(3, kernels.Columns(kernels.RBF(2.0), ["a", "b"])).fit(frame)
    plain = KernelKMeans(3, kernels.RBF(2.0)).fit(frame[["a", "b"]].to_numpy())
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1.0


def test_as_many_groups_as_rows_leave_nothing_over():
    X = blobs(6)
    model = KernelKMeans(6).fit(X)
    assert len(set(model.labels_)) == 6
    np.testing.assert_allclose(model.inertia_, 0.0, atol=1e-12)


def test_few_rows_repeated_rows_and_constant_columns_behave():
    X = np.column_stack([np.repeat([0.0, 1.0, 5.0], 4), np.full(12, 3.0)])
    labels = KernelKMeans(2, kernels.Linear(1.0)).fit_predict(X)
    np.testing.assert_array_equal(labels, np.repeat([0, 0, 1], 4))
    assert set(KernelKMeans(1).fit_predict(np.ones((3, 2)))) == {0}


def test_too_few_different_rows_are_refused_in_words():
    with pytest.raises(ValueError, match="Only 2 different rows count"):
        KernelKMeans(3).fit(np.repeat([[0.0], [1.0]], 5, axis=0))
    with pytest.raises(ValueError, match="Only 1 different rows count"):
        KernelKMeans(2).fit(blobs(4), sample_weight=[1, 0, 0, 0])


def test_a_fit_that_failed_is_none():
    model = KernelKMeans(3)
    with pytest.raises(ValueError, match="too few"):
        model.fit(np.ones((5, 2)))
    for attribute in ("inertia_", "n_iter_", "labels_"):
        assert not hasattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((5, 2)))


def test_rows_that_are_alike_to_the_kernel_are_told_in_words():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    with pytest.warns(optimize.ConvergenceWarning, match="only 2 groups of rows differ"):
        model = KernelKMeans(3, kernels.Cosine()).fit(X)
    np.testing.assert_array_equal(model.labels_[[0, 2]], model.labels_[[1, 3]])


def test_too_few_steps_are_told_in_words():
    with pytest.warns(optimize.ConvergenceWarning, match="1 steps were not enough"):
        KernelKMeans(8, kernels.RBF(0.5), max_iter=1, n_restarts=1).fit(blobs(300))


def test_missing_values_are_refused_in_words():
    X = blobs()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 1 \(row 3\)"):
        KernelKMeans().fit(X)


@for_each("name", ["n_clusters", "n_restarts", "max_iter"])
@for_each("bad", [0, 1.5, True, "two"])
def test_numbers_that_mean_nothing_are_refused(name, bad):
    with pytest.raises(ValueError, match=f"{name}="):
        KernelKMeans().set_params(**{name: bad}).fit(blobs())


def test_models_can_be_copied_and_say_when_they_are_not_fitted():
    X = blobs()
    model = pickle.loads(pickle.dumps(clone(KernelKMeans(3, kernels.RBF(1.0))).fit(X)))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(NotFittedError):
        KernelKMeans().predict(X)
