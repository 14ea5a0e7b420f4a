"""What inputs are worth, by shuffling them."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold

from posterity import comparison, distributions, linear, tables
from posterity.comparison.permutation import MeasuredRows, rank_inputs

importance = comparison.importance


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    colour = rng.choice(["red", "green", "blue"], size=n)
    y = 2.0 * a + 1.5 * (colour == "red") + 0.5 * rng.normal(size=n)
    return pl.DataFrame({"a": a, "noise": b, "colour": colour, "y": y})


@pytest.fixture(scope="module")
def model():
    schema = tables.infer(table(), "y")
    return tables.TableModel(linear.BayesianLinearRegression(), schema).fit(table())


def partners(n, rng):
    """The row before each row in a random ring, some steps away."""
    ring, steps = list(rng.permutation(n)), rng.integers(1, n)
    return [int(ring[(ring.index(row) - steps) % n]) for row in range(n)]


def by_hand(model, frame, name, seed, n_repeats):
    """The same shuffles, each by a table of its own."""
    rng = np.random.default_rng(seed)
    shuffles = [partners(len(frame), rng) for _ in range(n_repeats)]
    y = frame["y"].to_numpy()
    before = model.predict_dist(frame).log_prob(y)
    mixed = [frame.with_columns(frame[name][order].alias(name)) for order in shuffles]
    lost = np.array([before - model.predict_dist(f).log_prob(y) for f in mixed])
    given = np.zeros(len(frame))
    for losses, order in zip(lost, shuffles, strict=True):
        for row, partner in enumerate(order):
            given[partner] += losses[row] / n_repeats
    return lost.mean(axis=0), given


@pytest.mark.parametrize("at_once", [1, 20_000])
def test_each_drop_is_that_of_a_table_with_one_column_shuffled(model, monkeypatch, at_once):
    monkeypatch.setitem(importance.__globals__, "_AT_ONCE", at_once)
    new = table(40, seed=1)
    found = {one.name: one for one in importance(model, new, seed=5, n_repeats=2)}
    assert set(found) == {"a", "noise", "colour"}
    for name, one in found.items():
        lost, given = by_hand(model, new, name, 5, 2)
        assert one.drop == pytest.approx(lost.mean(), rel=1e-9, abs=1e-12)
        assert one.error == pytest.approx((lost + given).std(ddof=1) / np.sqrt(40), rel=1e-9)
        assert one.high - one.drop == pytest.approx(2.0227 * one.error, rel=1e-4)  # t, 39 degrees
        assert one.drop - one.low == pytest.approx(one.high - one.drop, rel=1e-9)


class Line:
    """The density of y = 2 a + noise, which needs nothing of the first row of a table."""

    def predict_dist(self, X):
        return distributions.Normal(2.0 * X[:, 0], 1.0)


def measured(rng, n_clusters, n_each):
    """Rows of clusters that share their input, and noise columns beside it."""
    a = np.repeat(rng.normal(size=n_clusters), n_each)
    X = np.column_stack([a, rng.normal(size=len(a))])
    blocks = (("a", slice(0, 1)), ("noise", slice(1, 2)))
    y = 2.0 * a + rng.normal(size=len(a))
    return MeasuredRows(Line(), X, y, blocks, 0, 100, np.repeat(np.arange(n_clusters), n_each))


def share_of_intervals_with_the_truth(n_clusters, n_each, *, known):
    """Truth: half the mean of (2 (a - a'))^2, that is 4, for independent a and a'."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(300):
        part = measured(rng, n_clusters, n_each)
        part = part if known else dataclasses.replace(part, clusters=None)
        one = rank_inputs([part])[0]
        # Shuffled within the rows of few clusters, some rows get the value of their own cluster.
        share = (n_clusters * n_each - n_each) / (n_clusters * n_each - 1)
        inside += one.low <= 4.0 * share <= one.high
    return inside / 300


def test_intervals_contain_the_truth_as_often_as_they_should_where_rows_depend():
    assert 0.92 <= share_of_intervals_with_the_truth(200, 1, known=False) <= 0.995
    assert 0.90 <= share_of_intervals_with_the_truth(60, 5, known=True) <= 0.995
    assert share_of_intervals_with_the_truth(60, 5, known=False) < 0.8


def test_what_helps_nothing_is_said_to_help_nothing():
    part = measured(np.random.default_rng(0), 60, 1)
    first, second = rank_inputs([part])
    assert first.helps
    assert not second.helps
    told = comparison.describe_importance((first, second))
    assert f"a {first.drop:.2g} ({first.low:.2g} to" in told[0]
    assert told[1] == "These rows do not show that noise helps: its interval is not above zero."
    assert "any input helps" in comparison.describe_importance((second,))[0]
    many = [dataclasses.replace(second, name=f"x{k}") for k in range(9)]
    assert "x4 and 4 more help: their" in comparison.describe_importance((first, *many))[1]
    assert comparison.describe_importance(()) == ()


def test_the_most_important_come_first_and_noise_is_worth_nothing(model):
    found = importance(model, table(seed=1))
    assert [one.name for one in found] == ["a", "colour", "noise"]
    assert abs(found[-1].drop) < 3.0 * found[-1].error + 0.01
    assert found[0].low > 10.0


def test_classes_have_important_inputs_too():
    new = table().with_columns((pl.col("y") > 0.5).cast(pl.String))
    schema = tables.infer(new, "y")
    fitted = tables.TableModel(linear.BayesianLogisticRegression(), schema).fit(new)
    assert importance(fitted, new)[0].name == "a"


def test_few_rows_are_drawn_and_the_seed_decides_which(model):
    new = table()
    first = importance(model, new, max_rows=20, seed=1)
    assert first == importance(model, new, max_rows=20, seed=1)
    assert first != importance(model, new, max_rows=20, seed=2)


def test_without_targets_nothing_can_be_told(model):
    with pytest.raises(tables.TableError, match="At least two rows"):
        importance(model, table(1))


def test_a_model_too_slow_for_all_rows_is_asked_about_fewer(model, monkeypatch):
    asked = []
    answer = model.estimator_.predict_dist
    monkeypatch.setattr(
        model.estimator_, "predict_dist", lambda X: asked.append(len(X)) or answer(X)
    )
    assert importance(model, table(200), max_seconds=1e-9)[0].name == "a"
    assert asked == [200, 30, 30 * 3]  # unshuffled, then each of three inputs shuffled once
    asked.clear()
    importance(model, table(200), max_seconds=1e9)
    assert asked == [200, 200 * 3 * 3]


def test_no_row_keeps_its_own_value(model):
    """Two rows can only swap: the decrease does not shrink where rows are few."""
    new = table(2, seed=3)
    y = new["y"].to_numpy()
    swapped = new.with_columns(new["a"][[1, 0]].alias("a"))
    lost = model.predict_dist(new).log_prob(y) - model.predict_dist(swapped).log_prob(y)
    found = {one.name: one.drop for one in importance(model, new)}
    assert found["a"] == pytest.approx(lost.mean(), rel=1e-9)


def test_columns_of_noise_are_worth_nothing_to_the_winner_of_a_comparison():
    """Measured on the fitted rows, a model of 20 columns of noise seems to need each of them."""
    rng = np.random.default_rng(4)
    names = [f"noise {i}" for i in range(20)]
    new = pl.DataFrame({**{n: rng.normal(size=60) for n in names}, "a": rng.normal(size=60)})
    new = new.with_columns((pl.col("a") + pl.Series(rng.normal(size=60))).alias("y"))
    schema = tables.infer(new, "y")
    models = comparison.candidates("regression", 60, 21, names=["least-squares"])
    found = comparison.compare(new, schema, models)
    held_out = {one.name: one for one in found.importance}
    fitted = {one.name: one for one in importance(found.winner, new)}
    noise = [held_out[name].drop for name in names]
    assert found.importance[0].name == "a"
    assert np.mean([fitted[name].drop for name in names]) > 0.02
    assert abs(np.mean(noise)) < 3.0 * np.std(noise) / np.sqrt(20)


def test_importance_in_a_comparison_is_that_of_each_fold_on_its_own_rows():
    new = table(60, seed=6)
    schema = tables.infer(new, "y")
    models = comparison.candidates("regression", 60, 3, names=["linear"])
    found = comparison.compare(new, schema, models, folds=2, seed=1)
    rng, lost = np.random.default_rng(1), []
    for train_rows, test_rows in KFold(2, shuffle=True, random_state=1).split(new):
        train, test = new[train_rows], new[test_rows]
        fold = tables.TableModel(found.winner.estimator, schema).fit(train)
        y, orders = test["y"].to_numpy(), [partners(len(test), rng) for _ in range(3)]
        mixed = [test.with_columns(test["a"][order].alias("a")) for order in orders]
        after = np.mean([fold.predict_dist(f).log_prob(y) for f in mixed], axis=0)
        lost.append(fold.predict_dist(test).log_prob(y) - after)
    one = next(one for one in found.importance if one.name == "a")
    assert one.drop == pytest.approx(np.concatenate(lost).mean(), rel=1e-9)
