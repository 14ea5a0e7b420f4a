"""Kernels of chosen columns, by number or by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.for_each import for_each

from posterity.kernels import RBF, Columns, Linear, White

X = np.random.default_rng(0).normal(size=(6, 4))
NAMES = ["age", "height", "income", "height of chair"]


@for_each("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_arrays_and_bound_names_give_the_same_numbers(frame):
    table = frame({name: X[:, d] for d, name in enumerate(NAMES)})
    kernel = Columns(RBF([0.5, 2.0]), ["income", "age"])
    expected = RBF([0.5, 2.0])(X[:, [2, 0]])
    np.testing.assert_array_equal(kernel(table), expected)
    np.testing.assert_array_equal(kernel(table, table), expected)
    np.testing.assert_array_equal(kernel.bind_columns(NAMES)(X), expected)
    np.testing.assert_array_equal(Columns(RBF([0.5, 2.0]), [2, -4])(table), expected)
    np.testing.assert_array_equal(kernel.diag(table), np.ones(6))
    G = np.random.default_rng(1).normal(size=(6, 6))
    np.testing.assert_array_equal(
        kernel.pullback_inputs(table, None, G),
        kernel.bind_columns(NAMES).pullback_inputs(X, None, G),
    )
    assert kernel.start(table) == kernel.bind_columns(NAMES).start(X)


def test_the_complement_is_all_other_columns_in_their_order():
    kernel = Columns(RBF(ard=True), -1, complement=True)
    assert str(kernel) == "Columns(RBF(ard=True), columns=-1, complement=True)"
    started, _ = kernel.search_start(X)
    expected = Columns(started.kernel, [0, 1, 2])
    np.testing.assert_array_equal(started(X), expected(X))
    named = Columns(RBF(0.5), "age", complement=True).bind_columns(NAMES)
    others = [name for name in NAMES if name != "age"]
    np.testing.assert_array_equal(named(X), Columns(RBF(0.5), others).bind_columns(NAMES)(X))
    with pytest.raises(ValueError, match="leaves no column"):
        Columns(RBF(1.0), 0, complement=True)(X[:, :1])


def test_a_frame_is_read_by_its_own_names_even_after_others_were_bound():
    kernel = Columns(Linear(1.0), "age").bind_columns(["height", "age"])
    table = pd.DataFrame({"age": [1.0, 2.0], "height": [5.0, 7.0]})
    np.testing.assert_array_equal(kernel(table), [[1.0, 2.0], [2.0, 4.0]])


def test_gradients_are_zero_in_the_columns_that_are_not_chosen():
    G = np.random.default_rng(1).normal(size=(6, 6))
    found = Columns(RBF(0.5), [3, 1]).pullback_inputs(X, None, G)
    np.testing.assert_array_equal(found[:, [0, 2]], 0.0)
    np.testing.assert_array_equal(found[:, [3, 1]], RBF(0.5).pullback_inputs(X[:, [3, 1]], None, G))


def test_the_start_is_that_of_the_chosen_columns():
    units = np.array([1.0, 1e3, 1.0, 1e-3])
    started, bounds = Columns(RBF(ard=True), [1, 3]).search_start(X * units)
    alone, bounds_alone = RBF(ard=True).search_start((X * units)[:, [1, 3]])
    assert started.kernel == alone
    np.testing.assert_array_equal(bounds, bounds_alone)


def test_columns_of_columns_are_named_and_numbered_within_the_choice():
    inner = Columns(Columns(Linear(1.0), -1), [2, 0])
    np.testing.assert_array_equal(inner(X), Linear(1.0)(X[:, [0]]))
    named = Columns(Columns(Linear(1.0), "income"), ["income", "age"]).bind_columns(NAMES)
    np.testing.assert_array_equal(named(X), Linear(1.0)(X[:, [2]]))


def test_the_rows_themselves_are_passed_on_as_such():
    kernel = Columns(White(0.5), 0)
    np.testing.assert_array_equal(kernel(X), 0.5 * np.eye(6))
    np.testing.assert_array_equal(kernel(X, X), np.zeros((6, 6)))
    np.testing.assert_array_equal(kernel.tangent(X).value, 0.5 * np.eye(6))


def test_the_same_rows_on_both_sides_are_known_to_be_the_same():
    many = np.random.default_rng(0).normal(size=(30, 40))
    K = Columns(RBF(0.5), range(30))(many, many)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)


def test_numbers_need_no_names():
    assert Columns(RBF(1.0), 0).bind_columns(None) == Columns(RBF(1.0), 0)
    kernel = Columns(RBF(1.0), [0, -1]).bind_columns(NAMES)
    np.testing.assert_array_equal(kernel(X), RBF(1.0)(X[:, [0, 3]]))


@for_each(
    ("wrong", "match"),
    [
        (
            lambda: Columns(RBF(1.0), "agee").bind_columns(NAMES),
            "found no column named 'agee'; the columns",
        ),
        (lambda: Columns(RBF(1.0), "a").bind_columns(["a", "a"]), "more than one column named 'a'"),
        (lambda: Columns(RBF(1.0), 4)(X), r"column 4 does not exist; rows have 4"),
        (lambda: Columns(RBF(1.0), -5)(X), "column -5 does not exist"),
        (lambda: Columns(RBF(1.0), -5).bind_columns(NAMES), "column -5 does not exist"),
        (
            lambda: Columns(RBF(1.0), "age")(X),
            "but these rows have no column names; pass a data frame",
        ),
        (
            lambda: Columns(RBF(1.0), "age").bind_columns(None),
            "but these rows have no column names",
        ),
        (lambda: Columns(RBF(1.0), [0, -4])(X), "chooses a column twice"),
        (lambda: Columns(RBF(1.0), ["age", 0]).bind_columns(NAMES), "chooses a column twice"),
        (lambda: Columns(RBF(1.0), []), r"columns=\[\] must be a column's number or name"),
        (lambda: Columns(RBF(1.0), 1.5), r"columns=1\.5 must be"),
        (lambda: Columns(RBF(1.0), True), "columns=True must be"),
        (lambda: Columns(RBF(1.0), [[0, 1]]), r"columns=\[\[0, 1\]\] must be"),
        (lambda: Columns(3.0, 0), r"Columns\.kernel=3\.0 must be a kernel"),
    ],
)
def test_a_wrong_choice_is_named(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()
