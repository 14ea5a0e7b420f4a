"""Predictions as columns beside the rows they are of."""

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import linear, tables
from posterity.tables import answers


@pytest.fixture
def model():
    x = np.linspace(0.0, 3.0, 30)
    frame = pl.DataFrame({"x": x, "y": 2.0 * x + np.cos(40.0 * x)})
    schema = tables.infer(frame, "y")
    return tables.TableModel(linear.BayesianLinearRegression(), schema).fit(frame)


def test_pieces_say_what_the_whole_says(model, monkeypatch):
    rows = pl.DataFrame({"x": np.linspace(-1.0, 5.0, 11)})
    whole = tables.append_predictions(model, rows)
    monkeypatch.setattr(answers, "_ROWS", 3)
    pieces = tables.append_predictions(model, rows)
    assert pieces.columns == whole.columns
    assert pieces["y_unusual"].equals(whole["y_unusual"])
    numbers = [table.drop("y_unusual").to_numpy() for table in (pieces, whole)]
    np.testing.assert_allclose(*numbers, rtol=1e-12)


def test_no_rows_get_no_answers_but_all_columns(model):
    none = tables.append_predictions(model, pl.DataFrame(schema={"x": pl.Float64}), quantiles=[0.5])
    assert none.shape == (0, 5)
    assert none.columns == ["x", "y_mean", "y_std", "y_q50", "y_unusual"]


@for_each(
    ("level", "name"), [(0.05, "y_q05"), (0.5, "y_q50"), (0.975, "y_q97.5"), (0.001, "y_q0.1")]
)
def test_quantiles_are_named_by_their_percentage(model, level, name):
    rows = tables.append_predictions(model, pl.DataFrame({"x": [1.0]}), quantiles=[level])
    assert rows.columns[-2] == name
    expected = model.predict_dist({"x": [1.0]}).icdf(level)
    np.testing.assert_allclose(rows[name], expected)


def test_classes_are_answered_with_their_labels():
    frame = pl.DataFrame({"x": [0.0, 1.0, 0.2, 0.9] * 5, "kind": ["no", "yes"] * 10})
    fitted = tables.TableModel(
        linear.BayesianLogisticRegression(), tables.infer(frame, "kind")
    ).fit(frame)
    said = tables.append_predictions(fitted, pl.DataFrame({"x": [0.0, 1.0]}))
    assert said.columns == ["x", "kind_predicted", "kind_p_no", "kind_p_yes", "kind_unusual"]
    assert said["kind_predicted"].to_list() == ["no", "yes"]
    np.testing.assert_array_equal(said[:, 2:4].to_numpy(), fitted.predict_proba({"x": [0.0, 1.0]}))
    assert tables.append_predictions(fitted, pl.DataFrame(schema={"x": pl.Float64})).height == 0
