"""Pre-images: where the slope vanishes, where theory says, and no farther than any start."""

import numpy as np
from scipy import optimize as scipy_optimize
from support.for_each import for_each

from posterity import kernels
from posterity.latent.components import kernel as kernel_components
from posterity.latent.components import preimages

KERNELS = [
    kernels.RBF(1.5),
    kernels.RBF([1.0, 2.0, 4.0]),
    kernels.Matern(2.0, smoothness=1.5),
    kernels.RationalQuadratic(1.5, shape=2.0),
    kernels.Polynomial(3, offset=2.0),
    2.0 * kernels.RBF(1.5) + kernels.Linear(0.3),
    kernels.Function(lambda X, Z: np.exp(-0.2 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))),
]


def rows(n=25, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 5.0]


def fitted(kernel, X, n_components=None):
    return kernel_components.decompose_kernel(
        kernel_components.fill_kernel_matrix(kernel, X), n_components
    )


def distance(kernel, X, g, x):
    """Squared distance in feature space from the point with weights g, less its own length."""
    return float(kernel.diag(x[None])[0] - 2.0 * kernel(x[None], X)[0] @ g)


@for_each("kernel", KERNELS, ids=str)
def test_no_row_near_a_pre_image_is_nearer(kernel):
    X = rows()
    components = fitted(kernel, X, 4)
    T = components.scores[:5] + 0.05 * np.sqrt(components.variances)
    found = preimages.find_preimages(kernel, X, components, T, tol=1e-7)
    assert found.converged.all()
    for x, value, g in zip(found.x, found.value, components.expansion(T), strict=True):
        here = distance(kernel, X, g, x)
        np.testing.assert_allclose(value * components.total_variance, here, rtol=1e-10, atol=1e-12)
        polished = scipy_optimize.minimize(lambda z, g=g: distance(kernel, X, g, z), x)
        assert here <= polished.fun + 1e-6 * components.total_variance


def test_slopes_are_those_of_differences():
    X, kernel = rows(), kernels.Polynomial(2, offset=1.0) + kernels.RBF(1.0)
    G = np.random.default_rng(1).normal(size=(40, 25))
    ask = preimages._Distance(kernel, X, G, 3.0)
    u, which = np.random.default_rng(2).normal(size=(36, 3)), np.arange(2, 38)
    _, slope = ask(u, which)
    for d in range(3):
        step = 1e-6 * np.eye(3)[d]
        rise = ask(u + step, which)[0] - ask(u - step, which)[0]
        np.testing.assert_allclose(slope[:, d], rise / 2e-6, rtol=1e-5, atol=1e-5)


def test_with_an_rbf_kernel_each_is_the_mean_that_mika_iterates():
    X, kernel = rows(60), kernels.RBF(1.5)
    components = fitted(kernel, X, 6)
    T = components.project(kernel(rows(8, seed=1), X))
    found = preimages.find_preimages(kernel, X, components, T, tol=1e-9)
    W = components.expansion(T) * kernel(found.x, X)
    np.testing.assert_allclose(found.x, W @ X / W.sum(axis=1, keepdims=True), atol=1e-6)


@for_each("shift", [0.0, 1e4])
def test_with_a_linear_kernel_it_is_the_reconstruction_of_pca(shift):
    X, new = rows(40) + shift, rows(7, seed=1) + shift
    kernel = kernels.Linear(0.7)
    components = fitted(kernel, X, 2)
    found = preimages.find_preimages(
        kernel, X, components, components.project(kernel(new, X)), tol=1e-9
    )
    mean = X.mean(axis=0)
    _, _, Vt = np.linalg.svd(X - mean, full_matrices=False)
    expected = mean + (new - mean) @ Vt[:2].T @ Vt[:2]
    np.testing.assert_allclose(found.x, expected, atol=1e-5 if shift else 1e-7)


@for_each("kernel", KERNELS, ids=str)
def test_training_rows_with_every_component_give_themselves_back(kernel):
    X = rows()
    components = fitted(kernel, X)
    found = preimages.find_preimages(kernel, X, components, components.scores)
    assert found.converged.all()
    np.testing.assert_allclose(found.x, X, atol=1e-4)


def test_the_best_of_the_starts_is_taken():
    X, kernel = np.array([[0.0], [0.1], [9.0], [9.1]]), kernels.RBF(0.5)
    G = np.array([[0.4, 0.4, 0.1, 0.1]])
    near, far = np.array([[0.5]]), np.array([[9.5]])
    ends = [
        preimages.find_nearest(kernel, X, G, order, size=1.0).x
        for order in ((near, far), (far, near))
    ]
    np.testing.assert_allclose(ends, 0.05, atol=1e-3)


def test_blocks_of_queries_are_all_queries(monkeypatch):
    X, kernel = rows(), kernels.RBF(1.5)
    components = fitted(kernel, X, 4)
    T = components.scores[:10] * 0.9
    whole = preimages.find_preimages(kernel, X, components, T, tol=1e-9)
    monkeypatch.setattr(preimages, "_BLOCK_VALUES", 3 * len(X))
    parts = preimages.find_preimages(kernel, X, components, T, tol=1e-9)
    np.testing.assert_allclose(parts.x, whole.x, atol=1e-8)
    assert parts.converged.shape == parts.n_iter.shape == parts.value.shape == (10,)


def test_equal_training_rows_and_few_of_them_do_no_harm():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    components = fitted(kernels.RBF(1.0), X)
    found = preimages.find_preimages(kernels.RBF(1.0), X, components, components.scores)
    np.testing.assert_allclose(found.x, X, atol=1e-6)


def test_scores_beyond_all_numbers_have_no_rows_and_no_warnings():
    X, kernel = rows(), kernels.RBF(1.0)
    components = fitted(kernel, X, 3)
    found = preimages.find_preimages(kernel, X, components, np.full((2, 3), 1e200))
    assert np.isfinite(found.x).all()
    assert not found.converged.any()


def test_too_few_iterations_are_told():
    X, kernel = rows(), kernels.RBF(1.0)
    components = fitted(kernel, X, 3)
    found = preimages.find_preimages(
        kernel, X, components, 0.7 * components.scores, max_iter=1, tol=1e-9
    )
    assert not found.converged.all()
    assert np.max(found.n_iter) == 1
