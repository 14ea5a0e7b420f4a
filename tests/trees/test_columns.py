"""Single columns: drawn fairly, looked up exactly."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.trees.families import binning
from posterity.trees.families.columns import Columns, shuffle_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 7))


def test_a_node_sees_each_column_once_before_any_twice():
    tests = Columns().adapt_to(X).draw(50, 17, np.random.default_rng(1))[..., 0]
    for node in tests:
        assert len(set(node[:7])) == 7
        assert len(set(node[7:14])) == 7
        assert len(set(node[14:])) == 3


def test_every_column_is_as_likely_at_every_turn():
    tests = Columns().adapt_to(X).draw(7000, 3, np.random.default_rng(2))[..., 0]
    for k in range(3):
        assert stats.chisquare(np.bincount(tests[:, k], minlength=7)).pvalue > 1e-3


def test_pairs_of_columns_are_equally_likely():
    drawn = shuffle_columns(5, np.random.default_rng(3).random((10_000, 2)))
    counts = np.bincount(5 * drawn[:, 0] + drawn[:, 1], minlength=25).reshape(5, 5)
    assert np.all(np.diag(counts) == 0)
    assert stats.chisquare(counts[~np.eye(5, dtype=bool)]).pvalue > 1e-3


def test_the_largest_chance_stays_within_the_columns():
    for n in (1, 2, 3, 7, 10, 1000):
        assert shuffle_columns(n, np.full((1, 1), 1.0 - 2.0**-53))[0, 0] == n - 1


def test_tests_are_small_integers():
    columns = Columns().adapt_to(X)
    assert columns.draw(2, 3, np.random.default_rng(0)).dtype == np.int32
    assert columns.catalogue().dtype == np.int32
    np.testing.assert_array_equal(np.sort(columns.catalogue()[:, 0]), np.arange(7))


def test_prepared_rows_are_codes_of_the_rows_that_were_fitted():
    columns = Columns().adapt_to(X)
    np.testing.assert_array_equal(columns.prepare_rows(X), binning.encode(X, binning.find_edges(X)))
    np.testing.assert_array_equal(columns.cuts(np.array([[3], [0]])), binning.find_edges(X)[[3, 0]])
    known = {"order": columns.column_order()}
    assert Columns(binning.find_edges(X), np.empty(0, dtype=np.int32), **known) == columns


@for_each(("n_columns", "n_tests"), [(1, 1), (2, 2), (9, 3), (10, 4), (54, 8)])
def test_default_tests_are_the_square_root(n_columns, n_tests):
    assert Columns().adapt_to(np.zeros((2, n_columns))).default_tests() == n_tests


def test_columns_that_have_seen_no_data_say_so():
    with pytest.raises(ValueError, match=r"seen no data yet: use Columns\(\)\.fitted"):
        Columns().draw(1, 1, np.random.default_rng(0))
