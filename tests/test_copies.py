"""Rows that may be one record twice, and which ties of targets are expected."""

import warnings

import numpy as np
import pytest
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    DualLogisticRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    LogisticTreeClassifier,
    LogitBoostClassifier,
    MixtureOfExpertsClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
    RidgeRegression,
    RobustRegression,
    SparseLinearRegression,
    SparseLogisticRegression,
    StagewiseClassifier,
    StagewiseRegressor,
    copies,
    designs,
    kernels,
    likelihoods,
    ties,
)
from posterity.row_groups import RowGroups


def rows(n=80, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + noise * rng.normal(size=n)


@for_each("gap", [0.0, 1e-9, 1e-5])
@for_each("decimals", [12, 2])
def test_repetitions_of_rows_are_found(gap, decimals):
    X, y = rows()
    y = np.round(y, decimals)
    X, y = np.vstack([X, X[:9] + gap]), np.append(y, y[:9])
    found = copies.find_copies(X, y)
    np.testing.assert_array_equal(found.number, np.append(np.arange(80), np.arange(9)))


def test_every_row_of_many_copies_is_found_in_any_order():
    X, y = rows()
    order = np.random.default_rng(1).permutation(400)
    found = copies.find_copies(np.tile(X, (5, 1))[order], np.tile(y, 5)[order])
    assert found.n_groups == 80
    assert all(len(set((order % 80)[found.number == g])) == 1 for g in range(80))


def test_replicates_whose_targets_tie_by_rounding_are_no_copies():
    X, _ = rows(60)
    X = np.repeat(X, 4, axis=0)
    y = X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=240)
    assert copies.find_copies(X, np.round(y, 1)) is None
    assert copies.find_copies(X, np.round(y)) is None
    assert copies.find_copies(np.vstack([X, X]), np.round(np.append(y, y), 1)) is not None


def test_near_rows_with_other_targets_are_no_copies():
    X, y = rows()
    assert copies.find_copies(np.vstack([X, X + 1e-9]), np.append(y, y + 1e-6)) is None


def test_rows_of_few_values_are_equal_by_chance():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 3)).astype(float)
    y = (X[:, 0] > 1).astype(float)
    assert copies.find_copies(X, y) is None
    assert copies.find_copies(X, y, is_class=True) is None


def test_classes_of_copies_agree_more_often_than_those_of_neighbours():
    X, y = rows()
    label = (y > 0.0).astype(float)
    assert copies.find_copies(X, label, is_class=True) is None
    found = copies.find_copies(np.tile(X, (2, 1)), np.tile(label, 2), is_class=True)
    assert found.n_groups == 80
    again = (X[:, 0] + 0.5 * np.random.default_rng(7).normal(size=80) > 0.0).astype(float)
    assert copies.find_copies(np.tile(X, (2, 1)), np.append(label, again), is_class=True) is None


def test_missing_values_are_equal_to_each_other_only():
    X, y = rows()
    X[:4, 0] = np.nan
    X[:4, 1] = np.nan
    zeros = np.where(np.isnan(X), 0.0, X)
    assert copies.find_copies(np.vstack([X, X[:4]]), np.append(y, y[:4])).n_groups == 80
    assert copies.find_copies(np.vstack([X, zeros[:4]]), np.append(y, y[:4])) is None


def test_ties_of_repeats_are_counted_by_pairs():
    groups = RowGroups.of_equal(np.array([[0.0], [0.0], [1.0]]))
    found = ties.Ties.of_repeats(groups, np.array([[1.0], [3.0], [5.0]]), np.array([2.0, 1.0, 3.0]))
    assert found.n_tied == pytest.approx(1 + 3)
    assert found.n_apart == pytest.approx(2)
    np.testing.assert_allclose(found.squares, 2 * 4.0)


def test_pairs_that_are_not_apart_at_all_do_not_overflow():
    y = 1e6 * np.random.default_rng(0).normal(size=(60, 1))
    assert not ties.Ties(20.0, 5.0, np.zeros(1)).are_expected(y)  # warnings are errors


def test_copies_are_groups_where_none_are_named():
    X, y = rows(6)
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])
    with pytest.warns(copies.CopiedRowsWarning, match="2 of 8 rows are copies"):
        found = copies.group_copies(None, X, y)
    np.testing.assert_array_equal(found, [0, 1, 2, 3, 4, 5, 0, 1])
    given = np.arange(8, dtype=np.int32)
    assert copies.group_copies(given, X, y) is given
    assert copies.group_copies(None, X[:6], y[:6]) is None
    assert copies.group_copies(None, X, y, np.array([1.0] * 6 + [0.0] * 2)) is None


@for_each("kind", [GaussianProcessRegressor, RelevanceVectorRegressor])
def test_copies_do_not_lower_the_noise_of_a_likelihood_that_learns_it(kind):
    X, y = rows(40)
    given = {"kernel": kernels.RBF(2.0).fixed(), "likelihood": likelihoods.StudentT()}
    once = kind(**given).fit(X, y).predict_dist(X)
    with pytest.warns(copies.CopiedRowsWarning, match="160 of 200 rows are copies"):
        model = kind(**given).fit(np.tile(X, (5, 1)), np.tile(y, 5))
    np.testing.assert_allclose(model.predict_dist(X).mean(), once.mean(), rtol=1e-4)
    np.testing.assert_allclose(model.predict_dist(X).variance(), once.variance(), rtol=1e-3)


CLASSIFIERS = [
    GaussianProcessClassifier(kernels.RBF(2.0).fixed()),
    GaussianProcessClassifier(kernels.RBF(2.0).fixed(), inducing_points=10),
    KernelLogisticRegression(kernels.RBF(2.0).fixed()),
    RelevanceVectorClassifier(kernels.RBF(2.0).fixed()),
    DualLogisticRegression(kernels.RBF(2.0)),
    LogitBoostClassifier(5),
    LogisticTreeClassifier(depth=1, random_state=0),
    MixtureOfExpertsClassifier(2, random_state=0),
    RandomTreeClassifier(random_state=0),
    StagewiseClassifier(1, n_restarts=0, random_state=0),
]


@for_each("model", CLASSIFIERS)
def test_classifiers_count_copies_once_and_weights_in_full(model):
    X, y = rows(60, noise=1.0)
    c = (y > 0.0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", copies.CopiedRowsWarning)
        once = model.fit(X, c).predict_proba(X)
        weighted = model.fit(X, c, sample_weight=np.full(60, 3.0)).predict_proba(X)
    with pytest.warns(copies.CopiedRowsWarning, match="120 of 180 rows .* not counted") as caught:
        copied = model.fit(np.tile(X, (3, 1)), np.tile(c, 3)).predict_proba(X)
    assert sum(isinstance(one.message, copies.CopiedRowsWarning) for one in caught) == 1
    np.testing.assert_allclose(copied, once, atol=1e-4)
    assert np.max(np.abs(weighted - once)) > 1e-3


@for_each("model", CLASSIFIERS)
def test_classes_of_rows_that_differ_in_one_column_do_not_make_a_model_surer(model):
    X, y = rows(100, noise=1.0)
    c, again = (y > 0.0).astype(int), np.tile(X, (5, 1))
    again[:, 2] += 0.02 * np.random.default_rng(1).normal(size=500)
    once = model.fit(X, c).predict_proba(X)
    with pytest.warns(copies.CopiedRowsWarning, match="400 of 500 rows are copies"):
        model.fit(again, np.tile(c, 5))
    sure, surer = (np.mean(np.max(p, axis=1)) for p in (once, model.predict_proba(X)))
    assert surer == pytest.approx(sure, abs=0.06)


def test_weights_are_shared_by_near_copies_and_kept_by_others():
    X, y = rows(30)
    X, y = np.vstack([X, X[:1], X[1:2] + 1e-6, X[2:3]]), np.append(y, y[:3])
    weights = np.where(np.arange(33) < 29, 2.0, 1.0)
    weights[32] = 0.0
    once = copies.weigh_copies_once(X, y, weights)
    np.testing.assert_array_equal(once[[0, 1, 2, 29, 30, 31, 32]], [1.5, 1, 2, 1, 0, 0.5, 0])
    few = np.append(np.arange(10), np.arange(10))
    with pytest.warns(copies.CopiedRowsWarning, match="10 of 20 rows .* further observations"):
        assert copies.weigh_copies_once(X[few], y[few], None) is None


def test_one_column_of_a_copy_may_differ():
    X, y = rows()
    again = X[:9].copy()
    again[:, 1] += 5.0
    found = copies.find_copies(np.vstack([X, again]), np.append(y, y[:9]))
    np.testing.assert_array_equal(found.number, np.append(np.arange(80), np.arange(9)))
    again[:, 2] += 5.0
    assert copies.find_copies(np.vstack([X, again]), np.append(y, y[:9])) is None
    # A value that many rows have, as at the end of a scale, ties without others that are equal.
    assert copies.find_copies(X, np.minimum(y, 0.5)) is None


def test_visits_of_patients_are_no_copies_where_outcomes_are_rounded():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 6)
    X = np.column_stack([rng.normal(size=(40, 3))[patient], np.tile(np.arange(6.0), 40)])
    y = X[:, 0] + 0.5 * rng.normal(size=240)
    assert copies.find_copies(X, np.round(y, 1)) is None
    label = (X[:, 0] + 1.5 * rng.normal(size=240) > 0.0).astype(float)
    assert copies.find_copies(X, label, is_class=True) is None


@for_each(
    "model",
    [
        GaussianProcessRegressor(kernels.RBF(2.0), inducing_points=20),
        RandomForestRegressor(random_state=0),
        RelevanceVectorRegressor(kernels.RBF(2.0)),
        RelevanceVectorRegressor(kernels.RBF(2.0), candidates=60),
        StagewiseRegressor(random_state=0),
        DualLinearRegression(kernels.RBF(2.0)),
    ],
)
@for_each("gap", [0.0, 2.0])
def test_copies_do_not_narrow_intervals(model, gap):
    X, y = rows()
    again = np.tile(X, (5, 1))
    again[80:, 2] += gap * np.random.default_rng(1).normal(size=320)
    with pytest.warns(copies.CopiedRowsWarning, match="320 of 400 rows are copies"):
        model.fit(again, np.tile(y, 5))
    X_new, y_new = rows(3000, seed=1)
    low, high = model.predict_interval(X_new)
    assert 0.8 < np.mean((low <= y_new) & (y_new <= high)) < 0.98


@for_each(
    "model",
    [
        BayesianLinearRegression(),
        RidgeRegression(),
        SparseLinearRegression(),
        RobustRegression(),
    ],
)
def test_linear_models_of_few_rows_warn_of_copies_and_not_of_weights(model):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(40, 30)), rng.normal(size=40)
    y = X[:, 0] + noise
    with pytest.warns(copies.CopiedRowsWarning, match="160 of 200 rows .* further observations"):
        model.fit(np.tile(X, (5, 1)), np.tile(y, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", copies.CopiedRowsWarning)
        model.fit(X, y, sample_weight=np.full(40, 5.0))
        model.fit(np.tile(X[:, :2], (5, 1)), np.tile(y, 5))  # 200 rows of two columns


def test_forests_of_chunks_warn_of_copies():
    X, y = rows()
    i = np.random.default_rng(1).permutation(np.repeat(np.arange(80), 5))
    with pytest.warns(copies.CopiedRowsWarning, match="320 of 400 rows .* further observations"):
        RandomForestRegressor(2, random_state=0).fit(designs.Chunks.from_arrays(X[i], y[i], rows=9))
    with warnings.catch_warnings():
        warnings.simplefilter("error", copies.CopiedRowsWarning)
        for own, targets in ((X, y), (X[i], np.round(y[i]))):
            chunks = designs.Chunks.from_arrays(own, targets, rows=9)
            RandomForestRegressor(2, random_state=0).fit(chunks)


def test_linear_classifiers_warn_of_copies():
    X, y = rows(60, noise=1.0)
    c = (y > 0.0).astype(int)
    with pytest.warns(copies.CopiedRowsWarning, match="60 of 120 rows .* further observations"):
        SparseLogisticRegression().fit(np.tile(X, (2, 1)), np.tile(c, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", copies.CopiedRowsWarning)
        SparseLogisticRegression().fit(X, c)
