"""The mixture of models: its weights, its predictions, and an honest score."""

import numpy as np
import polars as pl
import pytest
import scipy.optimize
from scipy.special import logsumexp
from sklearn.base import clone

from posterity import comparison, distributions, linear, persistence, tables, trees
from posterity.comparison import stacks
from posterity.comparison.stack_trial import learn_weights, maximise_score


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    log_p = rng.normal([0.3, 0.0, 0.2, -1.5 * seed], 1.0, size=(80, 4))

    def lost(w):
        return -np.mean(logsumexp(log_p, b=np.maximum(w, 1e-300), axis=1))

    found = scipy.optimize.minimize(
        lost,
        np.full(4, 0.25),
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    w = maximise_score(np.exp(log_p))
    assert w.sum() == pytest.approx(1.0)
    assert lost(w) <= found.fun + 1e-9
    np.testing.assert_allclose(w, found.x, atol=1e-4)


def test_equal_models_and_impossible_values_leave_weights_finite():
    log_p = np.array([[-1.0, -1.0, -800.0], [-2.0, -2.0, -1.0]])
    w = learn_weights(np.repeat(log_p, 30, axis=0))
    assert np.all(w >= 0.0)
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(learn_weights(np.array([[0.0, -5.0]] * 9)), [1.0, 0.0])


def test_a_model_is_in_the_mixture_if_it_adds_two_nats():
    log_p = np.log(np.array([[0.6, 0.4], [0.4, 0.6]]))
    few, many = np.repeat(log_p, 40, axis=0), np.repeat(log_p, 60, axis=0)
    gained = np.log(0.5) - log_p.mean()  # nats per row by equal weights
    assert 80 * gained < 2.0 < 120 * gained
    assert np.count_nonzero(learn_weights(few)) == 1
    np.testing.assert_allclose(learn_weights(many), [0.5, 0.5], atol=1e-6)


def mixed_table(n=120, seed=0):
    """Half of the rows follow a line, half a step: each model knows one half."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 1.0, size=(2, n))
    y = np.where(b > 0.0, 3.0 * a, np.where(a > 0.0, 2.0, -2.0)) + 0.3 * rng.normal(size=n)
    return pl.DataFrame({"a": a, "b": b, "y": y})


def test_the_score_of_a_fold_uses_weights_of_the_other_folds_only():
    table = mixed_table()
    models = [
        comparison.Candidate("linear", linear.BayesianLinearRegression()),
        comparison.Candidate("tree", trees.RandomTreeRegressor(random_state=0)),
    ]
    found = comparison.compare(table, tables.infer(table, "y"), models, folds=3, prefer="best")
    by_name = {one.name: one.held_out for one in found.results}
    log_p = np.stack([by_name["linear"].log_prob, by_name["tree"].log_prob], axis=1)
    folds = by_name["stack"].folds
    for k in range(3):
        w = learn_weights(log_p[folds != k])
        np.testing.assert_allclose(
            by_name["stack"].log_prob[folds == k], logsumexp(log_p[folds == k], b=w, axis=1)
        )
    assert found.best.name == "stack"
    quantiles = found.best.held_out.quantiles
    inside = (quantiles[:, 0] <= found.best.held_out.y) & (
        found.best.held_out.y <= quantiles[:, -1]
    )
    assert found.best.coverage == pytest.approx(inside.mean())
    final = learn_weights(log_p)
    assert dict(found.best.weights) == pytest.approx(
        dict(zip(("linear", "tree"), final, strict=True))
    )
    fitted = [tables.TableModel(one.estimator, found.schema).fit(table) for one in models]
    mean = sum(w * one.predict(table) for w, one in zip(final, fitted, strict=True))
    np.testing.assert_allclose(found.winner.predict(table), mean, rtol=1e-9)


def test_a_stack_of_numbers_is_a_mixture_that_can_be_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    members = (
        ("linear", linear.BayesianLinearRegression()),
        ("ridge", linear.RidgeRegression(alpha=2.0)),
    )
    stack = stacks.StackedRegressor(members, (0.25, 0.75), ("plain", "groups"))
    stack = clone(stack).fit(X, y)
    plain, whole = members[0][1].fit(X[:, :1], y), members[1][1].fit(X, y)
    p = 0.25 * plain.predict_dist(X[:, :1]).pdf(y) + 0.75 * whole.predict_dist(X).pdf(y)
    assert isinstance(stack.predict_dist(X), distributions.Mixture)
    np.testing.assert_allclose(stack.predict_dist(X).pdf(y), p, rtol=1e-12)
    persistence.save(stack, tmp_path / "stack.posterity")
    again = persistence.load(tmp_path / "stack.posterity")
    np.testing.assert_array_equal(again.predict(X), stack.predict(X))


def test_a_stack_of_classifiers_averages_probabilities(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0.0).astype(int)
    members = (
        ("linear", linear.BayesianLogisticRegression()),
        ("tree", trees.RandomTreeClassifier(random_state=0)),
    )
    stack = stacks.StackedClassifier(members, (0.4, 0.6)).fit(X, y)
    p = [one.fit(X, y).predict_proba(X) for _, one in members]
    np.testing.assert_allclose(stack.predict_proba(X), 0.4 * p[0] + 0.6 * p[1], rtol=1e-9)
    persistence.save(stack, tmp_path / "stack.posterity")
    again = persistence.load(tmp_path / "stack.posterity")
    np.testing.assert_array_equal(again.predict_proba(X), stack.predict_proba(X))
    assert set(again.predict(X)) <= {0, 1}


def test_where_numbers_are_missing_the_encodings_of_members_are_alike():
    table = mixed_table(90)
    holes = np.where(np.arange(90) % 7 == 0, np.nan, table["b"].to_numpy())
    table = table.with_columns(pl.Series("b", holes).fill_nan(None))
    names = ["linear", "additive", "tree", "ferns"]
    models = comparison.candidates("regression", 90, 2, names=names)
    takes = {one.name for one in models if tables.accepts_missing(one.estimator)}
    assert 0 < len(takes) < len(names)
    found = comparison.compare(table, tables.infer(table, "y"), models, folds=2, prefer="best")
    for one in found.results:
        members = {name for name, _ in one.weights}
        assert members <= takes or not members & takes
    assert len(found.importance) == 2


def test_counts_and_few_rows_are_not_stacked():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    table = pl.DataFrame({"x": x, "y": rng.poisson(np.exp(1.0 + x)).astype(float)})
    schema = tables.infer(table, "y", task="regression")
    models = comparison.candidates("regression", 60, 1, names=["linear", "poisson"])
    found = comparison.compare(table, schema, models, folds=2)
    assert "stack" not in {one.name for one in found.results}
    few = mixed_table(48)
    models = comparison.candidates("regression", 48, 1, names=["linear", "tree"])
    found = comparison.compare(few, tables.infer(few, "y"), models, folds=2)
    assert "stack" not in {one.name for one in found.results}
