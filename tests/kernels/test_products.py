"""Products with a matrix that is never formed."""

import numpy as np
import pytest

from posterity.kernels import distances as products


@pytest.mark.parametrize("values", [1, 20, 1 << 15])
@pytest.mark.parametrize("hollow", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_strips_are_the_whole(values, hollow, order, monkeypatch):
    monkeypatch.setattr(products, "_STRIP_VALUES", values)
    rng = np.random.default_rng(0)
    S, G = (np.array(rng.normal(size=(9, 9)), order=order) for _ in range(2))
    M = rng.normal(size=(9, 3))
    W = S * G - hollow * np.diag(np.diag(S * G))
    before = S.copy(), G.copy()
    np.testing.assert_allclose(products.weighted_product(S, G, M, hollow=hollow), W @ M, rtol=1e-12)
    np.testing.assert_array_equal((S, G), before)


def test_of_more_columns_than_rows():
    S, G, M = np.ones((2, 5)), np.arange(10.0).reshape(2, 5), np.eye(5)
    np.testing.assert_array_equal(products.weighted_product(S, G, M, hollow=False), G)


def test_a_heavy_diagonal_that_is_left_out_costs_no_digits():
    S = np.array([[1e20, 1.0], [1.0, 1e20]])
    product = products.weighted_product(S, np.ones((2, 2)), np.array([[1.0], [3.0]]), hollow=True)
    np.testing.assert_array_equal(product, [[3.0], [1.0]])
