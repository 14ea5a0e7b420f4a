"""Rows held out by time, group and region, and the words for which new rows scores hold."""

import datetime

import numpy as np
import polars as pl
import pytest
from support.for_each import for_each

from posterity import comparison, persistence, tables
from posterity.comparison import folds, row_scores
from posterity.comparison.holdout import format_days, parse_gap
from posterity.comparison.lagged import LaggedRegressor


def daily(n=60, repeats=1, seed=0):
    rng = np.random.default_rng(seed)
    days = np.repeat(np.arange(n), repeats)
    start = datetime.date(2021, 5, 1)
    order = rng.permutation(len(days))
    return pl.DataFrame(
        {
            "x": rng.normal(size=len(days)),
            "date": [start + datetime.timedelta(days=int(day)) for day in days],
            "y": rng.normal(size=len(days)),
        }
    )[order]


def visits(n_groups=12, seed=0, **columns):
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(n_groups), 5)
    b = 3.0 * rng.normal(size=n_groups)
    y = b[g] + rng.normal(size=len(g))
    table = {"patient": [f"p{k}" for k in g], "x": rng.normal(size=len(g)), "y": y}
    return pl.DataFrame({**table, **columns})


def split(table, gap=None, n_folds=5, **roles):
    schema = tables.infer(table, "y", **roles)
    holdout = comparison.Holdout.from_schema(schema, folds=n_folds, gap=gap)
    return folds.split_table(table, schema, holdout).folds


@for_each(("gap", "ahead"), [(None, 1), (3, 4), ("4d", 5)])
def test_models_are_fitted_to_the_past_and_scored_on_what_follows_the_gap(gap, ahead):
    table = daily(repeats=2)
    days = table["date"].to_numpy().astype("M8[D]").astype(int)
    seen = np.zeros(len(days), dtype=int)
    for fold in split(table, gap, time="date"):
        test = days[fold.rows]
        n_train = len(fold.y_train)
        assert n_train == np.sum(days <= test.min() - ahead)
        assert len(np.unique(test)) == 6
        assert len(test) == 12  # rows of the same day stand together
        assert len(np.unique(fold.clusters)) == 1
        seen[fold.rows] += 1
    np.testing.assert_array_equal(seen, days >= np.median(np.unique(days)))


def test_the_encoders_of_earlier_rows_are_the_same_whatever_follows():
    table = daily()
    last = pl.col("date") > pl.col("date").quantile(0.6)
    other = table.with_columns(x=pl.when(last).then(1e3).otherwise("x"))
    before, after = (split(one, time="date")[0] for one in (table, other))
    np.testing.assert_array_equal(before.X_train, after.X_train)


@for_each("labels", [False, True])
def test_whole_groups_are_held_out_and_are_clusters(labels):
    table = visits()
    if labels:
        table = table.with_columns(
            y=pl.when(pl.col("y") > 0).then(pl.lit("a")).otherwise(pl.lit("b"))
        )
    group = table["patient"].to_numpy()
    parts = split(table, groups="patient")
    for fold in parts:
        inside = set(group[fold.rows])
        assert len(fold.rows) == 5 * len(inside)
        assert len(np.unique(fold.clusters)) == len(inside)
        seen = fold.as_seen("groups")
        np.testing.assert_array_equal(seen.X_test[:, -1], -1.0)
        assert set(seen.X_train[:, -1]) == set(range(12 - len(inside)))
        assert seen.X_train.shape[1] == fold.X_train.shape[1] + 1
    assert sum(len(fold.rows) for fold in parts) == len(table)


def test_a_row_without_a_group_is_a_group_of_its_own():
    table = visits().with_columns(
        patient=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("patient")
    )
    clusters = np.concatenate([fold.clusters for fold in split(table, groups="patient")])
    assert len(np.unique(clusters)) == 15


def test_whole_regions_are_held_out():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"lat": rng.random(80), "lon": rng.random(80), "y": rng.normal(size=80)})
    parts = split(table, blocks=("lat", "lon"), n_folds=4)
    regions = [set(fold.clusters) for fold in parts]
    assert sum(map(len, regions)) == len(set.union(*regions)) == 20


@for_each(
    ("roles", "change", "message"),
    [
        ({"time": "date"}, {"n_folds": 40}, "60 different times, too few for 40 folds"),
        ({"time": "date"}, {"gap": 29}, "A gap of 29 leaves 1 rows to fit to"),
        ({"time": "x"}, {"gap": "7d"}, "Column 'x' contains numbers, so a gap of 7d has no"),
        ({}, {"gap": 3}, "A gap needs a column of times; name it with --time"),
    ],
)
def test_times_that_cannot_be_split_are_refused_in_a_sentence(roles, change, message):
    with pytest.raises(tables.TableError, match=message):
        split(daily(), **change, **roles)


def test_groups_that_are_too_few_and_places_that_are_missing_are_refused():
    with pytest.raises(tables.TableError, match=r"'patient' has 3 groups, fewer .* use --folds 3"):
        split(visits(3), groups="patient")
    table = daily().with_columns(date=pl.when(pl.col("y") > 1).then(None).otherwise("date"))
    with pytest.raises(tables.CellError, match="the value is missing, so the row cannot be placed"):
        split(table, time="date")


@for_each(
    ("roles", "gap", "scope"),
    [
        ({"time": "date"}, None, "for the next 6 days"),
        ({"time": "date"}, "2w", "for the 6 days that follow a gap of 14 days"),
        ({"time": "date"}, 2, "for the 6 days that follow a gap of 2 times"),
        ({"groups": "patient"}, None, "for rows of a new 'patient'"),
        ({"blocks": ("lat", "lon")}, None, "for new regions"),
        ({}, None, "for new rows like these"),
    ],
)
def test_the_scope_says_for_which_new_rows_the_scores_hold(roles, gap, scope):
    rng = np.random.default_rng(0)
    table = daily().with_columns(
        patient=pl.int_range(pl.len()) % 12, lat=rng.random(60), lon=rng.random(60)
    )
    schema = tables.infer(table, "y", **roles)
    holdout = comparison.Holdout.from_schema(schema, gap=gap)
    assert holdout.describe_scope(table, schema) == scope


@for_each(
    ("days", "words"),
    [(1.0, "day"), (14.0, "14 days"), (90.0, "13 weeks"), (0.5, "12 hours"), (240.0, "8 months")],
)
def test_lengths_of_time_have_natural_units(days, words):
    assert format_days(days) == words


def test_a_gap_that_is_not_one_is_refused():
    with pytest.raises(ValueError, match="'soon' is not a gap"):
        parse_gap("soon")


def test_the_standard_error_of_clusters_is_that_of_their_means_and_of_rows_alone():
    rng = np.random.default_rng(1)
    values = rng.normal(size=60)
    alone = row_scores.standard_error(values, np.arange(60))
    assert alone == pytest.approx(row_scores.standard_error(values))
    means = values[:12]
    repeated = row_scores.standard_error(np.repeat(means, 5), np.repeat(np.arange(12), 5))
    assert repeated == pytest.approx(row_scores.standard_error(means))
    assert row_scores.standard_error(values, np.zeros(60)) == np.inf


@pytest.mark.filterwarnings("ignore")
def test_known_groups_get_their_offset_and_new_ones_the_variance_of_groups(tmp_path):
    # Checked against 90 % within three standard errors of 60 groups of 5 rows in 4 draws.
    known, new = [], []
    for seed in range(4):
        table = visits(60, seed=seed)
        schema = tables.infer(table, "y", groups="patient")
        (one,) = comparison.candidates("regression", 300, 1, names=["linear-groups"], role="groups")
        first, later = pl.int_range(pl.len()) % 5 < 4, pl.int_range(pl.len()) % 5 == 4
        model = tables.TableModel(one.estimator, schema, one.view).fit(table.filter(first))
        persistence.save(model, tmp_path / "model.posterity")
        again = persistence.load(tmp_path / "model.posterity")
        known.append(comparison.evaluate(again, table.filter(later)).coverage)
        strangers = visits(60, seed=100 + seed).with_columns(patient=pl.lit("stranger"))
        new.append(comparison.evaluate(again, strangers).coverage)
    nobody = strangers.with_columns(patient=pl.lit(None, pl.String))
    np.testing.assert_array_equal(again.predict(nobody), again.predict(strangers))
    with pytest.raises(tables.TableError, match="There is no column 'patient'"):
        again.predict(strangers.drop("patient"))
    assert np.mean(known) == pytest.approx(0.9, abs=0.06)
    assert np.mean(new) == pytest.approx(0.9, abs=0.06)


@pytest.mark.filterwarnings("ignore")
def test_a_comparison_by_time_says_so_and_later_rows_are_not_used():
    table = daily(80)
    schema = tables.infer(table, "y", time="date")
    models = comparison.candidates("regression", 80, 2, names=["linear"])
    found = comparison.compare(table, schema, models, folds=4)
    assert (found.holdout.kind, found.scope, found.cautions) == ("time", "for the next 10 days", ())
    held_out = found.best.held_out
    assert len(held_out.rows) == 40
    assert len(np.unique(held_out.clusters)) == 4
    assert found.best.standard_error == row_scores.standard_error(
        held_out.log_prob, held_out.clusters
    )


def test_lagged_forecasts_cover_a_random_walk_and_widen_with_the_horizon(tmp_path):
    covered, widths = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.column_stack([np.arange(92.0), rng.normal(size=92)])
        y = rng.normal(size=92).cumsum() + X[:, 1]
        model = LaggedRegressor().fit(X[:80], y[:80])
        dist = model.predict_dist(X[80:])
        lower, upper = dist.interval(0.9)
        covered.append(np.mean((lower < y[80:]) & (y[80:] < upper)))
        widths.append(dist.standard_deviation())
    # One draw is about one window: three standard errors of forty windows of a share of 0.9.
    assert np.mean(covered) == pytest.approx(0.9, abs=0.1)
    growth = np.mean(widths, axis=0)
    assert growth[0] == pytest.approx(1.0, abs=0.2)
    assert np.sqrt(8.0) - 0.4 < growth[7] < 1.5 * np.sqrt(8.0)  # few windows of eight steps
    persistence.save(model, tmp_path / "model.posterity")
    again = persistence.load(tmp_path / "model.posterity").predict_dist(X)
    np.testing.assert_array_equal(again.mean(), model.predict_dist(X).mean())
    # A row inside is predicted from the time before it, as the row after the last one is.
    inside = model.predict_dist(X[[40]]).standard_deviation()
    assert inside[0] == pytest.approx(growth[0], abs=0.3)
    with pytest.raises(ValueError, match="At least two different times"):
        LaggedRegressor().fit(np.zeros((5, 1)), np.arange(5.0))
