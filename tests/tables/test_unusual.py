"""Rows far from all training rows are marked, and rows like them are not."""

import numpy as np
import polars as pl
import pytest

from posterity import linear, tables


def frame(n, seed, **changes):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    columns = {"a": a, "b": a + 0.1 * rng.normal(size=n), "town": rng.choice(["x", "y"], n)}
    return pl.DataFrame({**columns, "y": a + rng.normal(size=n), **changes})


@pytest.fixture(scope="module")
def model():
    train = frame(200, 0)
    return tables.TableModel(linear.LinearRegression(), tables.infer(train, "y")).fit(train)


def reasons(model, rows):
    return tables.append_predictions(model, rows)["y_unusual"].to_list()


def test_the_reason_names_the_inputs(model):
    rows = pl.DataFrame(
        {
            "a": [0.1, 40.0, 0.0, 40.0, 2.0, None],
            "b": [0.1, 0.0, 0.0, 0.0, -2.0, 0.0],
            "town": ["x", "y", "z", "z", "x", "y"],
        }
    )
    # no training row lacks a value of a, so that a gap is filled and not seen as far away
    expected = [None, "a", "town", "a, town", "combination", None]
    assert reasons(model, rows) == expected


@pytest.mark.parametrize("n", [20, 200])
def test_few_rows_of_the_same_kind_are_marked(n):
    train = frame(n, 1)
    model = tables.TableModel(linear.LinearRegression(), tables.infer(train, "y")).fit(train)
    marked = [one for one in reasons(model, frame(2_000, 2)) if one]
    assert len(marked) <= 0.05 * 2_000


def test_a_model_without_a_range_says_nothing(model):
    old = tables.TableModel(model.estimator, model.schema).fit(frame(50, 3))
    del old.training_range_
    assert "y_unusual" not in tables.append_predictions(old, frame(3, 4)).columns


def test_a_table_of_free_text_only_has_no_unusual_rows():
    rng, words = np.random.default_rng(0), [f"word{k}" for k in range(14)]
    texts = [" ".join(rng.choice(words, 5, replace=False)) for _ in range(30)]
    train = pl.DataFrame({"note": texts, "y": rng.normal(size=30)})
    schema = tables.infer(train, "y")
    assert [column.kind for column in schema.inputs] == ["text"]
    model = tables.TableModel(linear.LinearRegression(), schema).fit(train)
    assert reasons(model, train.head(3)) == [None] * 3
