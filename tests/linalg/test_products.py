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


@pytest.mark.parametrize("shape", [(9, 3), (3, 9), (1, 1), (4, 0), (0, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_lower_triangle_is_updated_and_the_upper_stays(shape, order, rng):
    A = np.array(rng.normal(size=shape), order=order)
    C = np.asfortranarray(rng.normal(size=(shape[0], shape[0])))
    expected = np.tril(-2.0 * C + 0.5 * A @ A.T) + np.triu(C, k=1)
    products.update_lower_triangle(C, A, keep=-2.0, scale=0.5)
    np.testing.assert_allclose(C, expected, rtol=1e-13, atol=1e-13)


def test_only_what_can_be_updated_in_place_is():
    with pytest.raises(ValueError, match="in Fortran order"):
        products.update_lower_triangle(np.eye(3), np.ones((3, 1)), keep=1.0, scale=1.0)
