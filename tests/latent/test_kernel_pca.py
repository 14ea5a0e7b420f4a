"""What kernel PCA promises: the components of scikit-learn, the way back, sentences at the door."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as ScikitPCA
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

from posterity import kernels, optimize
from posterity.latent.kernel_pca import KernelPCA


def data(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def circle(n, noise, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    clean = np.column_stack([np.cos(angle), np.sin(angle)])
    return clean, clean + noise * rng.normal(size=clean.shape)


@for_each(
    ("kernel", "theirs"),
    [
        (kernels.RBF(2.0), {"kernel": "rbf", "gamma": 0.125}),
        (kernels.Polynomial(3, offset=1.0), {"kernel": "poly", "gamma": 1.0, "coef0": 1.0}),
        (kernels.Linear(1.0), {"kernel": "linear"}),
    ],
    ids=str,
)
@for_each("n", [60, 700])
def test_scores_and_variances_are_those_of_scikit_learn(kernel, theirs, n):
    X, new = data(n), data(20, seed=1)
    ours = KernelPCA(3, kernel).fit(X)
    peer = ScikitKernelPCA(3, eigen_solver="dense", **theirs).fit(X)
    np.testing.assert_allclose(ours.explained_variance_ * (n - 1), peer.eigenvalues_, rtol=1e-9)
    scale = np.abs(peer.transform(X)).max()
    for rows in (X, new):
        ours_too, peers = np.abs(ours.transform(rows)), np.abs(peer.transform(rows))
        np.testing.assert_allclose(ours_too, peers, atol=1e-7 * scale)


def test_with_a_linear_kernel_it_is_pca():
    X = data()
    ours, peer = KernelPCA(None, kernels.Linear(1.0)).fit(X), ScikitPCA().fit(X)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(peer.transform(X)), atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(ours.embedding_), X, atol=1e-5)


def test_fitting_and_transforming_at_once_is_the_same():
    X = data()
    model = KernelPCA(3)
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.embedding_.var(axis=0, ddof=1), model.explained_variance_)


def test_points_off_a_circle_are_brought_back_to_it():
    train, queries = circle(300, 0.05, 0)[0], circle(200, 0.15, 1)
    clean, noisy = queries
    model = KernelPCA(6, kernels.RBF(0.7)).fit(train)
    back = model.inverse_transform(model.transform(noisy))
    peer = ScikitKernelPCA(6, kernel="rbf", fit_inverse_transform=True).fit(train)
    theirs = peer.inverse_transform(peer.transform(noisy))
    ours_off, noise, theirs_off = (((A - clean) ** 2).mean() for A in (back, noisy, theirs))
    assert ours_off < 0.7 * noise
    assert ours_off < theirs_off
    assert np.abs(np.linalg.norm(back, axis=1) - 1.0).max() < 0.1


def test_noise_is_taken_out_of_digits():
    X = load_digits().data / 16.0
    train, clean = X[:500], X[500:600]
    noisy = clean + 0.25 * np.random.default_rng(0).normal(size=clean.shape)
    model = KernelPCA(32).fit(train)
    peer = ScikitKernelPCA(32, kernel="rbf", fit_inverse_transform=True).fit(train)
    back, theirs = (m.inverse_transform(m.transform(noisy)) for m in (model, peer))
    ours_off, noise, theirs_off = (((A - clean) ** 2).mean() for A in (back, noisy, theirs))
    assert ours_off < 0.5 * noise
    assert ours_off < 0.5 * theirs_off


@for_each("kernel", [None, kernels.Matern(), kernels.Polynomial(2)], ids=str)
def test_training_rows_with_every_component_give_themselves_back(kernel):
    X = data(20)
    model = KernelPCA(None, kernel).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-3)


def test_reconstruction_error_tells_strangers():
    X = data()
    model = KernelPCA(10).fit(X)
    errors = model.reconstruction_error(X)
    left = (1.0 - model.explained_variance_ratio_.sum()) * model._fitted.components.total_variance
    np.testing.assert_allclose(errors.sum() / 59, left, rtol=1e-8)
    assert model.reconstruction_error(X[:1] + 100.0)[0] > 3.0 * errors.max()


def test_data_frames_keep_their_names():
    frame = pd.DataFrame(data(30, 3), columns=["a", "b", "c"], index=range(100, 130))
    kernel = kernels.Columns(kernels.RBF(2.0), ["a", "c"])
    model = KernelPCA(2, kernel).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == ["kernelpca0", "kernelpca1"]
    assert list(out.index) == list(frame.index)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    alone = KernelPCA(2, kernels.RBF(2.0)).fit_transform(frame[["a", "c"]].to_numpy())
    np.testing.assert_allclose(out.to_numpy(), alone, atol=1e-10)
    assert list(model.set_output(transform="polars").transform(frame).columns) == list(out.columns)


def test_strings_have_scores_but_no_way_back():
    words = ["banana", "bandana", "cabana", "xyzzy", "xyz", "yzzyx"]
    model = KernelPCA(2, kernels.Spectrum(2)).fit(words)
    scores = model.transform(words)
    np.testing.assert_allclose(scores, model.embedding_, atol=1e-10)
    assert np.sign(scores[:3, 0]).tolist() == [np.sign(scores[0, 0])] * 3
    assert model.reconstruction_error(["zzz"]).shape == (1,)
    assert not hasattr(model, "inverse_transform")
    assert hasattr(KernelPCA(), "inverse_transform")
    with pytest.raises(AttributeError, match="inverse_transform") as caught:
        model.inverse_transform(scores)
    assert "rows that are vectors" in str(caught.value.__cause__)


def test_a_function_is_a_kernel():
    X = data(25)
    ours = KernelPCA(2, lambda A, B: A @ B.T).fit_transform(X)
    np.testing.assert_allclose(ours, KernelPCA(2, kernels.Linear(1.0)).fit_transform(X), atol=1e-9)


@for_each("rows", [np.array([[0.0, 1.0], [2.0, 1.0]]), np.repeat(data(3), 5, axis=0)])
def test_few_rows_repeated_rows_and_constant_columns_behave(rows):
    model = KernelPCA(10).fit(rows)
    assert model.n_components_ == len(np.unique(rows, axis=0)) - 1
    assert model.transform(rows).shape == (len(rows), model.n_components_)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), rows, atol=1e-5)
    assert np.all(model.reconstruction_error(rows) <= 1e-8)


def test_a_constant_column_changes_nothing():
    X = data(30)
    widened = np.column_stack([X, np.full(30, 7.0)])
    kernel = kernels.RBF(2.0)
    np.testing.assert_allclose(
        KernelPCA(3, kernel).fit_transform(X),
        KernelPCA(3, kernel).fit_transform(widened),
        atol=1e-9,
    )


def test_rows_that_cannot_be_used_are_refused_in_words():
    X = data()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 1 \(row 3\)"):
        KernelPCA().fit(X)
    with pytest.raises(ValueError, match="all the same to the kernel"):
        KernelPCA().fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="minimum of 2"):
        KernelPCA().fit(np.ones((1, 2)))
    with pytest.raises(ValueError, match="all the same to the kernel"):
        KernelPCA(kernel=kernels.Spectrum(2)).fit(["one"])


@for_each("bad", [0, -1, 1.0, 2.5, "all", True])
def test_numbers_of_components_that_mean_nothing_are_refused(bad):
    with pytest.raises(ValueError, match="n_components="):
        KernelPCA(bad).fit(data())


def test_scores_of_another_width_are_refused():
    model = KernelPCA(2).fit(data())
    with pytest.raises(ValueError, match="takes 2: the coordinates"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(NotFittedError):
        KernelPCA().inverse_transform(np.zeros((1, 2)))


def test_too_few_iterations_are_told_in_words():
    model = KernelPCA(3, max_iter=1, tol=1e-9).fit(data())
    with pytest.warns(optimize.ConvergenceWarning, match=r"of 60 rows.*after 1 iterations"):
        model.inverse_transform(0.7 * model.embedding_)


@for_each("max_iter", [0, -1, 1.5, "many"])
def test_iterations_that_mean_nothing_are_refused(max_iter):
    model = KernelPCA(max_iter=max_iter).fit(data())
    with pytest.raises(ValueError, match=r"max_iter=.* must be a whole number"):
        model.inverse_transform(model.embedding_)


def test_a_fit_that_failed_is_none():
    model = KernelPCA()
    with pytest.raises(ValueError, match="all the same to the kernel"):
        model.fit(np.ones((5, 2)))
    for attribute in ("embedding_", "explained_variance_", "n_components_", "dual_components_"):
        assert not hasattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.transform(np.ones((5, 2)))


def test_later_changes_of_the_data_change_nothing():
    X = data()
    model = KernelPCA(2).fit(X)
    before = model.transform(data(5, seed=1))
    X += 1.0
    np.testing.assert_array_equal(model.transform(data(5, seed=1)), before)


def test_kernels_can_be_set_by_name_and_models_copied():
    model = clone(KernelPCA(2, kernels.RBF(1.0))).set_params(kernel__length_scale=3.0)
    X = data()
    fitted = pickle.loads(pickle.dumps(model.fit(X)))
    np.testing.assert_array_equal(
        fitted.transform(X), KernelPCA(2, kernels.RBF(3.0)).fit(X).transform(X)
    )
    assert make_pipeline(StandardScaler(), model).fit_transform(X).shape == (60, 2)
