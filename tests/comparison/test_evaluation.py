"""A fitted model on new rows."""

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import comparison, linear, process, scoring, sparse, tables
from posterity.comparison import trial


def table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return pl.DataFrame({"a": a, "b": b, "y": a + 0.3 * rng.normal(size=n)})


@pytest.fixture(scope="module")
def model():
    schema = tables.infer(table(), "y")
    return tables.TableModel(linear.BayesianLinearRegression(), schema).fit(table())


def test_scores_are_those_of_the_predictions(model):
    new = table(30, seed=1)
    found = comparison.evaluate(model, new, name="mine")
    dist, y = model.predict_dist(new), new["y"].to_numpy()
    assert found.name == "mine"
    assert found.log_score == pytest.approx(scoring.log_score(dist, y), rel=1e-12)
    assert found.rmse == pytest.approx(scoring.rmse(dist, y), rel=1e-12)
    assert found.coverage == pytest.approx(scoring.interval_coverage(dist, y))
    np.testing.assert_allclose(found.held_out.quantiles[:, 2], dist.median(), rtol=1e-12)
    assert found.behind == 0.0
    assert found.fit_seconds is None
    assert found.n_bytes > 0
    assert found.code == "BayesianLinearRegression()"


def test_rows_without_a_target_are_left_out(model):
    new = table(6, seed=1)
    y = new["y"].to_list()
    y[2] = None
    found = comparison.evaluate(model, new.with_columns(pl.Series("y", y)))
    np.testing.assert_array_equal(found.held_out.rows, [0, 1, 3, 4, 5])
    assert found.name == "BayesianLinearRegression"


def test_classes_go_by_their_labels():
    new = table().with_columns(pl.when(pl.col("y") > 0).then(pl.lit("up")).otherwise(pl.lit("no")))
    new = new.drop("y").rename({"literal": "y"})
    schema = tables.infer(new, "y")
    fitted = tables.TableModel(linear.BayesianLogisticRegression(), schema).fit(new)
    found = comparison.evaluate(fitted, new)
    assert found.accuracy == pytest.approx(np.mean(fitted.predict(new) == new["y"].to_numpy()))
    assert found.held_out.classes == ("no", "up")


def test_one_row_is_too_few(model):
    with pytest.raises(tables.TableError, match="At least two rows"):
        comparison.evaluate(model, table(1))


@for_each(
    ("estimator", "comparable"),
    [
        (linear.BayesianLinearRegression(), True),
        (process.GaussianProcessRegressor(n_restarts=0), True),
        (sparse.SparseLinearRegression(), False),
        (sparse.RelevanceVectorRegressor(random_state=0), False),
    ],
)
def test_evidence_is_shown_where_it_can_be_compared(estimator, comparable):
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    X, y = x[:, None], x + 0.1 * rng.normal(size=30)
    found = trial.comparable_evidence(estimator.fit(X, y))
    assert found == (estimator.log_evidence_ if comparable else None)
