"""What the family is held against, each beside another way to compute it."""

import numpy as np
import pytest
import scipy.stats
import threadpoolctl
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from support.for_each import for_each

from posterity import comparison
from posterity.comparison.baseline import (
    FrequencyClassifier,
    MeanRegressor,
    NormalNoiseRegressor,
    ProbabilityClassifier,
)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 2.0 * X[:, 0] + rng.normal(size=n)


def test_the_mean_predicts_a_student_t_as_the_textbook_has_it():
    X, y = table()
    dist = MeanRegressor().fit(X, y).predict_dist(X[:4])
    n = len(y)
    scale = np.std(y, ddof=1) * np.sqrt(1.0 + 1.0 / n)
    expected = scipy.stats.t(n - 1, y.mean(), scale)
    points = np.array([-1.0, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(dist.log_prob(points), expected.logpdf(points), rtol=1e-12)


def test_a_regressor_of_scikit_learn_is_as_wide_as_its_inner_errors():
    X, y = table()
    model = NormalNoiseRegressor(LinearRegression(), seed=3).fit(X, y)
    errors = np.empty(len(y))
    for train, test in KFold(3, shuffle=True, random_state=3).split(X):
        errors[test] = y[test] - LinearRegression().fit(X[train], y[train]).predict(X[test])
    dist = model.predict_dist(X)
    np.testing.assert_allclose(dist.standard_deviation() ** 2, np.mean(errors**2), rtol=1e-12)
    np.testing.assert_allclose(dist.mean(), LinearRegression().fit(X, y).predict(X), rtol=1e-12)


def test_frequencies_are_those_of_the_rows():
    X, _ = table(8)
    model = FrequencyClassifier().fit(X, list("aabacaab"))
    np.testing.assert_allclose(model.predict_proba(X[:2]), [[5 / 8, 2 / 8, 1 / 8]] * 2)


def test_stated_probabilities_are_scikit_learns_and_zero_costs_what_its_loss_says():
    X, y = table()
    labels = np.where(y > 0, "up", "down")
    model = ProbabilityClassifier(LogisticRegression()).fit(X, labels)
    other = LogisticRegression().fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-12)

    class Certain(LogisticRegression):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    certain = ProbabilityClassifier(Certain()).fit(X, labels)
    lost = -certain.predict_log_proba(X)[0, 1]
    assert lost == pytest.approx(-np.log(1e-15), rel=1e-12)
    clipped = np.clip([[1.0, 0.0]], 1e-15, 1.0)
    assert lost == pytest.approx(log_loss(["up"], clipped, labels=["down", "up"]), rel=1e-6)


@for_each("task", ["regression", "classification"])
def test_baselines_are_marked_and_can_be_cloned(task):
    made = comparison.baselines(task, seed=5)
    assert [one.baseline for one in made] == [True] * 3
    assert [clone(one.estimator).get_params() is not None for one in made] == [True] * 3
    assert made[2].estimator.estimator.random_state == 5


def test_boosting_is_scikit_learns_default():
    model = comparison.baselines("classification")[2].estimator.estimator
    assert model.get_params() == HistGradientBoostingClassifier(random_state=0).get_params()


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_boosting_keeps_to_one_thread_also_where_it_predicts(task, monkeypatch):
    X, y = table()
    boosting = comparison.baselines(task)[2].estimator
    model = boosting.fit(X, y if task == "regression" else np.where(y > 0, "up", "down"))
    word = "predict" if task == "regression" else "predict_proba"
    answer, threads = getattr(model.estimator_, word), []

    def watched(rows):
        libraries = threadpoolctl.threadpool_info()
        own = [one for one in libraries if "scikit_learn" in one["filepath"]]  # not of others
        threads.extend(one["num_threads"] for one in own if one["user_api"] == "openmp")
        return answer(rows)

    monkeypatch.setattr(model.estimator_, word, watched)
    model.predict_dist(X)
    assert set(threads) == {1}
