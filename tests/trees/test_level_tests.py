"""Values of levels that members learn, and how rows that learn, judge or are new see them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import ShuffleSplit
from support.for_each import for_each

from posterity import BoostedTreesClassifier, BoostedTreesRegressor
from posterity.trees.boosting import level_tests
from posterity.trees.boosting.levels import LeveledColumns


def draw(n, n_levels, seed, effect=1.0):
    """Rows with a number, the number of a level, and another number; y, and effects of levels."""
    rng = np.random.default_rng(seed)
    level, X = rng.integers(0, n_levels, n), rng.normal(size=(n, 2))
    effects = effect * rng.normal(size=n_levels)
    y = X[:, 0] + effects[level] + 0.5 * rng.normal(size=n)
    return np.column_stack([X[:, 0], level, X[:, 1]]), y, effects


def boosted(rounds=60, kind=BoostedTreesRegressor, **options):
    return kind(rounds, random_state=0, n_jobs=1, categorical_features=[1], **options)


def columns_and_rows(X, groups=None):
    columns = LeveledColumns(categorical=np.array([1], dtype=np.int32)).adapt_to(X)
    groups = np.arange(len(X)) if groups is None else groups
    return columns, level_tests.LeveledRows(
        columns.number_levels(X), groups, 254, columns.find_plain(columns.catalogue())
    )


@pytest.mark.full
@for_each("seed", range(3))
@for_each("scale", [1.0, 1e-3])
def test_two_levels_have_their_effect_with_one_member_that_leaves_few_rows_out(seed, scale):
    rng = np.random.default_rng(seed)
    k, x = rng.integers(0, 2, 2000), rng.normal(size=2000)
    y = x + 2.0 * k - 1.0 + 0.5 * rng.normal(size=2000)
    one = ShuffleSplit(1, test_size=0.1, random_state=seed)
    model = boosted(cv=one).fit(np.column_stack([x, scale * k]), y)
    means = model.predict([[0.0, 0.0], [0.0, scale]])
    np.testing.assert_allclose(means, [-1.0, 1.0], atol=0.3)


def test_rows_that_judge_are_cut_like_new_rows():
    X, y, _ = draw(300, 20, 0)
    model = boosted(20, cv=3).fit(X, y)
    sums = model.trees_.member_latents(model.splits_, X)[:, :, 0]
    gaps = np.abs(sums - model.oob_prediction_)
    np.testing.assert_allclose(np.min(gaps, axis=0), 0.0, atol=1e-12)


@for_each("grouped", [False, True])
def test_a_row_that_learns_sees_the_rows_before_it(grouped):
    X, y, _ = draw(120, 7, 0)
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 40, 120) if grouped else np.arange(120)
    columns, rows = columns_and_rows(X, groups)
    weights, curvatures = rng.integers(0, 3, 120).astype(float), rng.uniform(0.5, 1.5, (120, 1))
    about = y - np.average(y, weights=weights * curvatures[:, 0])
    slopes = about[:, None] * curvatures
    order = rng.permutation(120)[groups]
    g, h, level = weights * slopes[:, 0], weights * curvatures[:, 0], X[:, 1]
    before = level_tests._sum_before(rows.numbers[0], order, np.column_stack([g, h]))
    for i in range(120):
        seen = (level == level[i]) & (order < order[i])
        np.testing.assert_allclose(before[i], [g[seen].sum(), h[seen].sum()], atol=1e-9)
    codes = np.zeros((3, 120), dtype=np.uint8)
    arguments = columns, rows, codes, slopes, curvatures, weights
    table, *_ = level_tests.learn_tables(*arguments, np.random.default_rng(2))
    steps = [np.sum(g[level == k]) / np.sum(h[level == k]) for k in range(7)]
    shrunken = table.values[:7] / np.array(steps)
    assert np.all((shrunken > 0.0) & (shrunken < 1.0))
    cuts = table.edges[table.edges < np.inf]
    ordered = np.sort(table.values[:7])
    np.testing.assert_allclose(cuts, 0.5 * (ordered[1:] + ordered[:-1]))
    out = weights == 0.0
    ranks = np.argsort(np.argsort(table.values[:7]))
    np.testing.assert_array_equal(table.codes[out], ranks[level[out].astype(int)])


def test_levels_that_do_not_differ_have_no_table():
    """Where squares of steps are below those of noise; and slopes differ by chance only."""
    X, y, _ = draw(2000, 50, 0, effect=0.0)
    columns, rows = columns_and_rows(X)
    slopes = (y - y.mean())[:, None]
    codes = (np.argsort(np.argsort(X, axis=0), axis=0) // 8).astype(np.uint8).T
    found = level_tests.learn_tables(
        columns, rows, codes, slopes, np.ones_like(slopes), np.ones(2000), np.random.default_rng(0)
    )
    assert len(found) <= 1
    tilted = slopes + X[:, 2:] * np.random.default_rng(1).normal(size=50)[X[:, 1].astype(int), None]
    found = level_tests.learn_tables(
        columns, rows, codes, tilted, np.ones_like(slopes), np.ones(2000), np.random.default_rng(0)
    )
    effects = np.random.default_rng(1).normal(size=50)
    assert any(abs(np.corrcoef(table.values[:50], effects)[0, 1]) > 0.9 for table in found)


@pytest.mark.full
@for_each("kind", [BoostedTreesRegressor, BoostedTreesClassifier])
@for_each("effect", [0.0, 1.0])
def test_scores_of_rows_left_out_are_those_of_new_rows(kind, effect):
    X, y, _ = draw(3000, 40, 3, effect)
    y = y > 0.0 if kind is BoostedTreesClassifier else y
    model = boosted(kind=kind).fit(X[:1000], y[:1000])
    place = np.searchsorted(model.classes_, y) if hasattr(model, "classes_") else y
    new = model.predict_dist(X[1000:]).log_prob(place[1000:])
    error = np.std(new) * np.hypot(1.0 / np.sqrt(1000), 1.0 / np.sqrt(2000))
    assert model.oob_log_score_ == pytest.approx(new.mean(), abs=3.0 * error)


@pytest.mark.full
def test_categories_are_not_worse_than_their_numbers_or_indicators():
    """Also where levels change the effect of another column, and none has one of its own."""
    X, y, _ = draw(3000, 12, 5, 0.0)
    y = y + np.random.default_rng(0).normal(size=12)[X[:, 1].astype(int)] * X[:, 2]
    many = np.column_stack([X, X[:, 1:2] == np.arange(12)])
    score = {}
    for name, model, rows in [
        ("categories", boosted(150), X),
        ("numbers", boosted(150).set_params(categorical_features=None), X),
        ("indicators", boosted(150).set_params(categorical_features=None), many),
    ]:
        model.fit(rows[:1000], y[:1000])
        score[name] = model.predict_dist(rows[1000:]).log_prob(y[1000:]).mean()
    assert score["categories"] > max(score["numbers"], score["indicators"])


@pytest.mark.full
def test_intervals_of_unseen_levels_carry_the_spread_between_levels():
    X, y, effects = draw(20_000, 1000, 0)
    known = X[:, 1] < 50
    model = boosted().fit(X[known], y[known])
    new = np.flatnonzero(~known)[:4000]
    low, high = model.predict_interval(X[new], 0.9)
    assert 0.85 < np.mean((low <= y[new]) & (y[new] <= high)) < 0.95
    spread = model.predict_latent(X[new]).variance().mean()
    assert spread == pytest.approx(np.var(effects[:50]), rel=0.35)
    new = new[:50]
    sums = model.activation(X[new])
    np.testing.assert_allclose(model.predict(X[new]), sums, atol=1e-9)
    *_, last = model.staged_predict(X[new])
    np.testing.assert_allclose(last, sums, atol=1e-9)
    values, expected = model.shap_values(X[new[:9]])
    np.testing.assert_allclose(values.sum(axis=1) + expected, sums[:9])


@pytest.mark.full
def test_probabilities_of_unseen_levels_are_less_sure():
    X, y, _ = draw(1500, 30, 0, 4.0)
    model = boosted(kind=BoostedTreesClassifier).fit(X, y > 0.0)
    far = np.column_stack([X[:, 0], np.full(1500, 99.0), X[:, 2]])
    sure, unsure = (np.abs(model.predict_proba(rows)[:, 1] - 0.5).mean() for rows in (X, far))
    assert unsure < 0.5 * sure
    assert np.all(model.predict_latent(far).variance() > 1.0)


def test_categories_may_be_text_of_any_kind_by_name_or_position():
    X, y, _ = draw(200, 4, 0)
    names = np.array(["ash", "birch", "elm", "oak"])[X[:, 1].astype(int)].astype(object)
    names[:5] = None
    frame = pd.DataFrame({"x": X[:, 0], "tree": names, "z": X[:, 2]})
    kind = pl.Enum(["oak", "elm", "birch", "ash"])
    frames = [
        frame,
        frame.astype({"tree": "category"}),
        frame.to_numpy(dtype=object),
        frame.to_numpy(dtype=object).tolist(),
        pl.from_pandas(frame),
        pl.from_pandas(frame).with_columns(pl.col("tree").cast(kind)),
    ]
    numbers = X.copy()
    numbers[:5, 1] = np.nan
    expected = boosted(10).fit(numbers, y).predict(X)
    for rows in frames:
        named = hasattr(rows, "columns")
        for chosen in [[1], ["tree"]] if named else [[1]]:
            model = boosted(10).set_params(categorical_features=chosen).fit(rows, y)
            np.testing.assert_allclose(model.predict(rows)[5:], expected[5:])
    unseen = boosted(10).fit(frame, y)
    wide = unseen.predict(frame.assign(tree="fir"), return_std=True)[1]
    assert np.all(wide > unseen.predict(frame, return_std=True)[1])
