"""What inputs are worth, by shuffling them."""

import numpy as np
import polars as pl
import pytest

from posterity import classification, comparison, regression, tables

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
    return tables.TableModel(regression.BayesianLinearRegression(), schema).fit(table())


def by_hand(model, frame, name, seed, n_repeats):
    """The same shuffles, each by a table of its own."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(frame), len(frame), replace=False))
    shuffles = [rng.permutation(len(rows)) for _ in range(n_repeats)]
    y = frame["y"].to_numpy()
    before = model.predict_dist(frame).log_prob(y)
    mixed = [frame.with_columns(frame[name][order].alias(name)) for order in shuffles]
    return np.mean([before - model.predict_dist(f).log_prob(y) for f in mixed], axis=0)


@pytest.mark.parametrize("at_once", [1, 20_000])
def test_each_drop_is_that_of_a_table_with_one_column_shuffled(model, monkeypatch, at_once):
    monkeypatch.setitem(importance.__globals__, "_AT_ONCE", at_once)
    new = table(40, seed=1)
    found = {one.name: one for one in importance(model, new, seed=5, n_repeats=2)}
    assert set(found) == {"a", "noise", "colour"}
    for name, one in found.items():
        lost = by_hand(model, new, name, 5, 2)
        assert one.drop == pytest.approx(lost.mean(), rel=1e-9, abs=1e-12)
        assert one.error == pytest.approx(lost.std(ddof=1) / np.sqrt(40), rel=1e-9)


def test_the_most_important_come_first_and_noise_is_worth_nothing(model):
    found = importance(model, table(seed=1))
    assert [one.name for one in found] == ["a", "colour", "noise"]
    assert abs(found[-1].drop) < 3.0 * found[-1].error + 0.01
    assert found[0].drop > 10.0 * found[0].error


def test_classes_have_important_inputs_too():
    new = table().with_columns((pl.col("y") > 0.5).cast(pl.String))
    schema = tables.infer(new, "y")
    fitted = tables.TableModel(classification.BayesianLogisticRegression(), schema).fit(new)
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
    assert asked == [200, 30 * 3]  # once as they are, then each of three inputs shuffled once
    asked.clear()
    importance(model, table(200), max_seconds=1e9)
    assert asked == [200, 200 * 3 * 3]
