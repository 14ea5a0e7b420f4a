"""With joblib's Dask backend searches run on workers, and find what they find without it."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import posterity
from posterity import displays, linalg

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


SEARCHES = [
    (posterity.BayesianLinearRegression(), {"prior_variance": [0.1, 1.0, None]}),
    (posterity.RelevanceVectorRegressor(), {"kernel": [posterity.kernels.RBF(s) for s in (1, 3)]}),
    (
        posterity.GaussianProcessRegressor(n_restarts=2, random_state=0),
        {"noise_variance": [0.05, 0.2]},
    ),
    (
        posterity.RandomForestClassifier(6, n_jobs=2, random_state=0),
        {"min_samples_leaf": [1.0, 10.0]},
    ),
    (posterity.LogitBoostClassifier(n_estimators=5, n_jobs=2), {"learning_rate": [0.3, 1.0]}),
]
FITS = [
    posterity.RandomForestClassifier(10, n_jobs=2, random_state=0),
    posterity.RandomForestRegressor(10, n_jobs=2, random_state=0),
    posterity.GaussianProcessRegressor(n_restarts=2, n_jobs=2, random_state=0),
    posterity.MixtureOfExpertsClassifier(n_restarts=2, n_jobs=2, random_state=0),
]


def problem(model, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    return (X, np.where(y > 0.0, "yes", "no")) if hasattr(model, "predict_proba") else (X, y)


@pytest.mark.full(but=1)
@pytest.mark.parametrize(("model", "grid"), SEARCHES, ids=lambda part: type(part).__name__)
def test_a_search_on_workers_is_the_search_without_them(client, model, grid):
    X, y = problem(model)
    found = GridSearchCV(model, grid, cv=2).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        spread = GridSearchCV(model, grid, cv=2).fit(X, y)
    np.testing.assert_allclose(
        spread.cv_results_["mean_test_score"], found.cv_results_["mean_test_score"], rtol=1e-7
    )
    assert spread.best_index_ == found.best_index_
    np.testing.assert_allclose(
        *(search.best_estimator_.score(X, y) for search in (found, spread)), rtol=1e-7
    )


@pytest.mark.parametrize("model", FITS, ids=lambda model: type(model).__name__)
def test_a_fit_with_the_backend_is_the_fit_without_it(client, model):
    X, y = problem(model, n=300)
    alone = clone(model).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        spread = clone(model).fit(X, y)
    np.testing.assert_allclose(
        spread.predict_dist(X).mean(), alone.predict_dist(X).mean(), rtol=1e-7
    )


@pytest.mark.parametrize("backend", ["dask", "loky"])
@pytest.mark.parametrize("model", FITS[:2], ids=lambda model: type(model).__name__)
def test_threads_write_what_is_predicted_where_a_backend_shares_no_memory(client, model, backend):
    X, y = problem(model)
    forest, many = clone(model).fit(X, y), np.tile(X, (100, 1))  # more than one thread answers
    expected = [forest.predict_dist(many).mean(), forest.predict(many), forest.apply(many)]
    with joblib.parallel_config(backend=backend):
        found = [forest.predict_dist(many).mean(), forest.predict(many), forest.apply(many)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_of_folds_and_evidences_are_those_without_the_backend(client):
    model = posterity.BayesianLinearRegression()
    X, y = problem(model)

    def found():
        curve = displays.EvidenceDisplay.from_estimator(
            model, X, y, param_name="noise_variance", param_range=[0.01, 0.1, 1.0]
        )
        return cross_val_score(model, X, y, cv=3), curve.log_evidences

    alone = found()
    with joblib.parallel_config(backend="dask"):
        spread = found()
    for one, other in zip(alone, spread, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_trees_grow_on_workers_to_which_rows_went_once(client, monkeypatch):
    model = posterity.RandomForestClassifier(12, random_state=0)
    X, y = problem(model, n=2000)
    sent, scatter = [], distributed.Client.scatter

    def noted(self, data, **options):
        sent.append(data)
        return scatter(self, data, **options)

    monkeypatch.setattr(distributed.Client, "scatter", noted)
    with distributed.get_task_stream() as stream, joblib.parallel_config(backend="dask"):
        model.fit(X, y)
    assert any("_grow_one_tree" in str(task["key"]) for task in stream.data)
    rows = [data for data in sent if isinstance(data, np.ndarray) and data.dtype == np.uint8]
    assert [part.shape for part in rows] == [X.shape]


def test_threads_are_those_of_this_process_whatever_the_cluster_has(client):
    with joblib.parallel_config(backend="dask"):
        assert joblib.effective_n_jobs(7) == 2  # the workers' threads
        assert linalg.threads.count_threads(7) == 7
        assert linalg.threads.count_threads(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert linalg.threads.count_threads(None) == 3
