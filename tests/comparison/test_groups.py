"""Groups of rows reach every model that judges itself by rows which it leaves out."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

import posterity
from posterity import comparison, linear, tables, trees
from posterity.comparison import folds, stacks

SEEN = []


class Recorder(linear.LinearRegression):
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
    return stacks.StackedRegressor((("one", model),), (1.0,))


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


@pytest.mark.full
@for_each("name", ["forest", "boosted-trees"])
def test_trees_cover_new_groups_as_often_as_they_say(name):
    found = posterity.compare(measurements(60, 8), "y", models=[name], groups="who", folds=3)
    assert 0.8 < found.comparison.best.coverage < 0.98
    new = measurements(60, 8, seed=1)
    low, high = found.best.predict_interval(new)
    y = new["y"].to_numpy()
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.99


def landscape(n_rows=800, seed=0):
    """A smooth function of two coordinates: a forest sees its values in every region it knows."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0.0, 10.0, size=(n_rows, 2))
    waves, phase = rng.normal(size=(2, 60)) / 2.0, rng.uniform(0.0, 2.0 * np.pi, 60)
    height = np.sqrt(2.0 / 60.0) * np.cos(place @ waves + phase).sum(axis=1)
    y = height + 0.3 * rng.normal(size=n_rows)
    return pl.DataFrame({"east": place[:, 0], "north": place[:, 1], "y": y})


def test_regions_reach_models_that_judge_themselves():
    SEEN.clear()
    table = landscape(100)
    found = posterity.compare(
        table, "y", models={"mine": Recorder()}, blocks=("east", "north"), folds=4
    )
    parts = folds.split_table(table, found.comparison.schema, found.comparison.holdout)
    for seen, fold in zip(SEEN[-5:-1], parts.folds, strict=True):
        np.testing.assert_array_equal(seen, fold.together)
        assert set(seen).isdisjoint(fold.clusters)
    assert len(np.unique(SEEN[-1])) == 25  # in the fit to all rows


@pytest.mark.full
def test_a_forest_covers_new_regions_as_often_as_it_says():
    table = landscape()
    found = posterity.compare(table, "y", models=["forest"], blocks=("east", "north"))
    assert 0.86 < found.comparison.best.coverage < 0.96  # 0.81 without the regions


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
    assert rows.fit_estimator(linear.LinearRegression()).n_rows_ == 40
    with pytest.raises(tables.TableError, match="--group needs the table in memory"):
        rows.fit_estimator(trees.RandomForestRegressor())


def wards():
    """Patients are numbered from 0 in every ward, so that only both columns tell them apart."""
    rng = np.random.default_rng(1)
    ward, patient = (part.ravel() for part in np.indices((4, 6)).repeat(5, axis=-1))
    x = rng.normal(size=120)
    y = 2.0 * rng.normal(size=(4, 6))[ward, patient] + x + 0.3 * rng.normal(size=120)
    return pl.DataFrame({"ward": [f"w{k}" for k in ward], "patient": patient, "x": x, "y": y})


def test_a_group_is_a_combination_of_the_values_of_several_columns():
    table = wards()
    both = table["ward"].to_numpy() + table["patient"].cast(pl.String).to_numpy()
    schema = tables.infer(table, "y", groups=("ward", "patient"), keep=["patient"])
    holdout = comparison.Holdout.from_schema(schema)
    for fold in folds.split_table(table, schema, holdout).folds:
        inside = set(both[fold.rows])
        assert len(fold.rows) == 5 * len(inside)
        assert len(np.unique(fold.clusters)) == len(inside)
        assert len(np.unique(fold.together)) == 24 - len(inside)
    assert [column.name for column in schema.inputs] == ["ward", "patient", "x"]
    dropped = tables.infer(table, "y", groups=("ward", "patient"), drop=["patient"])
    assert [column.name for column in dropped.inputs] == ["ward", "x"]


def test_models_of_groups_know_combinations_and_are_saved(tmp_path):
    table = wards()
    found = posterity.compare(
        table, "y", models=["linear-groups"], groups=("ward", "patient"), drop=["patient"], folds=3
    )
    assert found.comparison.scope == "for rows of a new combination of 'ward' and 'patient'"
    model = found.best
    assert len(model.groups_.levels) == 24
    known, new = table[:1], table[:1].with_columns(patient=pl.lit(77))
    stated = [model.predict_dist(one).variance().item() for one in (known, new)]
    assert stated[1] > 4.0 * stated[0]
    posterity.save(model, tmp_path / "model.posterity")
    again = posterity.load(tmp_path / "model.posterity")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    found.report(tmp_path / "report.html")
    assert "ward and patient" in (tmp_path / "report.html").read_text("utf-8")


def test_combinations_that_are_too_few_are_counted():
    table = {"a": [0, 1] * 10, "b": [2, 3] * 10, "x": range(20), "y": np.arange(20.0) ** 2}
    with pytest.raises(tables.TableError, match="combination of 'a' and 'b' has 2 groups, fewer"):
        posterity.compare(table, "y", groups=("a", "b"), keep=["a", "b"])


@for_each(("task", "n_rows"), [("regression", 20_000), ("classification", 20_000)])
def test_models_of_groups_compete_on_many_rows(task, n_rows):
    found = comparison.candidates(task, n_rows, 5, role="groups")
    of_groups = {one.name: one for one in found if one.view == "groups"}
    assert set(of_groups) == {"linear-groups", "process-groups"}
    for one in of_groups.values():
        assert not one.left_out
        assert one.estimator.inducing_points is not None
    assert not [one for one in comparison.candidates(task, n_rows, 5) if one.view == "groups"]


def test_a_model_of_groups_that_is_left_out_is_said():
    found = comparison.candidates("regression", 50_000, 5, role="groups")
    (left,) = [one for one in found if one.left_out]
    assert left.name == "process-groups"
    asked = comparison.candidates("regression", 50_000, 5, names=["process-groups"], role="groups")
    assert not asked[0].left_out
    table = measurements(8, 3)
    schema = tables.infer(table, "y", groups="who")
    linear = comparison.candidates("regression", 24, 3, names=["linear"])
    ranked = comparison.compare(table, schema, (*linear, left), folds=3)
    assert [(one.name, "name it with --models" in one.why) for one in ranked.skipped] == [
        ("process-groups", True)
    ]


def test_many_rows_of_groups_by_inducing_points_cover_new_groups():
    table = measurements(80, 20)
    schema = tables.infer(table, "y", groups="who")
    (one,) = comparison.candidates("regression", 1_600, 3, names=["linear-groups"], role="groups")
    assert one.estimator.inducing_points is not None
    model = tables.TableModel(one.estimator, schema, one.view).fit(table)
    new = measurements(80, 20, seed=1).with_columns(who=pl.concat_str(pl.lit("n"), "who"))
    low, high = model.predict_interval(new)
    assert 0.8 < np.mean((low <= new["y"].to_numpy()) & (new["y"].to_numpy() <= high)) < 0.98
