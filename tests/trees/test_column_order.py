"""The order of columns is said by their values, whatever rows, weights and units they come in."""

import numpy as np
from support.for_each import for_each

from posterity.trees.families import binning
from posterity.trees.families.columns import order_columns

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(80, 70))  # more columns than are hashed at once
MISSING = np.where(RNG.random((80, 5)) < 0.3, np.nan, NUMBERS[:, :5])
FLAGS = np.eye(4)[RNG.permutation(np.repeat(np.arange(4), 20))]  # as many rows of each
CHAIN = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])


def sorted_rows(X, weights=None):
    """The rows with their columns in order."""
    return X[:, order_columns(X, binning.find_edges(X, weights), weights)]


@for_each(
    "X",
    [
        NUMBERS,
        MISSING,
        np.column_stack([FLAGS, NUMBERS[:, 0]]),
        np.column_stack([NUMBERS[:, 0], np.exp(NUMBERS[:, 0]), NUMBERS[:, 0] ** 3]),
        np.column_stack([NUMBERS[:, 0], NUMBERS[:, 0], np.ones(80), np.ones(80)]),
        RNG.normal(size=(11_000, 3)),
    ],
)
def test_it_is_the_same_wherever_columns_stand(X):
    order = RNG.permutation(X.shape[1])
    np.testing.assert_array_equal(sorted_rows(X[:, order]), sorted_rows(X))


@for_each("X", [NUMBERS, MISSING, np.column_stack([FLAGS, NUMBERS[:, 0]])])
def test_it_is_the_same_in_any_order_of_rows_units_and_repetitions(X):
    edges = binning.find_edges(X)
    expected = order_columns(X, edges)
    shuffled = RNG.permutation(len(X))
    np.testing.assert_array_equal(order_columns(X[shuffled], edges), expected)
    np.testing.assert_array_equal(order_columns(7.0 * X, 7.0 * edges), expected)
    np.testing.assert_array_equal(order_columns(X, edges, np.full(len(X), 3.0)), expected)
    times = RNG.integers(1, 4, len(X))
    np.testing.assert_array_equal(
        order_columns(X, edges, times.astype(float)),
        order_columns(np.repeat(X, times, axis=0), edges),
    )


def test_columns_that_differ_in_their_neighbours_alone_are_are_distinguished():
    # The ends of the chain have one row, the two in the middle have two, each with one end.
    ends = sorted_rows(CHAIN).sum(axis=0)
    np.testing.assert_array_equal(np.sort(ends), [1.0, 1.0, 2.0, 2.0])
    assert ends[0] == ends[1]


def test_there_may_be_no_columns():
    assert order_columns(np.empty((3, 0)), np.empty((0, binning.N_EDGES))).shape == (0,)
