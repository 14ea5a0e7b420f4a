"""Groups that nobody named are found by scores, and the verdict says for which rows it holds."""

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

import posterity
from posterity import comparison, tables, trees


def patients(rng, n_groups=24, rows=30, effect=1.0):
    """Rows whose target differs by patient, whose steady columns say who it is, shuffled."""
    g = np.repeat(np.arange(n_groups), rows)
    x = rng.normal(size=len(g))
    steady = rng.normal(size=n_groups)[g] + 0.02 * rng.normal(size=len(g))
    y = effect * rng.normal(size=n_groups)[g] + 0.5 * x + 0.3 * rng.normal(size=len(g))
    return pl.DataFrame({"v00": g + 1, "v01": steady, "v02": x, "y": y})


def numbered(rng, **changes):
    table = patients(rng, **changes)
    return table[rng.permutation(len(table))]


def labelled(rng):
    return numbered(rng).with_columns(v00=pl.concat_str(pl.lit("k"), "v00"))


def in_runs(rng):
    return patients(rng, 40).drop("v00")


def told_apart_by_two_columns(rng):
    table = numbered(rng, n_groups=24)
    pairs = rng.permutation(40)[:24]  # of 10 x 4 combinations
    age, sex = pl.Series(pairs // 4 * 7.5 + 20.0), pl.Series([f"s{k}" for k in pairs % 4])
    both = table.with_columns(v03=age[table["v00"] - 1], v04=sex[table["v00"] - 1])
    return both.drop("v00", "v01")


def as_classes(rng):
    return numbered(rng, effect=2.0).with_columns(
        y=pl.when(pl.col("y") > 0.0).then(pl.lit("high")).otherwise(pl.lit("low"))
    )


def find(table):
    return comparison.find_unnamed_groups(table, tables.infer(table, "y"))


@pytest.mark.full
@for_each(
    ("make", "columns"),
    [
        (numbered, ("v00",)),
        (labelled, ("v00",)),
        (as_classes, ("v00",)),
        (told_apart_by_two_columns, ("v03", "v04")),
        (in_runs, ()),
    ],
)
@for_each("seed", [0, 1])
def test_groups_without_a_name_are_found(make, columns, seed):
    (found,) = find(make(np.random.default_rng(seed)))
    assert found.columns == columns
    assert found.kind == ("groups" if columns else "order")
    assert f"--group {','.join(columns)}" in found.sentence or not columns


def hours(rng):
    """A number with few values, whose effect goes on from value to value."""
    hour = rng.integers(0, 24, 700)
    y = 2.0 * np.sin(hour / 4.0) + 0.5 * rng.normal(size=700)
    return pl.DataFrame({"hour": hour, "x": rng.normal(size=700), "y": y})


def one_value_is_most(rng):
    x = np.where(rng.random(600) < 0.8, 0, rng.integers(1, 30, 600))
    return pl.DataFrame({"a": x, "b": rng.normal(size=600), "y": x + rng.normal(size=600)})


def copies(rng):
    table = pl.DataFrame({"a": rng.normal(size=120).round(1), "b": rng.normal(size=120)})
    table = table.with_columns(y=pl.Series(rng.normal(size=120)))
    return pl.concat([table] * 6)


@pytest.mark.full
@for_each("make", [lambda rng: numbered(rng, effect=0.0), hours, one_value_is_most, copies])
@for_each("seed", [0, 1, 2])
def test_columns_that_say_nothing_of_new_rows_are_not_called_groups(make, seed):
    assert not find(make(np.random.default_rng(seed)))


def test_small_tables_and_tables_without_inputs_have_no_candidates():
    assert not find(numbered(np.random.default_rng(0))[:60])
    table = pl.DataFrame({"a": [1.0, 2.0] * 60, "y": np.arange(120.0) ** 2})
    assert not comparison.find_unnamed_groups(table, tables.Schema("y", "regression", ()))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_the_verdict_and_the_report_say_for_which_rows_the_scores_hold(tmp_path):
    rng = np.random.default_rng(3)
    table = numbered(rng, n_groups=12, rows=80)
    found = posterity.compare(table, "y", models=["forest"], folds=3)
    told = " ".join(found.verdict.split())
    assert "for new rows of a known 'v00' (for a new 'v00' a forest covers" in told
    assert "Use --group v00 to measure new ones." in found.comparison.cautions[0]
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8").replace("&#39;", "'")
    assert "Use --group v00 to measure new ones." in page
    assert "(for a new 'v00' a forest covers" in page


@pytest.mark.full
def test_what_is_said_of_new_groups_is_true_of_them():
    """Both shares are means over groups, whose coverages differ by about 0.3."""
    rng = np.random.default_rng(5)
    every = patients(rng, n_groups=80)
    table = every.filter(pl.col("v00") <= 40)
    table, new = table[rng.permutation(len(table))], every.filter(pl.col("v00") > 40)
    (found,) = find(table)
    said = float(found.beyond.split()[-2]) / 100.0
    forest = trees.RandomForestRegressor(20, random_state=0)
    model = tables.TableModel(forest, tables.infer(table, "y")).fit(table)
    low, high = model.predict_interval(new)
    y = new["y"].to_numpy()
    true = np.mean((low <= y) & (y <= high))
    assert abs(said - true) < 4.0 * 0.3 * np.sqrt(2.0 / 40.0)
    assert true < 0.8
