import numpy as np
import pytest
from trees.forest_oracles import random_tree, trees_of, walked

from posterity import RandomForestClassifier, compilation
from posterity.trees.families import projections
from posterity.trees.families.columns import Columns
from posterity.trees.families.family import Family
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


@pytest.mark.parametrize("is_compiled", [True, False])
def test_sums_of_columns_are_routed_as_they_are_answered(is_compiled, rows, monkeypatch):
    X = rows
    family = projections.Projections(3).adapt_to(X)
    if not is_compiled:
        monkeypatch.setattr(type(family), "compile_answer", lambda self: None)
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


class Windows:
    """Rows that are no array: places in one of several images."""

    def __init__(self, images, table):
        self.images, self.table = images, table

    def __len__(self):
        return len(self.table)


@compilation.compile_at_first_call
def step(rows, place, test):
    images, table = rows
    n, x = table[place]
    there = x + test[0]
    return images[n, there] - images[n, x] if 0 <= there < images.shape[1] else np.nan


class Steps(Family):
    """How much lighter an image is a few pixels away."""

    is_of_columns = False

    def draw(self, n_nodes, n_tests, rng):
        return rng.integers(-4, 5, size=(n_nodes, n_tests, 1))

    def compile_answer(self):
        return step

    def unpack_rows(self, rows):
        return rows.images, rows.table


def test_a_compiled_answer_is_all_that_a_family_of_any_rows_needs():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(5, 30))
    table = np.stack(np.divmod(rng.permutation(150), 30), axis=1)
    rows, y = Windows(images, table), (images[table[:, 0], table[:, 1]] > 0.0).astype(int)
    model = RandomForestClassifier(9, splits=Steps(), max_depth=6, random_state=0).fit(rows, y)
    grown = model.forest_.trees
    expected = [
        walked(grown, lambda test, i=i: step.py_func((images, table), i, test)) for i in range(150)
    ]
    np.testing.assert_array_equal(model.apply(rows), expected)
    assert model.score(rows, y) > 0.8
    with pytest.raises(TypeError, match="Silent has no answers: write respond, or compile_answer"):
        type("Silent", (Family,), {"draw": Steps.draw})().respond(rows, *3 * [np.zeros(1)])


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
