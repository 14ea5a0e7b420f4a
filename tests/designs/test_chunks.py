"""Blocks are views of the right rows, in one form, and what is bad is named by row and column."""

import gc
import itertools

import numpy as np
import pandas as pd
import pytest
from support.for_each import for_each

from posterity import designs

Chunks = designs.Chunks


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((13, 3)), rng.standard_normal(13), rng.uniform(size=13)


def joined(chunks):
    blocks = list(chunks)
    parts = zip(*(block.parts for block in blocks), strict=True)
    return [None if part[0] is None else np.concatenate(part) for part in parts]


def cut(X, y, weight, at=(4, 5, 12)):
    edges = [0, *at, len(X)]
    return [(X[i:j], y[i:j], weight[i:j]) for i, j in itertools.pairwise(edges)]


SOURCES = {
    "arrays": lambda X, y, w: Chunks.from_arrays(X, y, w, rows=4),
    "list": lambda X, y, w: Chunks.from_iterable(cut(X, y, w)),
    "generator": lambda X, y, w: Chunks.from_iterable(block for block in cut(X, y, w)),
    "function": lambda X, y, w: Chunks.from_iterable(lambda: iter(cut(X, y, w))),
    "mapped": lambda X, y, w: Chunks.from_arrays(-X, y, w, rows=4).map(np.negative),
}


@pytest.fixture(params=SOURCES)
def kind(request):
    return request.param


def test_blocks_joined_are_the_rows(kind, data):
    chunks = SOURCES[kind](*data)
    for part, expected in zip(joined(chunks), data, strict=True):
        np.testing.assert_array_equal(part, expected)


def test_first_row_counts_through_the_whole_source(kind, data):
    stop = 0
    for block in SOURCES[kind](*data):
        assert block.first_row == stop
        stop += len(block)
    assert stop == 13


def test_a_range_gives_its_rows_and_no_others(kind, data):
    for start, stop in [(0, 13), (3, 6), (5, 5), (12, 13), (4, 12)]:
        blocks = list(SOURCES[kind](*data).read_rows(start, stop))
        found = np.concatenate([block.y for block in blocks]) if blocks else np.empty(0)
        np.testing.assert_array_equal(found, data[1][start:stop])
        assert [b.first_row for b in blocks][:1] == ([start] if stop > start else [])


def test_blocks_after_the_range_are_not_asked_for():
    def batches():
        yield X2, Y2
        yield X2, Y2
        raise AssertionError("read too far")

    assert [len(b) for b in Chunks.from_iterable(batches).read_rows(1, 4)] == [1, 2]


def test_a_range_beyond_the_end_stops_there(kind, data):
    sizes = [len(block) for block in SOURCES[kind](*data).read_rows(11, 99)]
    assert sum(sizes) == 2
    assert all(sizes)


def test_attributes_say_what_is_known(kind, data):
    chunks = SOURCES[kind](*data)
    assert chunks.n_features == 3
    assert chunks.n_rows == (None if kind in ("generator", "function") else 13)
    assert chunks.rereadable == (kind != "generator")
    assert repr(chunks) == f"Chunks(n_rows={chunks.n_rows}, n_features=3)"


def test_rereadable_sources_give_the_same_rows_again(kind, data):
    chunks = SOURCES[kind](*data)
    if chunks.rereadable:
        np.testing.assert_array_equal(joined(chunks)[0], joined(chunks)[0])


def test_a_generator_can_be_read_once_and_then_says_what_to_do(data):
    chunks = SOURCES["generator"](*data)
    joined(chunks)
    with pytest.raises(ValueError, match=r"read only once.*a function that returns a new"):
        joined(chunks)


def test_blocks_of_arrays_are_views_not_copies(data):
    X, y, weight = data
    for block in Chunks.from_arrays(X, y, weight, rows=4):
        assert np.shares_memory(block.X, X)
        assert np.shares_memory(block.y, y)
        assert np.shares_memory(block.sample_weight, weight)


def test_memory_mapped_arrays_are_read_where_they_lie(data, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    blocks = list(Chunks.from_arrays(mapped, rows=4))
    assert np.shares_memory(blocks[0].X, mapped)
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), data[0])


def test_every_kind_of_number_becomes_float64():
    for values in ([[1, 2]], np.array([[True, False]]), np.ones((1, 2), np.float32)):
        (block,) = Chunks.from_arrays(values, np.array([1], dtype=np.int8))
        assert block.X.dtype == block.y.dtype == np.float64
    (block,) = Chunks.from_arrays(pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}))
    np.testing.assert_array_equal(block.X, [[1.0, 0.5], [2.0, 1.5]])


def test_blocks_without_rows_are_passed_over():
    none = np.empty((0, 2)), np.empty(0)
    chunks = Chunks.from_iterable([none, (np.ones((3, 2)), np.ones(3)), none])
    assert [len(block) for block in chunks] == [3]
    assert chunks.n_rows == 3


def test_targets_of_one_column_stay_a_column():
    (block,) = Chunks.from_arrays(np.ones((3, 2)), np.ones((3, 1)))
    assert block.y.shape == (3, 1)


BAD = [
    ("x", np.nan, r"column 'b', row 9 is NaN; fill in"),
    ("x", -np.inf, r"column 'b', row 9 is infinite; clip"),
    ("y", np.nan, r"target, row 9 is NaN"),
    ("weight", np.nan, r"sample_weight, row 9 is NaN"),
    ("weight", -1.0, r"sample_weight, row 9 is -1; weights must not be negative"),
]


@pytest.mark.parametrize(("where", "value", "message"), BAD)
def test_a_bad_value_is_named_by_its_row_in_the_whole_source(data, where, value, message):
    X, y, weight = data
    {"x": X[:, 1], "y": y, "weight": weight}[where][9] = value
    chunks = Chunks.from_arrays(X, y, weight, rows=4, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match=message):
        joined(chunks)


def test_unnamed_columns_are_named_by_number():
    X, Y = np.ones((3, 2)), np.ones((3, 2))
    X[2, 1] = Y[1, 1] = np.nan
    with pytest.raises(ValueError, match="column 1, row 2 is NaN"):
        joined(Chunks.from_arrays(X))
    with pytest.raises(ValueError, match="target 1, row 1 is NaN"):
        joined(Chunks.from_arrays(np.ones((3, 2)), Y))


X2, Y2 = np.ones((2, 2)), np.ones(2)
UNLIKE = [
    ((np.ones((2, 3)), Y2, Y2), "X of the block that begins at row 2 has 3 columns but 2"),
    ((X2, np.ones((2, 2)), Y2), "y of the block that begins at row 2 has 2 columns but no"),
    ((X2, None, Y2), "y of the block that begins at row 2 is missing but given"),
    ((X2, Y2), "sample_weight of the block that begins at row 2 is missing but given"),
    ((X2, np.ones(3), Y2), r"y of block 1 has shape \(3,\), but X has 2 rows"),
    ((X2, Y2, np.ones((2, 1))), r"sample_weight of block 1 has shape \(2, 1\), but X has 2"),
    ((np.ones(2), Y2, Y2), r"X of block 1 has shape \(2,\); pass a dense array"),
    ((np.array([["a", "b"]] * 2), Y2, Y2), "column of the block that begins at row 2 does not"),
    ((np.array([[1, "b"]] * 2, dtype=object), Y2, Y2), "does not hold real numbers"),
    ((X2 * 1j, Y2, Y2), "does not hold real numbers"),
    ((X2, np.array(["a", "b"]), Y2), "a target of the block that begins at row 2 does not hold"),
    ("X", r"block 1 is a str; each block must be a tuple"),
    ((X2,), r"block 1 is a tuple; each block must be a tuple \(X, y\)"),
]


@for_each(("block", "message"), UNLIKE)
def test_a_block_unlike_the_first_is_refused(block, message):
    chunks = Chunks.from_iterable(lambda: iter([(X2, Y2, Y2), block]))
    with pytest.raises(ValueError, match=message):
        joined(chunks)


def test_targets_and_weights_that_appear_later_are_refused():
    for later in [(X2, Y2), (X2, None, Y2)]:
        with pytest.raises(ValueError, match="is given but not in the first block"):
            joined(Chunks.from_iterable([(X2, None), later]))


def test_nothing_at_all_is_refused():
    for supply in ([], [(np.empty((0, 2)), None)]):
        with pytest.raises(ValueError, match="hold no rows"):
            Chunks.from_iterable(supply)
    with pytest.raises(ValueError, match="hold no rows"):
        Chunks.from_arrays(np.empty((0, 2)))
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            Chunks.from_arrays(X2, rows=rows)


def test_names_must_match_the_columns():
    with pytest.raises(ValueError, match="3 feature names were given for 2 columns"):
        Chunks.from_arrays(X2, feature_names="abc")


def test_a_function_that_returns_the_same_generator_twice_is_noticed():
    generator = ((X2, Y2) for _ in range(1))
    chunks = Chunks.from_iterable(lambda: generator)
    with pytest.raises(ValueError, match="must return a new iterator"):
        joined(chunks)


def test_map_replaces_the_inputs_and_keeps_the_rest(data):
    X, y, weight = data
    chunks = Chunks.from_arrays(X, y, weight, rows=4)
    squares = chunks.map(lambda X: np.hstack([X, X**2]), feature_names="abcdef")
    assert (squares.n_features, squares.n_rows, squares.rereadable) == (6, 13, True)
    assert squares.feature_names == tuple("abcdef")
    X_mapped, y_mapped, weight_mapped = joined(squares)
    np.testing.assert_array_equal(X_mapped, np.hstack([X, X**2]))
    np.testing.assert_array_equal(y_mapped, y)
    np.testing.assert_array_equal(weight_mapped, weight)


def test_map_must_keep_the_rows_and_stay_finite():
    with pytest.raises(ValueError, match="has 0 rows but had 1; the transform must not change"):
        Chunks.from_arrays(X2).map(lambda X: X[1:])
    infinite = Chunks.from_arrays(X2).map(lambda X: X * np.inf)
    with pytest.raises(ValueError, match="column 0, row 0 is infinite"):
        joined(infinite)


def test_the_first_look_at_a_generator_keeps_no_block_alive():
    chunks = Chunks.from_iterable((np.ones((1000, 2)), None) for _ in range(2))
    blocks = iter(chunks)
    next(blocks)
    next(blocks)
    gc.collect()
    head = chunks.source.read_head()[0]
    assert head.shape == (1, 2)
    assert head.base is None
