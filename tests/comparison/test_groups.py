"""Groups of rows reach every model that judges itself by rows which it leaves out."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

import posterity
from posterity import regression, tables
from posterity.comparison import stacking

SEEN = []


class Recorder(regression.LinearRegression):
    """A linear model that writes down the groups it is told."""

    def fit(self, X, y, groups=None):
        SEEN.append(None if groups is None else np.asarray(groups))
        return super().fit(X, y)


def measurements(n_groups=30, rows=12, seed=0):
    """Rows of people whose steady columns tell who they are, and whose offset is their own."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(n_groups), rows)
    steady = rng.normal(size=(n_groups, 2))[g]
    x = rng.normal(size=len(g))
    y = 2.0 * rng.normal(size=n_groups)[g] + x + 0.3 * rng.normal(size=len(g))
    columns = {"a": steady[:, 0], "b": steady[:, 1], "x": x, "who": [f"p{k}" for k in g]}
    return pl.DataFrame(columns | {"y": y})


def stack_one(model):
    return stacking.StackedRegressor((("one", model),), (1.0,))


def test_the_groups_travel_with_the_rows_to_folds_and_to_the_final_fit():
    model = Recorder()
    SEEN.clear()
    table = measurements(10, 4).with_columns(
        who=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("who")
    )
    posterity.compare(table, "y", models={"mine": model}, groups="who", folds=3)
    assert len(SEEN) == 4
    assert all(len(np.unique(groups)) > 5 for groups in SEEN)
    last = SEEN[-1]
    assert len(last) == 40
    assert len(np.unique(last)) == 12  # a row without a group is a group of its own
    SEEN.clear()
    posterity.compare(table, "y", models={"mine": model}, drop=["who"], folds=3)
    assert SEEN == [None] * 4


@for_each("name", ["forest", "boosted-trees"])
def test_trees_cover_new_groups_as_often_as_they_say(name):
    found = posterity.compare(measurements(60, 8), "y", models=[name], groups="who", folds=3)
    assert 0.8 < found.comparison.best.coverage < 0.98
    new = measurements(60, 8, seed=1)
    low, high = found.best.predict_interval(new)
    y = new["y"].to_numpy()
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.99


def test_a_model_of_tables_takes_groups_for_each_row():
    table = measurements(6, 3).with_columns(y=pl.when(pl.col("x") > -9.0).then("y"))
    rows, y = table.select("a", "x"), table["y"].to_numpy().copy()
    y[4] = np.nan
    SEEN.clear()
    tables.TableModel(Recorder()).fit(rows, y, groups=table["who"].to_list())
    assert len(SEEN[0]) == 17
    assert len(np.unique(SEEN[0])) == 6
    with pytest.raises(ValueError, match=r"groups has shape \(3,\) but there are 18 rows"):
        tables.TableModel(Recorder()).fit(rows, y, groups=[1, 2, 3])


@for_each("wrap", [lambda one: make_pipeline(StandardScaler(), one), stack_one])
def test_pipelines_and_stacks_pass_the_groups_on(wrap):
    SEEN.clear()
    table = measurements(5, 2)
    X, y = table.select("a", "x").to_numpy(), table["y"].to_numpy()
    tables.fit_with_groups(wrap(Recorder()), X, y, np.arange(10) // 2)
    np.testing.assert_array_equal(SEEN[0], np.arange(10) // 2)


def test_estimators_without_groups_are_not_told():
    class Plain(BaseEstimator):
        def fit(self, X, y):
            return self

    assert tables.fit_with_groups(Plain(), [[0.0]], [1.0], [1]) is not None


def test_on_dask_models_that_need_the_groups_refuse_rows_without_them(tmp_path):
    pytest.importorskip("dask")
    measurements(10, 4).write_parquet(tmp_path / "rows.parquet")
    source = tables.open_partitions(tmp_path / "rows.parquet")
    sample = source.sample(40)
    schema = tables.infer(sample.frame, "y", groups="who")
    rows = tables.SpreadRows.from_source(source, sample.frame, schema, folds=2)
    assert rows.fit_estimator(regression.LinearRegression()).n_rows_ == 40
    with pytest.raises(tables.TableError, match="--group needs the table in memory"):
        rows.fit_estimator(regression.RandomForestRegressor())
