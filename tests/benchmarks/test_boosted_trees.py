"""Boosted trees are compared on the same folds, and ranks are of the means over them."""

import json

import numpy as np
import pytest
from benchmarks import (
    boosted_folds,
    boosted_models,
    boosted_sets,
    boosted_tables,
    boosted_timings,
    boosted_trees,
    forest_models,
    readings,
    real_sets,
)
from benchmarks.boosted_models import Booster
from benchmarks.options import Options
from sklearn import ensemble, linear_model, naive_bayes
from support.for_each import for_each

from posterity import distributions

here = pytest.mark.skipif(not real_sets.FOLDER.exists(), reason="the data are not here")


def logistic(categorical, n_estimators=None):
    return linear_model.LogisticRegression(C=1.0 + len(categorical))


def bayes(categorical, n_estimators=None):
    return naive_bayes.GaussianNB()


CONTENDERS = (
    Booster("posterity, so to say", logistic, boosted_models.predict_proba),
    Booster("naive Bayes", bayes, boosted_models.predict_proba),
)


@pytest.fixture
def record(monkeypatch, tmp_path):
    """Run two contenders on two sets of scikit-learn's, in this process."""
    monkeypatch.setattr(boosted_folds, "find_contenders", lambda is_classes: CONTENDERS)
    monkeypatch.setattr(boosted_folds, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(boosted_trees, "KEPT", tmp_path / "kept")
    options = Options(quick=True, threads=1, folder=tmp_path)
    boosted_trees.measure_part("classes", options, ["iris", "wine"])
    assert len(list((tmp_path / "kept/classes-2").iterdir())) == 8
    return json.loads((tmp_path / "boosted_trees_classes.json").read_text())


class Here:
    """Works in this process what a pool would work in others."""

    def __init__(self, *given, **named):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def submit(self, work, *arguments):
        from concurrent.futures import Future

        future = Future()
        future.set_result(work(*arguments))
        return future


def test_every_row_is_held_out_once_and_classes_have_equal_shares():
    table = next(s for s in boosted_sets.CLASSES if s.name == "iris").read()
    folds = [table.fold(k, is_classes=True) for k in range(boosted_sets.FOLDS)]
    together = np.vstack([np.column_stack([f.X_test, f.y_test]) for f in folds])
    whole = np.column_stack([table.X, table.y])
    np.testing.assert_array_equal(together[np.lexsort(together.T)], whole[np.lexsort(whole.T)])
    assert all(np.bincount(f.y_test.astype(int)).tolist() == [10, 10, 10] for f in folds)


@here
def test_the_sets_of_classes_are_of_many_kinds():
    tables = [source.read() for source in boosted_sets.find_classes()]
    assert {len(np.unique(t.y)) for t in tables} >= {2, 3, 4, 6, 10, 11}
    assert any(np.isnan(t.X).any() for t in tables)
    assert any(len(t.categorical) == t.X.shape[1] for t in tables)
    assert min(len(t.y) for t in tables) < 120
    assert max(len(t.y) for t in tables) == boosted_sets.SAMPLE
    molecules = next(t for t in tables if t.name == "molecules").X
    assert (molecules[:, :7].sum(), molecules[:, 7:].sum()) == (3371.0, 7442 / 2)  # atoms, bonds


@for_each("sources", (boosted_sets.CLASSES, boosted_sets.NUMBERS))
def test_there_are_twelve_sets_at_least_each_by_its_name(sources):
    assert len({source.name for source in sources}) == len(sources) >= 12


def test_scores_are_of_the_rows_held_out_and_ranks_of_their_means(record):
    iris = next(task for task in record["tasks"] if task["name"] == "iris")
    data = boosted_sets.read_fold("iris", 1, is_classes=True)[0]
    P = logistic(()).fit(data.X, data.y).predict_proba(data.X_test)
    expected = -np.mean(np.log(P[np.arange(len(P)), data.y_test.astype(int)]))
    assert iris["folds"][2]["log_loss"] == pytest.approx(expected)
    losses = [
        task["summary"][c.name]["log_loss"]["mean"] for task in record["tasks"] for c in CONTENDERS
    ]
    first = [1.0 if a < b else 2.0 for a, b in zip(losses[::2], losses[1::2], strict=True)]
    ranks = record["ranks"][CONTENDERS[0].name]
    assert ranks["log_loss_rank"]["mean"] == pytest.approx(np.mean(first))
    assert ranks["log_loss_wins"]["mean"] == first.count(1.0)


def test_an_interrupted_run_measures_only_what_is_missing(record, monkeypatch, tmp_path):
    fitted, fit = [], boosted_folds.fit_fold

    def note_and_fit(contender, table, data, is_classes, file):
        fitted.append(file.name)
        return fit(contender, table, data, is_classes, file)

    monkeypatch.setattr(boosted_folds, "fit_fold", note_and_fit)
    (tmp_path / "kept/classes-2/iris, naive Bayes, 1.npz").unlink()
    options = Options(quick=True, threads=1, folder=tmp_path)
    again = boosted_trees.measure_part("classes", options, ["iris", "wine"])
    assert fitted == ["iris, naive Bayes, 1.npz"]
    assert again["ranks"]["naive Bayes"]["tables"]["mean"] == 2.0
    losses = [
        [task["folds"][place]["log_loss"] for task in told["tasks"] for place in range(4)]
        for told in (record, again)
    ]
    assert losses[0] == losses[1]


def test_a_contender_without_time_for_a_table_is_not_ranked_but_compared():
    def task(**scores):
        return {"summary": {name: {"log_score": {"mean": x}} for name, x in scores.items()}}

    tasks = [task(ours=1.0, slow=0.5), task(ours=1.0), task(ours=1.0, slow=2.0)]
    ranks = boosted_tables.summarise_ranks(tasks, boosted_tables.NUMBERS)
    (measure,) = (m for m in boosted_tables.NUMBERS if m.key == "log_score")
    boosted_tables.add_behind(ranks, tasks, measure)
    assert ranks["slow"] == {
        "tables": {"mean": 2.0, "standard_error": None},
        "log_score_behind": {"mean": 1.0, "standard_error": None},
    }


def test_the_pages_of_the_documentation_read_it(record, tmp_path):
    result = readings.read("boosted_trees_classes", tmp_path)
    assert [table.name for table in result.tables] == [
        "all 2 sets",
        "iris, 150 x 4",
        "wine, 178 x 13",
    ]
    assert "log_loss_rank" in result.tables[0].rows["naive Bayes"]
    page = (tmp_path / "boosted_trees_classes.md").read_text()
    assert "mean rank by log loss" in page
    assert "## wine: 178 x 13, 3 classes" in page


def test_a_spread_is_that_of_residuals_the_model_has_not_seen():
    X, rng = np.zeros((400, 1)), np.random.default_rng(0)
    y = rng.normal(2.0, 3.0, size=400)
    said = boosted_models.Spread(linear_model.LinearRegression).fit(X, y).predict_dist(X[:1])
    assert isinstance(said, distributions.Normal)
    assert said.scale == pytest.approx(np.sqrt(np.mean((y - y.mean()) ** 2)), rel=0.02)


def test_categories_reach_a_model_with_their_type():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(4, size=300)])
    y = np.isin(X[:, 1], (1, 3)).astype(float)
    model = boosted_models._histogram("Classifier", (1,), max_iter=1)
    assert model.fit(X, y).model.is_categorical_.tolist() == [False, True]
    assert model.frame(X).dtypes.astype(str).tolist() == ["float64", "category"]
    assert isinstance(
        boosted_models._histogram("Classifier", ()), ensemble.HistGradientBoostingClassifier
    )


def test_coverage_and_ratios_are_counted_by_set():
    def task(rmse, coverage):
        names = ("posterity", "CatBoost")
        return {
            "summary": {
                name: {"rmse": {"mean": r}, "coverage_90": {"mean": c}}
                for name, r, c in zip(names, rmse, coverage, strict=True)
            }
        }

    tasks = [task((1.1, 1.0), (0.90, 0.5)), task((0.9, 1.0), (0.86, 0.88))]
    ranks = boosted_tables.summarise_ranks(tasks, boosted_tables.NUMBERS)
    boosted_tables.add_ratios(ranks, tasks, "rmse")
    boosted_tables.add_coverage(ranks, tasks)
    ours = {key: spread["mean"] for key, spread in ranks["posterity"].items()}
    assert ours["rmse_rank"] == 1.5
    assert ours["rmse_to_best_peer"] == pytest.approx(1.0)
    assert (ours["coverage_within"], ours["coverage_least"]) == (1.0, 0.86)


@for_each("make", (boosted_timings._speed, boosted_timings._natural, boosted_timings._million))
def test_timings_are_at_equal_rounds(make, monkeypatch):
    monkeypatch.setattr(forest_models, "threads", lambda: 1)
    benchmark = make()
    rounds = {c.name.rsplit(", ", 1)[1] for c in benchmark.contenders}
    assert len(rounds) == 2
    assert "defaults" in rounds
    assert benchmark.contenders[0].name.startswith("posterity BoostedTrees")
