"""What learners rely on, whatever the tests are: one table of families, one contract."""

import copy
import pickle

import numpy as np
import pytest
from support.for_each import for_each

from posterity.trees.families import columns, projections
from posterity.trees.families.family import Function

N, D = 40, 5


def _table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * [1.0, 1e-3, 1e6, 1.0, 1.0] + [0.0, 5.0, 0.0, 0.0, 2.0]
    X[:, 3] = rng.integers(3, size=N)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


X = _table()


def product(rows, place, test):
    return rows[place, test[0]] * rows[place, test[1]]


def products(rows, places, tests):
    return rows[places, tests[:, 0]] * rows[places, tests[:, 1]]


def two_columns(n, rng):
    return rng.integers(D, size=(n, 2))


def looked_up(row, test):
    if test[0] < D:
        return row[int(test[0])]
    x = row[int(test[0]) - D]  # every column has missing values, and so a second test
    return -np.inf if np.isnan(x) else x


def added_up(row, test):
    S = len(test) // 2
    return sum((w * row[int(d)] for d, w in zip(test[:S], test[S:], strict=True)), 0.0)


def multiplied(row, test):
    return row[int(test[0])] * row[int(test[1])]


# The family, the numbers that say which test, the number of tests there are, and what one answers.
FAMILIES = [
    (columns.Columns(), 1, 2 * D, looked_up),
    (projections.Differences(), 4, 10, added_up),
    (projections.Projections(), 4, None, added_up),
    (projections.Projections(n_columns=1), 2, None, added_up),
    (projections.Projections(n_columns=50), 2 * D, None, added_up),
    (projections.Projections(n_columns=None), 2 * D, None, added_up),
    (projections.Orientations(), 4, D + 10 * 18, added_up),
    (projections.Orientations(n_angles=2), 4, D, added_up),
    (Function(product, two_columns), 2, None, multiplied),
    (Function(products, two_columns, vectorised=True), 2, None, multiplied),
]
NAMES = [f"{k} {type(row[0]).__name__}" for k, row in enumerate(FAMILIES)]
TABLE = pytest.mark.parametrize(("family", "P", "J", "answer"), FAMILIES, ids=NAMES)


def _asked(family, n_nodes=4, n_tests=6, m=70):
    """Tests, and rows in disorder, some more than once, in nodes in disorder."""
    rng = np.random.default_rng(1)
    tests = family.draw(n_nodes, n_tests, rng)
    places = rng.integers(N, size=m).astype(np.int32)
    return places, tests, rng.integers(n_nodes, size=m).astype(np.int32)


@TABLE
def test_each_row_answers_the_tests_of_its_node(family, P, J, answer):
    fitted = family.adapt_to(X)
    places, tests, which = _asked(fitted)
    answers = fitted.respond(X, places, tests, which)
    assert answers.dtype == np.float64
    expected = [
        [answer(X[place], tests[node, k]) for place, node in zip(places, which, strict=True)]
        for k in range(tests.shape[1])
    ]
    np.testing.assert_array_equal(answers, expected)


@TABLE
def test_missing_entries_make_missing_answers(family, P, J, answer):
    fitted = family.adapt_to(X)
    places, tests, which = _asked(fitted)
    answers = fitted.respond(np.full_like(X, np.nan), places, tests, which)
    is_low = tests[which, :, 0].T >= D if isinstance(family, columns.Columns) else False
    np.testing.assert_array_equal(answers, np.where(is_low, -np.inf, np.nan))


@TABLE
def test_prepared_rows_decide_as_the_rows_themselves(family, P, J, answer):
    fitted = family.adapt_to(X)
    places, tests, which = _asked(fitted)
    numbers = fitted.respond(X, places, tests, which)
    prepared = fitted.respond(fitted.prepare_rows(X), places, tests, which)
    assert prepared.shape == numbers.shape
    if prepared.dtype == np.float64:
        assert fitted.cuts(tests[0]) is None
        np.testing.assert_array_equal(prepared, numbers)
        return
    assert prepared.dtype == np.uint8
    for k in range(tests.shape[1]):
        cuts = fitted.cuts(tests[which, k])
        codes = np.arange(cuts.shape[1])
        np.testing.assert_array_equal(prepared[k][:, None] <= codes, numbers[k][:, None] <= cuts)


@TABLE
def test_shapes_are_kept_where_there_is_nothing(family, P, J, answer):
    fitted, none = family.adapt_to(X), np.empty(0, dtype=np.int32)
    assert fitted.draw(0, 3, np.random.default_rng(0)).shape == (0, 3, P)
    tests = fitted.draw(2, 3, np.random.default_rng(0))
    assert fitted.respond(X, none, tests, none).shape == (3, 0)


@TABLE
def test_tests_are_the_same_for_the_same_seed_alone(family, P, J, answer):
    fitted = family.adapt_to(X)
    first, again, other = (fitted.draw(9, 4, np.random.default_rng(s)) for s in (3, 3, 4))
    assert first.shape == (9, 4, P)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@TABLE
def test_tests_of_one_node_differ_where_they_can(family, P, J, answer):
    if isinstance(family, Function):
        pytest.skip("That is for the sampler of the user to see to.")
    n_tests = 12 if J is None else J
    for node in family.adapt_to(X).draw(20, n_tests, np.random.default_rng(5)):
        assert len(np.unique(node, axis=0)) == n_tests


@TABLE
def test_more_tests_than_there_are_can_be_asked_for(family, P, J, answer):
    n_tests = 30 if J is None else J + 3
    for node in family.adapt_to(X).draw(5, n_tests, np.random.default_rng(5)):
        assert node.shape == (n_tests, P)
        assert J is None or len(np.unique(node, axis=0)) == J


@TABLE
def test_what_is_drawn_is_in_the_catalogue(family, P, J, answer):
    fitted = family.adapt_to(X)
    if J is None:
        with pytest.raises(TypeError, match="no end of tests"):
            fitted.catalogue()
        return
    every = fitted.catalogue()
    assert every.shape == (J, P)
    assert len(np.unique(every, axis=0)) == J
    drawn = fitted.draw(300, 5, np.random.default_rng(0)).reshape(-1, P)
    assert drawn.dtype == every.dtype
    assert len(np.unique(np.concatenate([every, drawn]), axis=0)) == J
    assert len(np.unique(drawn, axis=0)) == J


@TABLE
def test_fitting_leaves_a_family_as_it_was(family, P, J, answer):
    before, text, given = copy.deepcopy(family), repr(family), X.copy()
    first = family.adapt_to(X)
    assert family == before
    assert repr(family) == text
    np.testing.assert_array_equal(X, given)
    assert first == family.adapt_to(X)
    assert first.adapt_to(X) == first


@TABLE
@for_each("n_rows", [N, 1500])
def test_a_weight_teaches_a_family_what_repeated_rows_do(family, P, J, answer, n_rows):
    rng = np.random.default_rng(n_rows)
    rows = rng.gamma(0.5, size=(n_rows, D)) * [1.0, 1e-3, 1e6, 1.0, 1.0]
    rows[rng.random(rows.shape) < 0.15] = np.nan
    times = rng.integers(0, 7, size=n_rows)
    rows[times == 0] *= 1e200
    weighted = family.adapt_to(rows, times.astype(float))
    assert weighted == family.adapt_to(np.repeat(rows, times, axis=0))
    assert family.adapt_to(rows, np.full(n_rows, 3.0)) == family.adapt_to(rows)


@TABLE
def test_families_are_values(family, P, J, answer):
    fitted = family.adapt_to(X)
    for one in (family, fitted):
        back = pickle.loads(pickle.dumps(one))
        assert back == one
        assert repr(back) == repr(one)
    places, tests, which = _asked(fitted)
    np.testing.assert_array_equal(
        back.respond(X, places, tests, which), fitted.respond(X, places, tests, which)
    )


def test_families_that_differ_are_not_equal():
    families = [family for family, *_ in FAMILIES]
    families += [family.adapt_to(X) for family in families if family.is_of_columns]
    families += [family.adapt_to(2 * X[:, :3]) for family in families[:7]]
    for i, one in enumerate(families):
        assert [one == other for other in families].count(True) == 1
        assert one == families[i]


@TABLE
def test_a_node_is_offered_at_least_one_test(family, P, J, answer):
    assert family.adapt_to(X).default_tests() >= 1


@TABLE
def test_rows_in_any_order_of_memory_answer_the_same(family, P, J, answer):
    fitted = family.adapt_to(X)
    places, tests, which = _asked(fitted)
    np.testing.assert_array_equal(
        fitted.respond(np.asfortranarray(X), places, tests, which),
        fitted.respond(X, places, tests, which),
    )
