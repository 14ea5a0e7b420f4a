"""The greedy choice of inducing points: a pivoted Cholesky factorisation, row by row."""

import numpy as np
import pytest

from posterity import kernels
from posterity.kernels import strings
from posterity.process.inducing import selection


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def brute_force(kernel, X, n_points):
    """The row of largest variance given those chosen, by a solve each time."""
    chosen = []
    for _ in range(n_points):
        K, k = kernel(X[chosen]), kernel(X[chosen], X)
        left = kernel.diag(X) - np.sum(k * np.linalg.solve(K, k), axis=0)
        left[chosen] = -np.inf
        chosen.append(int(np.argmax(left)))
    return chosen


@pytest.mark.parametrize("kernel", [2.0 * kernels.RBF((0.5, 0.8)), kernels.RBF(0.7) + 0.3])
def test_each_row_has_the_largest_variance_given_those_before(rng, kernel):
    X = rng.normal(size=(60, 2))
    found = selection.select_greedily(kernel, X, 12)
    assert list(found) == brute_force(kernel, X, 12)


def test_no_row_is_chosen_twice_nor_a_copy_of_one(rng):
    distinct = rng.normal(size=(9, 2))
    X = np.tile(distinct, (5, 1))
    found = selection.select_greedily(kernels.RBF(0.5), X, 30)
    assert len(found) == 9
    assert len(np.unique(X[found], axis=0)) == 9


def test_no_row_is_chosen_twice_where_each_has_a_part_of_its_own(rng):
    X = rng.normal(size=(20, 2))
    found = selection.select_greedily(kernels.RBF(0.5) + kernels.White(1.0), X, 20)
    assert sorted(found) == list(range(20))


def test_no_more_are_chosen_than_tell_the_others():
    X = np.linspace(0.0, 1.0, 100)[:, None]
    kernel = kernels.Linear(1.0) + 2.0
    assert len(selection.select_greedily(kernel, X, 50)) == 2
    few = selection.select_greedily(kernels.RBF(1.0), X, 50, tolerance=1e-2)
    more = selection.select_greedily(kernels.RBF(1.0), X, 50)
    assert len(few) < len(more) < 50
    assert list(more[: len(few)]) == list(few)


def test_more_points_than_rows_are_all_rows(rng):
    X = 100.0 * rng.normal(size=(5, 1))
    assert sorted(selection.select_greedily(kernels.RBF(0.1), X, 8)) == [0, 1, 2, 3, 4]


def test_of_many_rows_the_choice_is_among_some(rng):
    X = rng.normal(size=(300, 2))
    chosen = [
        selection.select_greedily(
            kernels.RBF(0.3), X, 10, max_rows=50, rng=np.random.default_rng(seed)
        )
        for seed in (1, 1, 2)
    ]
    assert list(chosen[0]) == list(chosen[1])
    assert list(chosen[0]) != list(chosen[2])
    drawn = np.sort(np.random.default_rng(1).choice(300, size=50, replace=False))
    among = selection.select_greedily(kernels.RBF(0.3), X[drawn], 10)
    assert list(chosen[0]) == list(drawn[among])


def test_objects_and_tensors_may_be_chosen(rng):
    words = ["anna", "anna", "bert", "anna", "clara"]
    found = selection.select_greedily(strings.Spectrum(length=2), words, 4)
    assert {words[i] for i in found} == {"anna", "bert", "clara"}
    torch = pytest.importorskip("torch")
    X = rng.normal(size=(40, 2))
    kernel = kernels.RBF(0.5)
    assert np.array_equal(
        selection.select_greedily(kernel, torch.asarray(X), 10),
        selection.select_greedily(kernel, X, 10),
    )
