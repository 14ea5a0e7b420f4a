"""Components in a feature space, beside those of the features themselves."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels
from posterity.latent.components import kernel as kernel_components


def rows(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1.0, d + 1.0) + 2.0


def quadratic(X):
    """The features of (x.z + 1)^2 for two columns."""
    a, b = X.T
    r = np.sqrt(2.0)
    return np.column_stack([a * a, b * b, r * a * b, r * a, r * b, np.ones(len(X))])


def fitted(kernel, X, n_components=None):
    return kernel_components.decompose_kernel(
        kernel_components.fill_kernel_matrix(kernel, X), n_components
    )


@for_each("n", [2, 7, 30])
def test_components_are_those_of_the_features(n):
    X, new = rows(n, 2), rows(9, 2, seed=1)
    F = quadratic(X) - quadratic(X).mean(axis=0)
    _, s, Vt = np.linalg.svd(F, full_matrices=False)
    found = fitted(kernels.Polynomial(2, offset=1.0), X)
    k = len(found.variances)
    assert k == min(n - 1, 5)
    np.testing.assert_allclose(found.variances, s[:k] ** 2 / (n - 1), rtol=1e-9)
    np.testing.assert_allclose(found.total_variance, np.sum(F * F) / (n - 1), rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.scores), np.abs(F @ Vt[:k].T), rtol=1e-6, atol=1e-7)
    T = found.project(kernels.Polynomial(2, offset=1.0)(new, X))
    expected = (quadratic(new) - quadratic(X).mean(axis=0)) @ Vt[:k].T
    np.testing.assert_allclose(np.abs(T), np.abs(expected), rtol=1e-6, atol=1e-7)


def test_projecting_the_training_rows_gives_their_scores():
    X, kernel = rows(), kernels.RBF(3.0)
    found = fitted(kernel, X, 5)
    np.testing.assert_allclose(found.project(kernel(X)), found.scores, atol=1e-10)
    np.testing.assert_allclose(found.A.sum(axis=0), 0.0, atol=1e-12)
    directions = found.A.T @ kernel(X) @ found.A
    np.testing.assert_allclose(directions, np.eye(5), atol=1e-10)


def test_misfit_is_the_distance_between_features_and_their_projections():
    X, new = rows(20, 2), rows(6, 2, seed=1)
    kernel = kernels.Polynomial(2, offset=1.0)
    found = fitted(kernel, X, 3)
    mean = quadratic(X).mean(axis=0)
    _, _, Vt = np.linalg.svd(quadratic(X) - mean, full_matrices=False)
    F = quadratic(new) - mean
    left = F - F @ Vt[:3].T @ Vt[:3]
    misfit = found.squared_misfit(kernel(new, X), kernel.diag(new))
    np.testing.assert_allclose(misfit, np.sum(left * left, axis=1), rtol=1e-8, atol=1e-9)


def test_misfits_of_the_training_rows_add_up_to_what_is_not_explained():
    X, kernel = rows(), kernels.RBF(3.0)
    found = fitted(kernel, X, 4)
    misfit = found.squared_misfit(kernel(X), kernel.diag(X))
    left = found.total_variance - found.variances.sum()
    np.testing.assert_allclose(misfit.sum() / (len(X) - 1), left, rtol=1e-9)


def test_an_expansion_is_the_mean_and_steps_along_the_components():
    X = rows(12, 2)
    found = fitted(kernels.Polynomial(2, offset=1.0), X, 3)
    T = np.random.default_rng(2).normal(size=(4, 3))
    directions = quadratic(X).T @ found.A
    expected = quadratic(X).mean(axis=0) + T @ directions.T
    np.testing.assert_allclose(found.expansion(T) @ quadratic(X), expected, rtol=1e-10)
    np.testing.assert_allclose(found.expansion(T).sum(axis=1), 1.0)


@for_each("weighted", [True, False])
def test_centring_is_that_of_the_features(weighted):
    X = rows(15, 2)
    w = np.random.default_rng(0).uniform(0.5, 3.0, 15) if weighted else None
    F = quadratic(X) - np.average(quadratic(X), axis=0, weights=w)
    K = kernels.Polynomial(2, offset=1.0)(X)
    before = K.copy()
    means, grand_mean = kernel_components.center_kernel(K, w)
    np.testing.assert_allclose(K, F @ F.T, atol=1e-9 * np.abs(before).max())
    np.testing.assert_allclose(means, np.average(before, axis=0, weights=w))
    np.testing.assert_allclose(grand_mean, np.average(means, weights=w))


def test_centring_in_blocks_is_centring_at_once(monkeypatch):
    K = kernels.RBF(2.0)(rows(11))
    other = K.copy()
    kernel_components.center_kernel(K)
    monkeypatch.setattr(kernel_components, "_BLOCK_VALUES", 25)
    kernel_components.center_kernel(other)
    np.testing.assert_array_equal(K, other)


def test_a_share_takes_as_many_components_as_it_needs():
    X, kernel = rows(), kernels.RBF(3.0)
    every = fitted(kernel, X)
    shares = np.cumsum(every.variances) / every.total_variance
    for asked in (0.3, 0.8, 0.99):
        k = len(fitted(kernel, X, asked).variances)
        assert shares[k - 1] >= asked
        assert k == 1 or shares[k - 2] < asked


def test_directions_that_are_rounding_are_dropped():
    X = np.repeat(rows(6, 4), 3, axis=0)
    found = fitted(kernels.RBF(3.0), X, 15)
    assert len(found.variances) == 5
    assert len(fitted(kernels.Linear(1.0), rows(50, 2), 10).variances) == 2
    assert len(fitted(kernels.Linear(1.0), rows(600, 2), 4).variances) == 2


def test_far_from_the_origin_rounding_makes_no_component():
    X = rows(40, 2) + 1e6
    assert len(fitted(kernels.Linear(1.0), X).variances) == 2


def test_rows_that_are_all_the_same_are_refused_in_words():
    with pytest.raises(ValueError, match="all the same to the kernel"):
        fitted(kernels.RBF(1.0), np.ones((5, 2)))
    with pytest.raises(ValueError, match="all the same to the kernel"):
        fitted(kernels.Linear(1.0), np.full((5, 2), 1e5) / 3.0, 1)


def test_a_matrix_is_the_kernel_of_all_pairs():
    X = rows(450, 2)
    kernel = kernels.RBF(3.0) + kernels.White(0.1)
    np.testing.assert_allclose(
        kernel_components.fill_kernel_matrix(kernel, X), kernel(X), atol=1e-14
    )
    words = ["ab", "abc", "xyz"]
    spectrum = kernels.Spectrum(2)
    np.testing.assert_array_equal(
        kernel_components.fill_kernel_matrix(spectrum, words), spectrum(words)
    )


def test_blocks_of_rows_cover_all_of_them(monkeypatch):
    X, Z, kernel = rows(10), rows(4, seed=1), kernels.RBF(2.0)
    monkeypatch.setattr(kernel_components, "_BLOCK_VALUES", 12)
    places, parts = zip(*kernel_components.iterate_cross_blocks(kernel, X, Z), strict=True)
    assert [some.start for some in places] == [0, 3, 6, 9]
    np.testing.assert_allclose(np.concatenate(parts), kernel(X, Z), rtol=1e-12)


def test_a_kernel_that_is_not_symmetric_is_refused():
    lopsided = kernels.Function(lambda X, Z: X @ Z.T + X[:, :1])
    with pytest.raises(ValueError, match="not symmetric"):
        kernel_components.fill_kernel_matrix(lopsided, rows(10))


def test_a_kernel_that_overflows_is_refused():
    X = 1e200 * rows(5)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="finite"):
        kernel_components.fill_kernel_matrix(kernels.Linear(1.0), X)
