"""Who runs which fold: little time, models clearly behind, and scores of fewer folds."""

import gc
import weakref

import numpy as np
import polars as pl
import pytest

from posterity import comparison, linear, tables, trees
from posterity.comparison import budget, choice, race, trial


class Clock:
    """A clock that stands still unless a fit moves it."""

    now = 0.0


@pytest.fixture
def clock(monkeypatch):
    Clock.now = 0.0
    monkeypatch.setattr(budget, "read_clock", lambda: Clock.now)
    monkeypatch.setattr(race, "_RACE_ROWS", 20)


class Costly(linear.LinearRegression):
    """A linear model whose fit takes seconds of the clock, none for a few rows."""

    def __init__(self, seconds=1.0, used=3):
        super().__init__()
        self.seconds = seconds
        self.used = used

    def fit(self, X, y, sample_weight=None):
        Clock.now += self.seconds if len(y) > 20 else 0.0
        kept = np.where(np.arange(X.shape[1]) < self.used, X, 0.0)
        return super().fit(kept, y)

    def predict_dist(self, X):
        return super().predict_dist(np.where(np.arange(np.shape(X)[1]) < self.used, X, 0.0))


class Forest(Costly, trees.RandomForestRegressor):
    """Counts as a forest."""


def table(n=60):
    X = np.random.default_rng(0).normal(size=(n, 3))
    noise = np.random.default_rng(1).normal(size=n)
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    return pl.DataFrame({**columns, "y": 3.0 * X[:, 0] + X[:, 1] + 0.5 * noise})


def compared(models, **options):
    frame = table()
    candidates = [
        *comparison.baselines("regression")[:1],
        *(comparison.Candidate(name, one) for name, one in models.items()),
    ]
    fits = []
    found = comparison.compare(
        frame,
        tables.infer(frame, "y"),
        candidates,
        report=lambda done, total, name: fits.append(name),
        **options,
    )
    return found, fits, {one.name: one for one in found.results}


def test_every_model_runs_one_fold_before_any_runs_two(clock):
    models = {name: Costly(seconds) for name, seconds in (("x", 1.0), ("y", 2.0), ("z", 3.0))}
    _, fits, results = compared(models, budget=1e4)
    assert fits[:4] == ["mean", "x", "y", "z"]
    assert sorted(fits[4:8]) == ["mean", "x", "y", "z"]
    assert {one.folds for one in results.values()} == {5}


def test_finished_folds_count_when_the_time_is_over(clock):
    # first folds take 1 + 4 s, and 8 s are reserved for the last fit: 2 s are left for x alone
    found, _, results = compared({"x": Costly(1.0, used=1), "slow": Costly(4.0)}, budget=15.0)
    assert (results["x"].folds, results["slow"].folds) == (3, 1)
    assert results["slow"].stopped == "out of time after 1 of 5 folds."
    assert not found.skipped
    assert found.best.name == "slow"  # better by far, on the same rows
    assert len(found.best.held_out.rows) == len(found.best.held_out.quantiles) == 12


def test_a_first_fold_that_does_not_fit_is_not_started(clock):
    found, _, _ = compared({"x": Costly(1.0), "y": Costly(1.0)}, budget=0.5)
    assert found.skipped == (comparison.Skipped("y", "out of time, not started."),)


def test_without_time_the_mean_the_first_model_and_the_forest_run_one_fold(clock):
    models = {"constant": Costly(used=0), "other": Costly(), "forest": Forest()}
    found, fits, results = compared(models, budget=1e-3)
    assert fits[:3] == ["mean", "constant", "forest"]
    assert set(results) == {"mean", "constant", "forest"}
    assert found.best.name == "forest"


def test_a_model_clearly_behind_stops_after_two_folds_and_keeps_its_score(clock):
    models = {"good": Costly(), "poor": Costly(used=0), "close": Costly(used=2)}
    found, fits, results = compared(models)
    assert fits.count("poor") == results["poor"].folds == 2
    assert results["poor"].stopped == "clearly behind the best model after 2 of 5 folds."
    assert fits.count(found.best.name) == 6  # and the fit to all rows
    assert {fits.count("good"), fits.count("close"), fits.count("mean")} == {5, 6}
    assert results["poor"].probability_best is None
    rows = results["poor"].held_out.rows
    best = found.results[0].held_out
    lost = best.log_prob[np.isin(best.rows, rows)] - results["poor"].held_out.log_prob
    assert results["poor"].behind == pytest.approx(lost.mean())
    assert results["poor"].log_score == pytest.approx(best.log_prob.mean() - lost.mean())


def test_a_slow_model_stops_when_its_rows_rank_it_whether_it_leads_or_not(clock, monkeypatch):
    models = {"best": Costly(9.0), "close": Costly(8.0, used=2), "quick": Costly(1.0, used=1)}
    _, fits, _ = compared(models)
    assert fits.count("best") >= 5  # 12 rows are too few
    monkeypatch.setattr(race, "_ENOUGH_ROWS", 12)
    found, fits, results = compared(models)
    assert [results[name].folds for name in models] == [1, 1, 5]
    assert results["best"].stopped == "slow, and ranked by enough rows after 1 of 5 folds."
    assert found.best.name == "best"
    assert sum(results[name].probability_best for name in models) == 1.0  # on 12 rows of each
    assert fits.count("best") == 2  # and the fit to all rows
    assert len(found.best.held_out.quantiles) == 12
    assert found.importance[0].name == "a"


def test_of_a_large_table_one_fitted_estimator_is_in_memory(clock, monkeypatch):
    monkeypatch.setattr(trial, "_MOST_KEPT", 0)
    fitted, alive = [], []

    class Watched(Costly):
        def fit(self, X, y, sample_weight=None):
            gc.collect()
            alive.append(sum(one() is not None for one in fitted))
            fitted.append(weakref.ref(self))
            return super().fit(X, y)

    found, _, _ = compared({"watched": Watched()})
    assert alive == [0] * 6  # five folds, and all rows
    assert found.importance[0].name == "a"


def test_rows_that_depend_on_each_other_are_never_enough(clock, monkeypatch):
    monkeypatch.setattr(race, "_ENOUGH_ROWS", 12)
    frame = table().with_columns(group=pl.Series([str(k // 6) for k in range(60)]))
    found = comparison.compare(
        frame,
        tables.infer(frame, "y", groups="group"),
        [comparison.Candidate("slow", Costly(9.0))],
    )
    assert found.best.folds == 5


def test_a_fit_is_the_last_thing_before_progress_is_told_again(clock, monkeypatch):
    told = []
    monkeypatch.setattr(comparison.ranking, "rank_inputs", lambda *_, **__: told.append("rank"))
    frame = table()
    comparison.compare(
        frame,
        tables.infer(frame, "y"),
        [comparison.Candidate("x", Costly())],
        report=lambda done, total, name: told.append((done, total, name)),
    )
    assert told[-4:] == [(5, 6, ""), "rank", (5, 6, "x"), (6, 6, "")]


def test_few_common_rows_stop_nobody(clock, monkeypatch):
    monkeypatch.setattr(race, "_RACE_ROWS", 25)
    _, _, results = compared({"good": Costly(), "poor": Costly(used=0)}, folds=5)
    assert results["poor"].folds == 3  # 24 rows in two folds, 36 in three


def test_the_order_of_models_with_different_folds_is_that_of_common_rows():
    def result(name, log_prob):
        rows = np.arange(len(log_prob))
        log_prob = np.asarray(log_prob, dtype=float)
        held_out = comparison.HeldOut(rows, rows, log_prob, rows, np.full(len(rows), 0.5))
        return comparison.row_scores.score_predictions(
            name, "", held_out, comparison.row_scores.Costs(), baseline=False
        )

    whole = result("whole", [-9.0, -9.0, 0.0, 0.0])  # hard rows first
    part = result("part", [-8.0, -8.5])
    ranked = choice.sort_results([whole, part])
    assert [one.name for one in ranked] == ["part", "whole"]
    assert ranked[0].log_score == pytest.approx(-4.5 + 0.75)
    assert ranked[1].behind == pytest.approx(0.75)
