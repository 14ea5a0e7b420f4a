"""The comparison as a whole, beside brute force and under trouble."""

import gc
import time
import warnings
import weakref

import numpy as np
import polars as pl
import pytest
import scipy.stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

from posterity import comparison, linear, tables
from posterity.comparison import choice, trial


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return pl.DataFrame({"a": a, "b": 5.0 + 3.0 * b, "y": 2.0 * a - b + 0.5 * rng.normal(size=n)})


def labels(n=90, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    places = np.digitize(a + 0.5 * rng.normal(size=n), [-0.4, 0.6])
    return pl.DataFrame({"a": a, "b": b, "y": np.array(["low", "mid", "top"])[places]})


def compared(table, models, **options):
    return comparison.compare(table, tables.infer(table, "y"), models, **options)


def usual(*names, task="regression"):
    return (
        *comparison.baselines(task)[:1],
        *comparison.candidates(task, 60, 2, names=names),
    )


class Failing(linear.LinearRegression):
    """Objects to whatever it is given."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("Column 2 is too long. Shorten it.")


class Slow(linear.LinearRegression):
    """Takes its time over every fit."""

    seconds = 0.05
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return super().fit(X, y)


class Loud(linear.LinearRegression):
    """Warns of the same thing at every fit."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn("This may be wrong.", stacklevel=2)
        return super().fit(X, y)


def test_scores_of_numbers_are_those_of_cross_val_predict():
    table = numbers()
    found = compared(table, usual("linear"), folds=4, seed=3)
    X, y = table.select("a", "b").to_numpy(), table["y"].to_numpy()
    split = KFold(4, shuffle=True, random_state=3)
    model = make_pipeline(StandardScaler(), linear.BayesianLinearRegression())
    mean = cross_val_predict(model, X, y, cv=split)
    assert found.best.rmse == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)), rel=1e-9)
    log_prob = np.empty(len(y))
    for train, test in split.split(X):
        scaler = StandardScaler().fit(X[train])
        fitted = linear.BayesianLinearRegression().fit(scaler.transform(X[train]), y[train])
        log_prob[test] = fitted.predict_dist(scaler.transform(X[test])).log_prob(y[test])
    np.testing.assert_allclose(found.best.held_out.log_prob, log_prob, rtol=1e-9)


def test_probabilities_of_classes_are_those_of_cross_val_predict():
    table = labels()
    found = compared(table, usual("linear", task="classification"), folds=3, seed=1)
    X, y = table.select("a", "b").to_numpy(), table["y"].to_numpy()
    places = np.searchsorted(["low", "mid", "top"], y)
    split = StratifiedKFold(3, shuffle=True, random_state=1)
    model = make_pipeline(StandardScaler(), linear.BayesianLogisticRegression())
    p = cross_val_predict(model, X, y, cv=split, method="predict_proba")
    np.testing.assert_allclose(found.best.held_out.probabilities, p, rtol=1e-7)
    assert found.best.accuracy == pytest.approx(np.mean(p.argmax(axis=1) == places))
    assert found.best.held_out.classes == ("low", "mid", "top")


def test_the_winner_is_the_model_of_all_rows():
    table = numbers()
    schema = tables.infer(table, "y")
    found = comparison.compare(table, schema, usual("linear", "tree"))
    assert found.best.name == "linear"
    alone = tables.TableModel(linear.BayesianLinearRegression(), schema).fit(table)
    np.testing.assert_array_equal(found.winner.predict(table), alone.predict(table))
    assert found.best.log_evidence == alone.estimator_.log_evidence_


def test_differences_are_paired_row_by_row():
    found = compared(numbers(), usual("linear", "tree", "sparse"))
    best = found.results[0].held_out.log_prob
    assert [one.log_score for one in found.results] == sorted(
        (one.log_score for one in found.results), reverse=True
    )
    for one in found.results[1:]:
        lost = best - one.held_out.log_prob
        assert one.behind == pytest.approx(lost.mean(), rel=1e-12)
        assert one.behind_error == pytest.approx(scipy.stats.sem(lost), rel=1e-12)
    assert found.results[0].behind == found.results[0].behind_error == 0.0


def test_the_same_seed_gives_the_same_numbers_in_any_order_and_with_time_enough():
    models = usual("linear", "tree", "least-squares")
    first = compared(numbers(), models, seed=4)
    again = compared(numbers(), models[::-1], seed=4, budget=1e4)
    assert not again.skipped
    scores = {one.name: one.log_score for one in first.results}
    assert scores == {one.name: one.log_score for one in again.results}


def test_only_the_winner_has_quantiles_and_they_hold_what_coverage_says():
    found = compared(numbers(), usual("linear", "tree"))
    quantiles, y = found.best.held_out.quantiles, found.best.held_out.y
    inside = (quantiles[:, 0] <= y) & (y <= quantiles[:, -1])
    assert found.best.coverage == pytest.approx(inside.mean())
    assert all(one.held_out.quantiles is None for one in found.results if one is not found.best)


def test_evidence_is_shown_where_it_can_be_compared():
    found = compared(numbers(), usual("linear", "sparse", "least-squares"))
    evidence = {one.name: one.log_evidence for one in found.results}
    assert evidence["linear"] is not None
    assert evidence["sparse"] is evidence["least-squares"] is evidence["mean"] is None


def test_a_model_that_fails_is_left_out_with_its_first_sentence():
    models = (*usual("linear"), comparison.Candidate("failing", Failing()))
    found = compared(numbers(), models)
    assert found.skipped == (comparison.Skipped("failing", "Column 2 is too long."),)
    assert found.best.name == "linear"


def test_where_every_model_fails_it_is_said_why():
    models = (*comparison.baselines("regression")[:1], comparison.Candidate("bad", Failing()))
    with pytest.raises(tables.TableError, match="bad: Column 2 is too long"):
        compared(numbers(), models)


def test_a_winner_that_cannot_be_fitted_to_all_rows_is_an_error_in_words():
    class Small(linear.BayesianLinearRegression):
        def fit(self, X, y, sample_weight=None):
            if len(y) == 60:
                raise ValueError("Sixty rows are one too many.")
            return super().fit(X, y)

    models = (*usual(), comparison.Candidate("small", Small()))
    with pytest.raises(tables.TableError, match=r"'small' is chosen .* Sixty rows are one"):
        compared(numbers(), models)
    small = comparison.Candidate("small", Small(prior_variance=1e-9))
    found = compared(numbers(), (*usual("linear"), small))
    assert next(one for one in found.results if one.name == "small").log_evidence is None


def test_warnings_are_kept_and_not_shown():
    found = compared(numbers(), (comparison.Candidate("loud", Loud()),))
    assert found.best.warnings == ("This may be wrong.",)


def test_an_interruption_by_a_person_ends_everything():
    class Interrupted(linear.LinearRegression):
        def fit(self, X, y, sample_weight=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(numbers(), (*usual("linear"), comparison.Candidate("x", Interrupted())))


@for_each(
    ("name", "shift", "why"),
    [("gamma", -50.0, "needs positive targets"), ("poisson", 0.0, "needs counts")],
)
def test_models_for_other_targets_say_so(name, shift, why):
    table = numbers().with_columns(pl.col("y") + shift)
    found = compared(table, usual("linear", name))
    assert [one.name for one in found.skipped] == [name]
    assert why in found.skipped[0].why


def test_counts_are_measured_by_the_model_for_counts():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    table = pl.DataFrame({"x": x, "y": rng.poisson(np.exp(0.5 + 0.8 * x)).astype(float)})
    schema = tables.infer(table, "y", task="regression")
    found = comparison.compare(table, schema, usual("linear", "poisson"), prefer="best")
    assert found.best.name == "poisson"


def test_a_model_that_cannot_end_in_time_is_stopped():
    class VerySlow(Slow):
        seconds = 60.0

    start = time.perf_counter()
    models = (*usual("linear"), comparison.Candidate("slow", VerySlow()))
    found = compared(numbers(), models, budget=1.5)
    assert time.perf_counter() - start < 30.0
    assert found.skipped[0].name == "slow"
    assert "out of time, stopped after" in found.skipped[0].why


def test_progress_is_told_before_every_fit_and_at_the_end():
    told = []
    compared(numbers(), usual("linear"), folds=3, report=lambda *step: told.append(step))
    assert told == [
        *((k, 7, name) for k, name in enumerate(["mean", "linear"])),
        *((k, 7, name) for k, name in enumerate(["linear", "mean"] * 2, start=2)),
        (6, 7, ""),  # inputs are ranked
        (6, 7, "linear"),
        (7, 7, ""),
    ]


@pytest.mark.full
def test_a_rare_class_counts_as_rare_and_stays_finite():
    table = labels()
    y = table["y"].to_list()
    y[0] = "once"
    table = table.with_columns(pl.Series("y", y))
    schema = tables.infer(table, "y", task="classification")
    models = usual("linear", "forest", task="classification")
    found = comparison.compare(table, schema, models)
    assert not found.skipped
    for one in found.results:
        n_train = 72
        assert one.held_out.log_prob[0] == pytest.approx(-np.log(n_train + 4), rel=1e-9)


def test_a_scikit_learn_classifier_can_be_a_candidate():
    class Coin(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))

    models = (*usual("linear", task="classification"), comparison.Candidate("coin", Coin()))
    found = compared(labels(), models)
    coin = next(one for one in found.results if one.name == "coin")
    assert coin.log_score == pytest.approx(-np.log(3.0))
    assert coin.n_bytes is None
    assert found.best.n_bytes > 0


def test_two_candidates_of_one_name_are_refused():
    with pytest.raises(ValueError, match="Two candidates are named 'linear'"):
        compared(numbers(), (*usual("linear"), *usual("linear")[1:]))


def test_categories_dates_and_missing_values_go_in_as_they_are():
    rng = np.random.default_rng(0)
    n = 60
    colour = rng.choice(["red", "green", "blue"], size=n)
    size = [None if k % 7 == 0 else f"{v:.3f}" for k, v in enumerate(rng.normal(size=n))]
    y = (colour == "red") * 3.0 + rng.normal(size=n)
    table = pl.DataFrame({"colour": colour, "size": size, "y": [f"{v:.4f}" for v in y]})
    found = compared(table, usual("linear", "forest"))
    assert found.best.log_score > found.results[-1].log_score
    assert found.results[-1].name == "mean"


def test_results_are_ranked_whatever_order_they_come_in():
    found = compared(numbers(), usual("linear", "tree"))
    again = choice.sort_results(found.results[::-1])
    assert [one.name for one in again] == [one.name for one in found.results]


@pytest.mark.full
def test_of_large_folds_only_the_last_estimator_is_kept(monkeypatch):
    kept, alive = [], weakref.WeakSet()

    class Watched(linear.LinearRegression):
        """Counts how many of its fits are still held when the next one begins."""

        def fit(self, X, y, sample_weight=None):
            gc.collect()
            kept.append(len(alive))
            super().fit(X, y, sample_weight)
            alive.add(self)
            return self

    names = ("linear", "additive")
    for most, expected in ((20_000, [0, 1, 2]), (10, [0, 1, 1])):
        kept.clear()
        alive.clear()
        monkeypatch.setattr(trial, "_MOST_KEPT", most)
        models = (*usual(*names), comparison.Candidate("watched", Watched()))
        found = compared(numbers(), models, folds=3)
        assert kept[:3] == expected
        assert {one.name for one in found.importance} == {"a", "b"}
        assert all(one.n_bytes for one in found.results if one.name in names)
