import numpy as np
import pytest
from trees.forest_oracles import random_tree, trees_of, walked

from posterity.trees.families import projections
from posterity.trees.families.columns import Columns
from posterity.trees.forests import routing
from posterity.trees.forests.forest import Forest
from posterity.trees.structure import Trees


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 3)), rng.integers(3, size=60)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.fixture(scope="module")
def family(rows):
    return Columns().adapt_to(rows)


@pytest.fixture(scope="module")
def forest(family):
    rng = np.random.default_rng(1)
    return Trees.join([random_tree(n, family.edges, rng) for n in (0, 1, 2, 30, 7, 0, 12)])


def entry(family, row, test):
    """What stands in the column; a missing value is the smallest in tests beyond the columns."""
    x = row[family.columns_of(np.array([test]))[0]]
    return -np.inf if test[0] >= len(row) and np.isnan(x) else x


def test_every_row_comes_to_the_leaf_it_walks_to(family, forest, rows):
    expected = [walked(forest, lambda test, row=row: entry(family, row, test)) for row in rows]
    assert forest.tests.max() >= rows.shape[1]
    found = Forest(family, forest).apply(rows)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)


def test_thresholds_between_two_codes_are_obeyed(family, forest, rows):
    between = forest.thresholds + 1e-9
    moved = Trees(
        forest.roots, forest.tests, between, forest.children, forest.gains, forest.n_leaves
    )
    X = rows.copy()
    for node in range(len(between)):  # rows that codes could not tell apart
        column = family.columns_of(forest.tests[node : node + 1])[0]
        X[node % len(X), column] = between[node] - (node % 2) * 5e-10
    X[np.isinf(X)] = 0.0
    expected = [walked(moved, lambda test, row=row: entry(family, row, test)) for row in X]
    np.testing.assert_array_equal(Forest(family, moved).apply(X), expected)


@pytest.mark.parametrize("known", [True, False], ids=["linear", "unknown"])
def test_sums_of_columns_are_routed_as_they_are_answered(known, rows, monkeypatch):
    if not known:
        monkeypatch.setattr(routing, "LinearFamily", ())
    X = rows
    family = projections.Projections(3).adapt_to(X)
    rng = np.random.default_rng(3)
    shape = random_tree(20, Columns().adapt_to(X).edges, rng)
    tests = family.draw(20, 1, rng)[:, 0]
    trees = Trees(
        shape.roots, tests, rng.normal(size=20), shape.children, shape.gains, shape.n_leaves
    )
    both = Trees.join([trees, trees])
    place, which = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)

    def answer(row):
        return lambda test: family.respond(row[None], place, test[None, None], which)[0, 0]

    expected = np.array([walked(both, answer(row)) for row in X])
    np.testing.assert_array_equal(Forest(family, both).apply(X), expected)
    places, unasked = np.array([9, 2], dtype=np.int32), np.array([[False, True], [True, False]])
    found = routing.Router(family, both).leaves(X, places, unasked)
    np.testing.assert_array_equal(found, np.where(unasked, -1, expected[places].T))


def test_only_the_pairs_that_are_asked_for_are_answered(family, forest, rows):
    places = np.array([5, 3, 50, 7], dtype=np.int32)
    unasked = np.random.default_rng(0).random((forest.n_trees, 4)) < 0.5
    everything = Forest(family, forest).apply(rows)[places].T
    found = routing.Router(family, forest).leaves(rows, places, unasked)
    np.testing.assert_array_equal(found, np.where(unasked, -1, everything))


def test_missing_answers_go_to_the_second_child_even_at_infinity():
    family = Columns().adapt_to(np.array([[0.0], [1.0]]))
    trees = trees_of([0], [0], [np.inf], [~0, ~1], 2)
    X = np.array([[1e308], [np.nan], [-5.0]])
    assert Forest(family, trees).apply(X).ravel().tolist() == [0, 1, 0]


def test_no_rows_come_to_no_leaves(family, forest):
    assert Forest(family, forest).apply(np.empty((0, 4))).shape == (0, forest.n_trees)
