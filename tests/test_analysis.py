"""One call from a table to scores, a verdict, a fitted model and a report."""

import numpy as np
import polars as pl
import pytest

import posterity
from posterity import BayesianLinearRegression, comparison, tables

RNG = np.random.default_rng(3)
N = 60
COLUMNS = {"size": RNG.uniform(1.0, 9.0, N), "<b>": RNG.choice(["red", "blue"], N)}
PRICE = 5.0 * COLUMNS["size"] + 7.0 * (COLUMNS["<b>"] == "red") + RNG.normal(size=N)
NAMES = ("linear", "tree")


@pytest.fixture(scope="module")
def found():
    return posterity.compare({**COLUMNS, "price": PRICE}, "price", models=NAMES, folds=3)


def test_it_is_the_comparison_of_its_parts(found):
    frame = tables.as_frame({**COLUMNS, "price": PRICE})
    schema = tables.infer(frame, "price")
    models = (
        *comparison.baselines("regression"),
        *comparison.candidates("regression", N, 2, names=NAMES),
    )
    apart = comparison.compare(frame, schema, models, folds=3)
    assert found.verdict == apart.verdict
    assert found.table["model"].to_list() == [one.name for one in apart.results]
    np.testing.assert_array_equal(
        found.table["log_score"], [one.log_score for one in apart.results]
    )
    np.testing.assert_array_equal(found.best.predict(frame), apart.winner.predict(frame))


@pytest.mark.full
def test_a_path_and_targets_apart_are_the_same_table(found, tmp_path):
    path = tmp_path / "cars.csv"
    pl.DataFrame({**COLUMNS, "price": PRICE}).write_csv(path)
    for data, target in (
        (path, "price"),
        (str(path), "price"),
        (COLUMNS, pl.Series("price", PRICE)),
    ):
        other = posterity.compare(data, target, models=NAMES, folds=3)
        np.testing.assert_allclose(other.table["log_score"], found.table["log_score"])
    with pytest.raises(ValueError, match="60 rows and y has 59"):
        posterity.compare(COLUMNS, PRICE[1:], models=NAMES)


def test_estimators_of_ones_own_compete(found):
    mine = posterity.compare(
        COLUMNS, PRICE, models={"mine": BayesianLinearRegression()}, folds=3, category=["<b>"]
    )
    assert mine.best.estimator_.coef_.shape == (3,)
    score = dict(zip(found.table["model"], found.table["log_score"], strict=True))["linear"]
    np.testing.assert_allclose(mine.comparison.best.log_score, score)


def test_a_notebook_and_a_browser_show_it(found, tmp_path):
    page = found._repr_html_()
    assert "linear" in page
    assert found.verdict[:20] in repr(found)
    found.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "<b>" not in text
    assert "Predicting price" in text
    found.save(tmp_path / "model.posterity")
    loaded = posterity.load(tmp_path / "model.posterity")
    np.testing.assert_array_equal(loaded.predict(COLUMNS), found.best.predict(COLUMNS))


def test_two_classes_have_columns_of_their_own_and_costs():
    table = {**COLUMNS, "dear": np.where(PRICE > 30.0, "yes", "no")}
    found = posterity.compare(table, "dear", models=["linear"], folds=2, cost=(1, 3), positive="no")
    assert {"brier", "precision", "recall", "roc_area", "expected_cost"} <= set(found.table.columns)
    assert found.table["flagged"].is_between(0.0, 1.0).all()
    assert "probability of 'no' is at least 0.25" in found.verdict
    with pytest.raises(tables.TableError, match="'size' is a number"):
        posterity.compare(table, "size", models=["linear"], cost=(1, 3))
