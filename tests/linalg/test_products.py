"""Products through SciPy's BLAS are those of NumPy, in every order."""

import numpy as np
import pytest

from posterity import linalg
from posterity.linalg import products


@pytest.mark.parametrize("shape", [(50, 4), (4, 50), (1, 1), (0, 3), (3, 0), (7, 7)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gram_is_symmetric_and_right(shape, order, rng):
    A = np.array(rng.normal(size=shape), order=order)
    G = products.gram(A)
    np.testing.assert_allclose(G, A.T @ A, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(G, G.T)


@pytest.mark.parametrize("shape", [(50, 4), (4, 50), (0, 3), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("order_b", ["C", "F"])
def test_product_is_right(shape, order, order_b, rng):
    A = np.array(rng.normal(size=shape), order=order)
    B = np.array(rng.normal(size=(shape[1], 5)), order=order_b)
    np.testing.assert_allclose(products.product(A, B), A @ B, rtol=1e-12, atol=1e-13)


def test_views_of_neither_order_are_multiplied_too(rng):
    A = rng.normal(size=(20, 8))[::2, ::3]
    np.testing.assert_allclose(products.gram(A), A.T @ A, rtol=1e-13)
    np.testing.assert_allclose(products.product(A, A.T), A @ A.T, rtol=1e-13)


def test_norms_of_columns_survive_any_size(rng):
    A = rng.normal(size=(30, 3))
    sizes = np.array([1e300, 1.0, 1e-300])
    np.testing.assert_allclose(
        linalg.column_norms(A * sizes) / sizes, np.linalg.norm(A, axis=0), rtol=1e-13
    )
