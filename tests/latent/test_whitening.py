"""Whitening: unit covariance where there is variance, zero where there is none, and back."""

import numpy as np
import pandas as pd
import pytest
from scipy import linalg
from support.for_each import for_each

from posterity import designs
from posterity.latent.whitening import Whitening

METHODS = ["pca", "zca"]


def rows(n=150, d=5, low=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.geomspace(1.0, low, d) @ rng.normal(size=(d, d)) + 3.0


@for_each("method", METHODS)
@for_each("low", [0.1, 1e-4, 1e-6])
def test_the_covariance_becomes_the_identity(method, low):
    X = rows(low=low)
    Z = Whitening(method).fit_transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(5), atol=1e-8)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-8 / low)


def test_zca_is_the_inverse_root_of_the_covariance():
    X = rows()
    root = linalg.sqrtm(np.linalg.inv(np.cov(X.T)))
    Z = Whitening("zca").fit_transform(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) @ root, atol=1e-10)


@for_each("method", METHODS)
@for_each("shape", [(60, 9), (6, 30)])
def test_directions_without_variance_become_zero(method, shape):
    """Four dimensions in nine, a constant column, and fewer rows than columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1]))
    X[:, 1] = 0.1
    whitening = Whitening(method).fit(X)
    Z = whitening.transform(X)
    spectrum = np.linalg.eigvalsh(np.cov(Z.T))
    np.testing.assert_allclose(np.sort(spectrum)[-4:], 1.0, atol=1e-9)
    np.testing.assert_allclose(np.sort(spectrum)[:-4], 0.0, atol=1e-9)
    np.testing.assert_allclose(whitening.inverse_transform(Z), X, atol=1e-12)
    beyond = whitening.transform(X + 100.0 * np.eye(shape[1])[1])
    np.testing.assert_allclose(beyond, Z, atol=1e-6)


@for_each("method", METHODS)
def test_rows_that_are_all_alike_become_zero(method):
    X = np.full((6, 3), 0.1)
    whitening = Whitening(method).fit(X)
    np.testing.assert_array_equal(whitening.transform(X), 0.0)
    np.testing.assert_array_equal(whitening.inverse_transform(whitening.transform(X)), X)


@for_each("method", METHODS)
def test_fewer_components_leave_a_plane(method):
    X = rows()
    whitening = Whitening(method, n_components=2).fit(X)
    Z = whitening.transform(X)
    assert Z.shape == (150, 5 if method == "zca" else 2)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(np.cov(Z.T)))[-2:], 1.0)
    assert np.linalg.matrix_rank(Z, tol=1e-8) == 2


def test_small_directions_can_be_left_out():
    X = rows(low=1e-5)
    whitening = Whitening(tol=1e-4).fit(X)
    kept = whitening.explained_variance_ > 0.0
    assert 0 < kept.sum() < 5
    np.testing.assert_array_equal(whitening.transform(X)[:, ~kept], 0.0)


@for_each("method", METHODS)
def test_parts_and_chunks_add_up_to_the_whole(method):
    X = rows()
    whole = Whitening(method).fit(X).transform(X)
    parts = Whitening(method).partial_fit(X[:40]).partial_fit(X[40:])
    np.testing.assert_allclose(parts.transform(X), whole, atol=1e-9)
    chunks = Whitening(method).fit(designs.Chunks.from_arrays(X, rows=40))
    np.testing.assert_allclose(chunks.transform(X), whole, atol=1e-9)


def test_names_are_kept_by_zca():
    table = pd.DataFrame(rows(), columns=list("abcde"))
    zca, pca = Whitening("zca").fit(table), Whitening().fit(table)
    assert list(zca.get_feature_names_out()) == list("abcde")
    assert list(pca.get_feature_names_out()) == [f"whitening{j}" for j in range(5)]
    assert list(zca.set_output(transform="pandas").transform(table).columns) == list("abcde")


@for_each(
    ("parameters", "message"),
    [
        ({"method": "cholesky"}, "'pca' or 'zca'"),
        ({"n_components": "evidence"}, "number of axes"),
        ({"n_components": 9}, "more than 5"),
        ({"tol": -0.1}, "tol=-0.1"),
        ({"tol": 1.0}, "less than 1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        Whitening(**parameters).fit(rows())
