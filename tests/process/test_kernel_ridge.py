"""What kernel ridge regression promises at the door: shapes, weights, leave-one-out, sentences."""

import pickle
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import kernels, linalg
from posterity.copies import CopiedRowsWarning
from posterity.process.kernel_ridge import KernelRidgeRegression


@dataclass(frozen=True)
class Bump:
    """A kernel that prints the same in every process, as test runners need it."""

    length_scale: float

    def __call__(self, A, B):
        return np.exp(-0.5 * cdist(A, B, "sqeuclidean") / self.length_scale**2)


@dataclass(frozen=True, repr=False)
class Letters(kernels.Kernel):
    """Strings by the letters they share."""

    takes_vectors = False

    def _block(self, X, Z):
        return np.array([[float(len(set(a) & set(b))) for b in Z] for a in X])


CASES = [
    KernelRidgeRegression(),
    KernelRidgeRegression(alpha=0.1),
    KernelRidgeRegression(fit_intercept=False),
    KernelRidgeRegression(kernel=Bump(1.0)),
]
IDS = [repr(case) for case in CASES]


@checks_of_settings(CASES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 3.0 + 0.2 * rng.normal(size=n)


@for_each("offset", [True, False])
@for_each("weighted", [True, False])
def test_scikit_learn_finds_the_same_function(offset, weighted):
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    ours = KernelRidgeRegression(kernels.RBF(2.0), 0.3, fit_intercept=offset)
    ours.fit(X, y, sample_weight=weight)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.125)
    theirs.fit(X, y - ours.intercept_, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X) + ours.intercept_, rtol=1e-10)
    if offset:
        np.testing.assert_allclose(ours.dual_coef_.sum(), 0.0, atol=1e-10)


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_leave_one_out_predictions_are_those_of_refits(model):
    X, y = data(15)
    fitted = clone(model).fit(X, y)
    kept = clone(model).set_params(kernel=fitted.kernel_, alpha=fitted.alpha_)
    refits = [
        kept.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(15)
    ]
    np.testing.assert_allclose(fitted.loo_predictions_, refits, rtol=1e-9)
    np.testing.assert_allclose(fitted.loo_residuals_, y - refits, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fitted.noise_variance_, np.mean((y - refits) ** 2), rtol=1e-9)
    dist = fitted.predict_dist(X)
    np.testing.assert_allclose(dist.variance(), fitted.noise_variance_)


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_every_fitted_attribute_is_the_same_for_weights_and_repetitions(model):
    X, y = data()
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, 0), y.repeat(weight))
    assert repr(weighted.kernel_) == repr(repeated.kernel_)
    for name in ("alpha_", "intercept_", "noise_variance_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    copies = weight[weight > 0]
    np.testing.assert_allclose(
        weighted.loo_predictions_.repeat(copies), repeated.loo_predictions_, rtol=1e-6
    )
    assert len(weighted.X_train_) == len(weighted.dual_coef_) == np.count_nonzero(weight)


def test_each_output_has_its_own_penalty():
    X, y = data()
    Y = np.column_stack([y, X[:, 0], np.random.default_rng(5).normal(size=len(y))])
    fitted = KernelRidgeRegression().fit(X, Y)
    assert fitted.dual_coef_.shape == (3, 40)
    assert fitted.loo_predictions_.shape == fitted.predict(X).shape == (40, 3)
    assert fitted.loo_path_.errors.shape == (len(fitted.loo_path_.penalties), 3)
    for k in range(3):
        alone = KernelRidgeRegression().fit(X, Y[:, k])
        assert alone.alpha_ == pytest.approx(fitted.alpha_[k], rel=1e-7)
        assert alone.intercept_ == pytest.approx(fitted.intercept_[k], rel=1e-7)
        np.testing.assert_allclose(alone.loo_path_.errors, fitted.loo_path_.errors[:, k], rtol=1e-9)
    assert np.unique(fitted.alpha_.round(12)).size == 3


def test_the_chosen_alpha_is_the_bottom_of_the_path():
    X, y = data()
    fitted = KernelRidgeRegression().fit(X, y)
    penalties, errors = fitted.loo_path_
    assert fitted.noise_variance_ <= errors.min()
    best = penalties[np.argmin(errors)]
    assert best / 1.4 < fitted.alpha_ < best * 1.4
    given = KernelRidgeRegression(alpha=fitted.alpha_).fit(X, y)
    np.testing.assert_allclose(given.predict(X), fitted.predict(X), rtol=1e-9)
    assert given.noise_variance_ == pytest.approx(fitted.noise_variance_, rel=1e-9)


def test_nothing_of_an_earlier_fit_is_left_behind():
    X, y = data()
    model = KernelRidgeRegression().fit(X, y)
    first = model.noise_variance_
    model.set_params(alpha=5.0).fit(X, y)
    assert not hasattr(model, "loo_path_")
    assert model.noise_variance_ > first
    assert model.stop_reason_ == "alpha was given"


def test_a_pickle_holds_no_matrix_and_predicts_the_same():
    X, y = data(200)
    model = KernelRidgeRegression(alpha=0.1).fit(X, y)
    stored = pickle.dumps(model)
    assert len(stored) < 8 * 200 * 20
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.noise_variance_ == model.noise_variance_
    pickle.loads(pickle.dumps(KernelRidgeRegression()))


def test_before_fitting_there_is_nothing_to_say():
    model = KernelRidgeRegression()
    for name in ("noise_variance_", "loo_predictions_", "loo_residuals_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


def test_the_model_keeps_its_own_rows():
    X, y = data()
    model = KernelRidgeRegression(alpha=0.1).fit(X, y)
    before = model.predict(X[:3].copy())
    queries, X[:], y[:] = X[:3].copy(), 0.0, 0.0
    np.testing.assert_array_equal(model.predict(queries), before)
    assert np.all(model.loo_predictions_ != 0.0)


def test_queries_are_met_in_blocks(monkeypatch):
    X, y = data()
    model = KernelRidgeRegression(alpha=0.1).fit(X, y)
    whole = model.predict(X)
    monkeypatch.setattr("posterity.process.kernel_ridge._BLOCK_VALUES", 7 * len(X))
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-12)


def test_objects_that_are_not_vectors_are_left_to_their_kernel():
    words = ["abc", "abd", "xyz", "xy", "ab", "yz"]
    y = np.array([1.0, 1.1, -1.0, -1.2, 0.9, -0.9])
    model = KernelRidgeRegression(Letters(), 0.5).fit(words, y)
    assert model.predict(["abe"])[0] > 0.3 > -0.3 > model.predict(["xyw"])[0]
    weighted = KernelRidgeRegression(Letters(), 0.5).fit(words, y, sample_weight=[1, 1, 0, 1, 1, 1])
    assert weighted.X_train_ == ["abc", "abd", "xy", "ab", "yz"]
    with pytest.raises(ValueError, match="6 rows but y has 5"):
        KernelRidgeRegression(Letters()).fit(words, y[:5])


def test_names_of_columns_are_checked():
    X, y = data()
    table = pd.DataFrame(X, columns=list("abc"))
    model = KernelRidgeRegression(alpha=1.0).fit(table, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["c", "a", "b"]])


def test_parameters_of_the_kernel_are_searched_by_nested_name():
    X, y = data()
    lengths = {"kernel__length_scale": [0.01, 2.0]}
    search = GridSearchCV(KernelRidgeRegression(kernels.RBF()), lengths, cv=3).fit(X, y)
    assert search.best_estimator_.kernel_ == kernels.RBF(2.0)


def test_columns_may_be_named_in_the_kernel():
    X, y = data()
    table = pd.DataFrame(X, columns=list("abc"))
    by_name = KernelRidgeRegression(kernels.Columns(kernels.RBF(1.0), ["c"]), 0.1).fit(table, y)
    alone = KernelRidgeRegression(kernels.RBF(1.0), 0.1).fit(X[:, 2:], y)
    np.testing.assert_allclose(by_name.predict(table), alone.predict(X[:, 2:]))


@for_each("penalty", [0.0, -1.0, np.nan, "auto"])
def test_a_bad_alpha_is_named(penalty):
    X, y = data()
    with pytest.raises(ValueError, match="alpha"):
        KernelRidgeRegression(alpha=penalty).fit(X, y)


def test_bad_kernels_get_a_sentence():
    X, y = data()
    with pytest.raises(TypeError, match="kernel='rbf' must be a kernel"):
        KernelRidgeRegression("rbf").fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(40,\); expected \(40, 40\)"):
        KernelRidgeRegression(lambda A, B: A[:, 0]).fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        KernelRidgeRegression(lambda A, B: np.outer(A[:, 0], np.ones(len(B)))).fit(X, y)
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not positive semi-definite"):
        KernelRidgeRegression(lambda A, B: np.tanh(3.0 * A @ B.T - 2.0)).fit(X, y)


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_few_rows_and_constant_targets_have_sensible_answers(model):
    X, _ = data(6)
    with pytest.raises(ValueError, match="minimum of 2"):
        clone(model).fit(X[:1], [1.0])
    two = clone(model).fit(X[:2], [1.0, 3.0])
    assert np.all(np.isfinite(two.predict(X)))
    constant = clone(model).fit(X, np.full(6, 5.0))
    mean, std = constant.predict(X, return_std=True)
    assert np.all(np.isfinite(mean) & (std > 0.0))
    if model.fit_intercept:
        np.testing.assert_allclose(two.loo_predictions_, [3.0, 1.0], rtol=1e-9)
        np.testing.assert_allclose(mean, 5.0, rtol=1e-12)


def test_constant_columns_are_no_obstacle():
    _, y = data()
    model = KernelRidgeRegression().fit(np.full((40, 2), 3.0), y)
    np.testing.assert_allclose(model.predict(np.full((1, 2), 3.0)), y.mean(), rtol=1e-6)


def test_leave_one_out_intervals_hold_what_they_say():
    rng = np.random.default_rng(7)
    held = []
    for _ in range(30):
        X = rng.uniform(-2, 2, (60, 1))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
        lower, upper = KernelRidgeRegression().fit(X[:40], y[:40]).predict_interval(X[40:], 0.8)
        held.append(np.mean((lower < y[40:]) & (y[40:] < upper)))
    assert 0.75 < np.mean(held) < 0.85


@for_each("gap", [0.0, 1e-9])
def test_copies_of_a_row_are_left_out_together(gap):
    X, y = data(80)
    rng = np.random.default_rng(0)
    y = y + 0.5 * rng.normal(size=80)
    once = KernelRidgeRegression().fit(X, y)
    rows = np.tile(X, (5, 1)) + gap * rng.normal(size=(400, X.shape[1]))
    with pytest.warns(CopiedRowsWarning, match="320 of 400 rows are copies"):
        often = KernelRidgeRegression().fit(rows, np.tile(y, 5))
    assert often.noise_variance_ == pytest.approx(once.noise_variance_, rel=1e-4)
    np.testing.assert_allclose(often.predict(X), once.predict(X), atol=1e-3)
    assert often.loo_residuals_.shape == (400,)
