"""The largest eigenvalues: those of LAPACK, found as often as they occur, by either route."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.linalg import leading


def with_spectrum(d, seed=0):
    """A symmetric matrix with these eigenvalues, and its vectors."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(len(d), len(d))))
    return (Q * d) @ Q.T, Q


@for_each("n", [5, 120, 700])
@for_each("k", [1, 4])
def test_pairs_are_those_of_the_full_decomposition(n, k):
    d = 0.9 ** np.arange(n)
    A, Q = with_spectrum(d)
    values, V = leading.leading_eigenpairs(A, k)
    np.testing.assert_allclose(values, d[:k], rtol=1e-12)
    np.testing.assert_allclose(np.abs(Q[:, :k].T @ V), np.eye(k), atol=1e-9)


def test_every_pair_of_a_small_matrix_can_be_had():
    d = np.array([3.0, 2.0, 0.5, 0.0])
    values, V = leading.leading_eigenpairs(with_spectrum(d)[0], 4)
    np.testing.assert_allclose(values, d, atol=1e-14)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-14)


def test_an_eigenvalue_that_occurs_five_times_is_found_five_times():
    d = np.concatenate([np.full(5, 2.0), 0.8 ** np.arange(695)])
    values, _ = leading.leading_eigenpairs(with_spectrum(d)[0], 6)
    np.testing.assert_allclose(values, [2.0, 2.0, 2.0, 2.0, 2.0, 1.0], rtol=1e-12)


def test_fewer_directions_than_asked_for_leave_zeros():
    B = np.random.default_rng(0).normal(size=(800, 3))
    values, V = leading.leading_eigenpairs(B @ B.T, 5)
    assert np.all(values[:3] > 1.0)
    np.testing.assert_allclose(values[3:], 0.0, atol=1e-12 * values[0])
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-12)


@for_each("n", [6, 700])
def test_a_matrix_of_zeros_has_zero_eigenvalues(n):
    values, V = leading.leading_eigenpairs(np.zeros((n, n)), 2)
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-14)


def test_iteration_is_tried_only_where_it_is_cheaper(monkeypatch):
    def refuse(*_):
        raise AssertionError("iterated")

    monkeypatch.setattr(leading, "_iterate_krylov", refuse)
    A, _ = with_spectrum(0.9 ** np.arange(700))
    leading.leading_eigenpairs(A, 30)
    with pytest.raises(AssertionError, match="iterated"):
        leading.leading_eigenpairs(A, 2)


def test_where_iteration_does_not_converge_lapack_takes_over(monkeypatch):
    calls = []
    by_lapack = leading._decompose_by_lapack
    monkeypatch.setattr(
        leading,
        "_decompose_by_lapack",
        lambda *args: calls.append(len(args[0])) or by_lapack(*args),
    )
    d = np.linspace(1.0, 0.999, 700)
    values, _ = leading.leading_eigenpairs(with_spectrum(d)[0], 3, max_products=2)
    assert calls == [700]
    np.testing.assert_allclose(values, d[:3], rtol=1e-12)


def test_the_basis_stays_small_where_convergence_is_slow(monkeypatch):
    widths = []
    outside = leading._orthogonal_directions
    monkeypatch.setattr(
        leading, "_orthogonal_directions", lambda B, R: widths.append(B.shape[1]) or outside(B, R)
    )
    d = 0.99 ** np.arange(700)
    values, _ = leading.leading_eigenpairs(with_spectrum(d)[0], 2)
    np.testing.assert_allclose(values, d[:2], rtol=1e-12)
    assert len(widths) > 6
    assert max(widths) <= 50


@for_each("n", [40, 700])
def test_the_largest_entry_of_each_vector_is_positive(n):
    _, V = leading.leading_eigenpairs(with_spectrum(0.9 ** np.arange(n))[0], 3)
    largest = np.abs(V).argmax(axis=0)
    assert np.all(V[largest, [0, 1, 2]] > 0.0)


def test_of_entries_equal_to_rounding_the_first_is_positive():
    V = np.array([[-0.5], [0.5 + 1e-12], [0.5]])
    np.testing.assert_array_equal(leading._signs(V), [-1.0])


def test_the_same_matrix_gives_the_same_vectors():
    A, _ = with_spectrum(0.95 ** np.arange(700))
    first, second = (leading.leading_eigenpairs(A, 3)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)


@for_each("overwrite", [True, False])
@for_each("n", [40, 700])
def test_the_matrix_is_left_alone_unless_its_memory_is_offered(overwrite, n):
    A, _ = with_spectrum(0.9 ** np.arange(n))
    before = A.copy()
    values, _ = leading.leading_eigenpairs(A, 3, overwrite=overwrite)
    np.testing.assert_allclose(values, 0.9 ** np.arange(3), rtol=1e-12)
    assert overwrite or np.array_equal(A, before)


@for_each(("n", "k"), [(40, 3), (40, 39), (700, 3)])
def test_what_is_not_finite_is_refused_in_words(n, k):
    A = np.eye(n)
    A[1, 2] = A[2, 1] = np.nan
    with pytest.raises(linalg.NonFiniteError, match="NaN or infinite"):
        leading.leading_eigenpairs(A, k)
