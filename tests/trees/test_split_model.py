"""What all estimators on tests do with rows: missing values, rows of any kind, weights, arrays."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from support.for_each import for_each

from posterity import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    LogisticTreeClassifier,
    LogitBoostClassifier,
    RandomFernClassifier,
    RandomFernRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
    RandomTreeRegressor,
    StagewiseClassifier,
    trees,
)
from posterity.trees.estimators import split_model

TESTED = [
    RandomForestClassifier(10, random_state=0),
    RandomTreeClassifier(random_state=0),
    RandomFernClassifier(10, 4, random_state=0),
    LogitBoostClassifier(n_estimators=10),
    LogitBoostClassifier(n_estimators=10, validation_fraction=0.3, random_state=0),
    BoostedTreesClassifier(20, learning_rate=0.5, cv=2, random_state=0),
]
UNTESTED = [
    StagewiseClassifier(2, n_restarts=0, random_state=0),
    StagewiseClassifier(2, n_restarts=0, validation_fraction=0.3, random_state=0),
    LogisticTreeClassifier(1, n_restarts=0, random_state=0),
    LogisticTreeClassifier(max_depth=1, n_restarts=0, random_state=0),
]
REGRESSORS = [
    RandomForestRegressor(10, random_state=0),
    RandomTreeRegressor(random_state=0),
    RandomFernRegressor(10, 4, random_state=0),
    BoostedTreesRegressor(20, cv=2, random_state=0),
]


def each(cases):
    names = [repr(case).replace("\n", "").replace(" ", "") for case in cases]
    return pytest.mark.parametrize("model", cases, ids=names)


def holds_out(model):
    if isinstance(model, LogisticTreeClassifier):
        return model.depth is None
    return model.get_params().get("validation_fraction") is not None


def rows(model, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    a = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, a if model in REGRESSORS else np.where(a > 0.0, "high", "low")


def fitted(model, *data, **more):
    return clone(model).fit(*data, **more)


def told(model, X):
    """What a model says of rows: probabilities, or means and standard deviations."""
    if is_regressor(model):
        return np.column_stack(model.predict(X, return_std=True))
    return model.predict_proba(X)


# Missing values


@each(TESTED + REGRESSORS)
def test_missing_values_are_larger_than_all_others(model):
    X, y = rows(model)
    plain, missing, large = fitted(model, X, y), X.copy(), X.copy()
    missing[::3, 1], large[::3, 1] = np.nan, 1e300
    np.testing.assert_array_equal(told(plain, missing), told(plain, large))


@each(TESTED)
def test_that_a_value_is_missing_may_tell_the_class(model):
    X = rows(model, 200)[0]
    X[np.random.default_rng(1).random(200) < 0.4, 1] = np.nan
    y = np.isnan(X[:, 1])
    learner = clone(model)
    if "max_features" in learner.get_params() and not isinstance(model, LogitBoostClassifier):
        learner.set_params(max_features=3)
    assert learner.fit(X, y).score(X, y) == 1.0


@each(TESTED + REGRESSORS)
def test_a_column_of_missing_values_is_no_trouble(model):
    X, y = rows(model)
    X[:, 1] = np.nan
    assert np.all(np.isfinite(told(fitted(model, X, y), X)))


@each(UNTESTED)
def test_models_on_sums_refuse_missing_values(model):
    X, y = rows(model)
    hole = X.copy()
    hole[5, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN: column 2 \(row 5\)"):
        fitted(model, hole, y)
    with pytest.raises(ValueError, match=r"Input X contains NaN: column 2 \(row 5\)"):
        fitted(model, X, y).predict(hole)


@each(TESTED + UNTESTED + REGRESSORS)
def test_infinity_is_refused(model):
    X, y = rows(model)
    beyond = X.copy()
    beyond[3, 1] = -np.inf
    with pytest.raises(ValueError, match=r"contains infinity: column 1 \(row 3\)"):
        fitted(model, beyond, y)
    with pytest.raises(ValueError, match=r"contains infinity: column 1 \(row 3\)"):
        fitted(model, X, y).predict(beyond)


# Few rows, few classes


@each(TESTED + UNTESTED)
def test_a_class_with_one_example_is_learned(model):
    X, y = rows(model)
    y[7] = "odd"
    once = fitted(model, X, y)
    assert list(once.classes_) == ["high", "low", "odd"]
    log_p = once.predict_log_proba(X)
    assert np.all(np.isfinite(log_p))
    assert log_p[7, 2] > np.mean(log_p[:, 2])


@each(TESTED + UNTESTED)
def test_one_class_gets_a_sentence(model):
    X, _ = rows(model)
    with pytest.raises(ValueError, match="only one class, 'high'; a classifier needs at least two"):
        fitted(model, X, ["high"] * len(X))


@each([model for model in TESTED + UNTESTED if not holds_out(model)])
def test_two_rows_are_learned(model):
    p = fitted(model, [[0.0], [1.0]], ["a", "b"]).predict_proba([[0.0], [1.0]])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[0, 0] >= p[1, 0]


@each([model for model in TESTED + UNTESTED if holds_out(model)])
def test_where_no_row_can_be_held_out_it_is_said(model):
    with pytest.raises(ValueError, match=r"held out .* Give a depth|set validation_fraction=None"):
        fitted(model, [[0.0], [1.0]], ["a", "b"])


@each(REGRESSORS)
def test_equal_rows_are_predicted_and_constant_columns_give_the_mean(model):
    equal = fitted(model, [[1.0], [1.0]], [3.0, 3.0])
    np.testing.assert_allclose(equal.predict([[0.0]]), 3.0)
    y = rows(model)[1]
    mean, std = fitted(model, np.ones((120, 2)), y).predict(np.zeros((1, 2)), return_std=True)
    np.testing.assert_allclose(mean, y.mean(), atol=0.2)
    np.testing.assert_allclose(std, y.std(), rtol=0.25)


# Arrays and frames


@each(TESTED + REGRESSORS)
def test_arrays_of_any_kind_are_taken(model):
    X, y = rows(model)
    X = np.round(8.0 * X) / 8.0  # exact in every type
    locked = X.copy()
    locked.setflags(write=False)
    expected = told(fitted(model, X, y), X)
    kinds = [locked, np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, 1)[:, ::2]]
    for other in [*kinds, X.astype(object), X.tolist(), pd.DataFrame(X), pl.DataFrame(X)]:
        again = told(fitted(model, other, y), other)
        np.testing.assert_array_equal(again, expected)
    whole = (8.0 * X).astype(np.int16)
    np.testing.assert_array_equal(told(fitted(model, whole, y), whole), expected)


@each(TESTED + REGRESSORS)
def test_nulls_of_data_frames_are_missing_values(model):
    X, y = rows(model)
    holes = X.copy()
    holes[::4, 0] = np.nan
    expected = told(fitted(model, holes, y), holes)
    columns = {
        name: [None if np.isnan(value) else value for value in column]
        for name, column in zip("abc", holes.T, strict=True)
    }
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns, dtype="Float64")):
        model_of_frame = fitted(model, frame, y)
        assert list(model_of_frame.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_array_equal(told(model_of_frame, frame), expected)


@each(TESTED + UNTESTED + REGRESSORS)
def test_sparse_inputs_are_refused(model):
    X, y = rows(model)
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        fitted(model, sparse.csr_matrix(X), y)


@each(TESTED + REGRESSORS)
def test_weights_that_say_nothing_are_refused(model):
    X, y = rows(model)
    for weight, message in (
        (np.zeros(120), "zero in every row"),
        (-np.ones(120), "must not be negative"),
        (np.ones(3), r"sample_weight has shape \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(model, X, y, sample_weight=weight)


@each(REGRESSORS)
def test_what_the_forest_says_of_rows_that_do_not_count_is_not_a_number(model):
    X, y = rows(model)
    w = (np.arange(120) % 2).astype(float)
    log_p = fitted(model, X, y, sample_weight=w).oob_log_prob_
    assert log_p.shape == (120,)
    assert np.isnan(log_p[w == 0.0]).all()


# Tests of one's own


class Pixels(trees.Family):
    """A test is a pixel; what an image answers is how bright it is there."""

    is_of_columns = False

    def draw(self, n_nodes, n_tests, rng):
        return rng.integers(4, size=(n_nodes, n_tests, 2))

    def respond(self, rows, places, tests, which):
        asked = tests[which]
        return rows[places[:, None], asked[..., 0], asked[..., 1]].T


def brighter(images, place, test):
    return images[place, test[0], test[1]] - images[place, test[2], test[3]]


def pairs(n, rng):
    return rng.integers(4, size=(n, 4))


def images(n=200, seed=0):
    I = np.random.default_rng(seed).normal(size=(n, 4, 4))
    return I, I[:, 1, 2] - I[:, 3, 0]


OWN = [Pixels(), trees.Function(brighter, pairs)]


@pytest.mark.full
@for_each("tests", OWN, ids=["family", "function"])
def test_rows_may_be_images_for_every_learner(tests):
    (I, a), (I_new, a_new) = images(), images(seed=1)
    for model in (
        RandomForestClassifier(30, splits=tests, max_features=60, random_state=0),
        RandomFernClassifier(30, 4, splits=tests, max_features=60, random_state=0),
        RandomTreeClassifier(splits=tests, max_features=60, random_state=0),
        LogitBoostClassifier(splits=tests, n_estimators=20, max_features=200, random_state=0),
    ):
        assert model.fit(I, a > 0.0).score(I_new, a_new > 0.0) > 0.8
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(I_new), model.predict_proba(I_new))
        assert model.column_gain_ is None
        with pytest.raises(ValueError, match="X has 200 rows but y has 4"):
            model.fit(I, [0, 1, 0, 1])
    regressor = RandomForestRegressor(30, splits=tests, max_features=60, random_state=0).fit(I, a)
    assert regressor.score(I_new, a_new) > 0.6


def test_images_that_do_not_count_are_absent():
    I, a = images(100)
    w = np.r_[np.ones(60), np.zeros(40)]
    model = RandomForestClassifier(20, splits=Pixels(), random_state=0)
    weighted, alone = (
        fitted(model, I, a > 0.0, sample_weight=w),
        fitted(model, I[:60], a[:60] > 0.0),
    )
    np.testing.assert_array_equal(weighted.predict_proba(I), alone.predict_proba(I))


def test_rows_that_cannot_be_counted_and_what_is_no_family_get_a_sentence():
    with pytest.raises(TypeError, match="X=3 has no length; pass rows"):
        RandomForestClassifier(splits=Pixels()).fit(3, [0, 1])
    with pytest.raises(ValueError, match="There are no rows in X"):
        RandomForestClassifier(splits=Pixels()).fit(np.empty((0, 4, 4)), [])
    for tests in ("columns", trees.Columns):
        with pytest.raises(TypeError, match=r"must be a family of tests, such as trees"):
            LogitBoostClassifier(splits=tests).fit(*rows(None, 20))


# Groups


def test_groups_are_numbered_among_rows_that_count():
    names = ["c", "a", "b", "a", "d"]
    np.testing.assert_array_equal(split_model.check_groups(names, 5), [2, 0, 1, 0, 3])
    some = split_model.check_groups(names, 5, np.array([1.0, 0.0, 1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(some[[0, 2, 4]], [1, 0, 2])
    assert split_model.check_groups(None, 5) is None


@for_each(
    ("max_features", "expected"),
    [(None, 7), (3, 3), (1.0, 9), (0.5, 4), (0.01, 1), ("sqrt", 3), ("log2", 3)],
)
def test_candidates_are_counted_as_scikit_learn_counts_them(max_features, expected):
    family = trees.Columns().adapt_to(np.zeros((2, 9)))
    assert split_model.count_candidates(max_features, family, default=7) == expected


def test_a_fraction_of_an_infinite_family_is_refused():
    family = trees.Projections().adapt_to(np.zeros((2, 9)))
    with pytest.raises(TypeError, match="Projections"):
        split_model.count_candidates(0.5, family, default=7)


def test_importances_are_shares_of_the_gain_of_each_column():
    X = np.random.default_rng(0).normal(size=(300, 3))
    for learner in (RandomForestClassifier(20, random_state=0), LogitBoostClassifier(20)):
        model = learner.fit(X, X[:, 1] > 0.0)
        shares = model.feature_importances_
        np.testing.assert_allclose(shares, model.column_gain_ / model.column_gain_.sum())
        assert shares.argmax() == 1
    oblique = RandomForestClassifier(5, splits=trees.Projections(), random_state=0)
    assert not hasattr(oblique, "feature_importances_")
    assert not hasattr(oblique.fit(X, X[:, 1] > 0.0), "feature_importances_")
