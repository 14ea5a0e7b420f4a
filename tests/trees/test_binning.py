"""Codes decide as numbers do, and edges stand where they tell rows apart."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.effort import draws
from support.for_each import for_each

from posterity.trees.families import binning

TINY = 5e-324
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=False),
    st.sampled_from([0.0, -0.0, TINY, 3 * TINY, 4 * TINY, 1.0, 1.0 + 2**-52, 1.8e308 / 1.01]),
)
TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    elements=NUMBERS,
    fill=st.nothing(),
)


def counted(X, edges):
    """Codes from their definition."""
    below = (edges[None] < X[:, :, None]).sum(axis=2)
    return np.where(np.isnan(X), 255, below)


def n_edges(edges):
    return np.isfinite(edges).sum(axis=1)


@given(TABLES)
@settings(max_examples=draws(150, least=10), deadline=None)
def test_codes_decide_as_numbers_do(X):
    edges = binning.find_edges(X)
    codes = binning.encode(X, edges)
    np.testing.assert_array_equal(codes[:, :, None] <= np.arange(255), X[:, :, None] <= edges)


@given(TABLES)
@settings(max_examples=draws(150, least=10), deadline=None)
def test_few_values_are_all_told_apart(X):
    edges = binning.find_edges(X)
    codes = binning.encode(X, edges)
    for d in range(X.shape[1]):
        present = ~np.isnan(X[:, d])
        values = np.unique(X[present, d])
        assert n_edges(edges)[d] == max(len(values) - 1, 0)
        np.testing.assert_array_equal(codes[present, d], np.searchsorted(values, X[present, d]))


@for_each("n", [3, 63, 64, 65, 200])
def test_codes_are_counted_by_definition(n):
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(3, size=n), np.full(n, 2.0)])
    X[rng.random(X.shape) < 0.1] = np.nan
    edges = binning.find_edges(rng.normal(size=(2000, 5)) * [1, 2, 0.1, 3, 1])
    codes = binning.encode(X, edges)
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous
    np.testing.assert_array_equal(codes, counted(X, edges))


def test_an_edge_that_would_round_up_becomes_the_lower_value():
    neighbours = np.array([[1.0 + 2**-52], [1.0 + 2**-51], [3 * TINY], [4 * TINY]])
    edges = binning.find_edges(neighbours)[0]
    assert edges[0] == 3 * TINY
    assert edges[2] == 1.0 + 2**-52


def test_edges_lie_half_way_and_do_not_overflow():
    huge = np.finfo(float).max
    edges = binning.find_edges(np.array([[-huge], [huge], [0.5 * huge]]))[0]
    np.testing.assert_array_equal(edges[:2], [-0.25 * huge, 0.75 * huge])


def test_signed_zeros_are_one_value():
    assert binning.find_edges(np.array([[0.0], [-0.0]]))[0, 0] == np.inf


def test_what_does_not_vary_has_no_edges():
    X = np.array([[3.0, np.nan, np.nan], [3.0, np.nan, 1.0]])
    assert np.all(binning.find_edges(X) == np.inf)


def test_missing_numbers_do_not_move_edges():
    x = np.random.default_rng(0).normal(size=3000)
    holed = np.insert(x, [0, 7, 7, 3000], np.nan)
    np.testing.assert_array_equal(
        binning.find_edges(holed[:, None]), binning.find_edges(x[:, None])
    )


@for_each("n_values", [254, 255, 256, 257])
def test_the_last_edge_is_kept_for_missing_numbers(n_values):
    X = np.arange(float(n_values))[:, None]
    edges = binning.find_edges(X)
    assert edges[0, 254] == np.inf
    assert binning.encode(X, edges).max() <= 254
    if n_values <= 255:
        np.testing.assert_array_equal(binning.encode(X, edges)[:, 0], np.arange(n_values))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=120), st.integers(0, 400))
@settings(max_examples=draws(150, least=10), deadline=None)
def test_edges_increase_and_are_never_too_many(repeats, n_more):
    values = np.repeat(np.arange(len(repeats)), repeats) + 0.0
    more = np.random.default_rng(n_more).uniform(-1, len(repeats), size=n_more)
    edges = binning.find_edges(np.concatenate([values, more])[:, None])[0]
    n = int(np.isfinite(edges).sum())
    assert n <= 254
    assert np.all(np.diff(edges[:n]) > 0)
    assert np.all(edges[n:] == np.inf)


def test_many_shared_values_leave_room_for_pieces_that_they_cut_short():
    shared = np.repeat(np.arange(60.0), 30)
    others = np.concatenate([i + np.linspace(0.1, 0.9, 26) for i in range(60)])
    edges = binning.find_edges(np.concatenate([shared, others])[:, None])[0]
    assert np.isfinite(edges).sum() == 60 + 60 * 3 - 1  # of each 26: 12, 12 and 2
    assert edges[254] == np.inf


@for_each("shift", [-1.0, 0.0, 1.0])
def test_a_value_that_many_rows_share_stands_alone(shift):
    rng = np.random.default_rng(0)
    others = rng.normal(size=1000) + 8 * shift
    x = np.concatenate([np.zeros(9000), others])
    codes = binning.encode(x[:, None], binning.find_edges(x[:, None]))[:, 0]
    assert len(np.unique(codes[:9000])) == 1
    assert codes[0] not in codes[9000:]
    assert np.bincount(codes[9000:]).max() <= 2 * 1000 / 250


def test_pieces_hold_about_the_same_number_of_rows():
    x = np.exp(3 * np.random.default_rng(0).normal(size=5000))
    codes = binning.encode(x[:, None], binning.find_edges(x[:, None]))[:, 0]
    sizes = np.bincount(codes)
    assert len(sizes) >= 240
    assert sizes.max() <= 1.1 * 5000 / 250


def test_some_rows_speak_for_all():
    x = np.random.default_rng(1).normal(size=40_000)
    edges = binning.find_edges(x[:, None])
    np.testing.assert_array_equal(edges, binning.find_edges(x[:, None]))
    shares = np.bincount(binning.encode(x[:, None], edges)[:, 0]) / len(x)
    assert np.abs(np.cumsum(shares) - np.linspace(0, 1, len(shares) + 1)[1:]).max() < 0.02


@for_each("odd", [-1.0, 1.0])
def test_the_one_row_that_differs_is_seen_among_many(odd):
    X = np.zeros((30_000, 2))
    X[np.random.default_rng(3).integers(30_000), 1] = odd
    edges = binning.find_edges(X)
    np.testing.assert_array_equal(n_edges(edges), [0, 1])
    assert edges[1, 0] == odd / 2


def test_columns_do_not_depend_on_their_neighbours_or_the_order_in_memory():
    X = np.random.default_rng(0).normal(size=(400, 131))
    X[X > 1.5] = np.nan
    edges = binning.find_edges(X)
    np.testing.assert_array_equal(
        edges, np.concatenate([binning.find_edges(x[:, None]) for x in X.T])
    )
    np.testing.assert_array_equal(edges, binning.find_edges(np.asfortranarray(X)[::-1]))
    np.testing.assert_array_equal(
        binning.encode(X, edges), binning.encode(np.asfortranarray(X), edges)
    )


@for_each("n_values", [20, 300, 3000])
def test_a_weight_moves_edges_as_repeated_rows_do(n_values):
    rng = np.random.default_rng(n_values)
    X = rng.integers(n_values, size=(3000, 3)) ** [1.0, 0.5, 2.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    times = rng.integers(0, 6, size=len(X)) * (rng.random(len(X)) < 0.9)
    weighted = binning.find_edges(X, times.astype(float))
    np.testing.assert_array_equal(weighted, binning.find_edges(np.repeat(X, times, axis=0)))
    assert n_values == 20 or np.any(weighted != binning.find_edges(X))


def test_only_how_weights_compare_moves_edges():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(20_000, 1)), rng.integers(1, 5, size=20_000).astype(float)
    edges = binning.find_edges(x, weights)
    np.testing.assert_array_equal(edges, binning.find_edges(x, 2.0**-40 * weights))
    np.testing.assert_array_equal(
        binning.find_edges(x, np.full(20_000, 0.3)), binning.find_edges(x)
    )


def test_pieces_of_many_rows_weigh_about_the_same():
    x = np.random.default_rng(1).normal(size=40_000)
    weights = np.where(x > 1.0, 9.0, 1.0)
    codes = binning.encode(x[:, None], binning.find_edges(x[:, None], weights))[:, 0]
    shares = np.bincount(codes, weights=weights) / weights.sum()
    assert np.abs(np.cumsum(shares) - np.linspace(0, 1, len(shares) + 1)[1:]).max() < 0.03


def test_extremes_of_rows_that_do_not_count_are_no_extremes():
    x = np.zeros((30_000, 1))
    x[[5, 7], 0] = -1.0, 1.0
    weights = np.ones(len(x))
    weights[7] = 0.0
    edges = binning.find_edges(x, weights)
    np.testing.assert_array_equal(edges[0, :2], [-0.5, np.inf])


def test_weights_that_vanish_beside_others_do_not_make_a_piece_too_many():
    weights = np.ones(256)
    weights[-1] = 1e-30
    edges = binning.find_edges(np.arange(256.0)[:, None], weights)
    assert n_edges(edges)[0] == 254


def test_edges_may_be_counted_beforehand():
    X = np.random.default_rng(0).integers(9, size=(50, 4)) + 0.0
    edges = binning.find_edges(X)
    np.testing.assert_array_equal(binning.count_edges(edges), n_edges(edges))
    codes = binning.encode(X, edges, binning.count_edges(edges))
    np.testing.assert_array_equal(codes, counted(X, edges))
