"""Functions as kernels: what they return is checked, and copied."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.kernels import RBF, Function

X = np.random.default_rng(0).normal(size=(5, 2))


def test_what_the_function_keeps_for_itself_stays_its_own():
    kept = np.eye(5)
    kernel = Function(lambda X, Z: kept)
    K = kernel(X)
    K *= 2.0
    (kernel * RBF(1.0) + kernel)(X)
    np.testing.assert_array_equal(kept, np.eye(5))


@for_each(
    "values", [np.eye(5, dtype=bool), np.eye(5, dtype=np.int8), np.eye(5).tolist(), np.eye(5)[::-1]]
)
def test_any_real_numbers_become_float64(values):
    K = Function(lambda X, Z: values)(X)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, np.asarray(values, dtype=float))


@for_each(
    ("values", "match"),
    [
        (np.eye(4), r"Function\(<lambda>\) returned shape \(4, 4\); expected \(5, 5\)"),
        (3.0, r"returned shape \(\); expected \(5, 5\)"),
        (np.eye(5) * 1j, "returned complex128 values; expected real numbers"),
        (np.full((5, 5), "a"), "returned <U1 values; expected real numbers"),
        (np.full((5, 5), None), "returned object values; expected real numbers"),
        (np.where(np.eye(5), 1.0, np.inf), "is inf for row 0 of X and row 1 of Z"),
        (np.diag([1, 1, np.nan, 1, 1]), "is nan for row 2 of X and row 2 of Z"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_named(values, match):
    with pytest.raises(ValueError, match=match):
        Function(lambda X, Z: values)(X)


def test_values_that_can_be_called_print_as_they_are():
    assert repr(Function(RBF(0.5))) == "Function(RBF(0.5))"
    assert Function(RBF(0.5)) == Function(RBF(0.5))
    np.testing.assert_array_equal(Function(RBF(0.5))(X), RBF(0.5)(X, X))
