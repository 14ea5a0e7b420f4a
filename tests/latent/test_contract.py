"""Every latent model keeps scikit-learn's contract and the library's own."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from latent_cases import CASES, answers, data, every_model, every_transformer, named
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.estimator_checks import every_check_once

import posterity
from posterity import GPLVM, PCA, KernelKMeans

pytestmark = pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning")


def test_every_public_latent_model_is_in_the_table():
    public = {getattr(posterity.latent, name) for name in posterity.latent.__all__}
    assert public == {type(case) for case in CASES}
    assert set(posterity.latent.__all__) <= set(posterity.__all__)


@every_check_once(CASES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["pandas", "polars"])
@every_transformer
def test_data_frames_come_in_and_go_out(model, name):
    X = data()
    frame = pd.DataFrame if name == "pandas" else pl.DataFrame
    table = frame(dict(zip("abcd", X.T, strict=True)))
    fitted = clone(model).set_output(transform=name).fit(table)
    assert list(fitted.feature_names_in_) == list("abcd")
    found = fitted.transform(table)
    assert isinstance(found, frame)
    assert list(found.columns) == list(fitted.get_feature_names_out())
    np.testing.assert_allclose(found.to_numpy(), clone(model).fit(X).transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame(dict(zip("dabc", X.T, strict=True))))


@pytest.mark.full(but=8)
@every_transformer
def test_fitting_and_transforming_at_once_is_the_same(model):
    X = data()
    both = clone(model).fit_transform(X)
    np.testing.assert_allclose(both, clone(model).fit(X).transform(X), atol=1e-9)


@every_transformer
def test_rows_come_back(model):
    X = data()
    fitted = clone(model).fit(X)
    back = fitted.inverse_transform(fitted.transform(X))
    assert back.shape == X.shape
    assert np.mean((back - X) ** 2) < np.mean((X - X.mean(axis=0)) ** 2)


@every_transformer
def test_points_of_the_wrong_kind_are_refused_in_words(model):
    fitted = clone(model).fit(data())
    Z = fitted.transform(data(3))
    for bad, words in (
        (np.hstack([Z, Z[:, :1]]), "the coordinates that transform returns"),
        (Z[0], "2D array"),
        (Z[:0], "0 sample"),
        (np.full_like(Z, np.nan), r"NaN: column 0 \(row 0\)"),
        (Z.astype(str).astype(object)[:, :0], "the coordinates that transform returns"),
        ([["a"] * Z.shape[1]], "holds the text 'a'"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted.inverse_transform(bad)


@every_model
def test_a_copy_by_pickle_is_the_model(model):
    X = data()
    fitted = clone(model).fit(X)
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(answers(copied, data(4, 1)), answers(fitted, data(4, 1)))


@pytest.mark.full(but=4)
@every_transformer
def test_it_works_inside_pipelines_and_searches(model):
    X = data()
    y = X @ [1.0, -1.0, 0.5, 2.0]
    chain = make_pipeline(StandardScaler(), clone(model), LinearRegression())
    assert cross_val_score(chain, X, y, cv=2).shape == (2,)
    grid = {f"{type(model).__name__.lower()}__n_components": [1, 2]}
    search = GridSearchCV(chain, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.2


@pytest.mark.full(but=1)
@named([case for case in CASES if isinstance(case, PCA | GPLVM)])
def test_the_number_of_components_is_found_by_the_density_of_left_out_rows(model):
    X = data()
    search = GridSearchCV(clone(model), {"n_components": [1, 2]}, cv=2, error_score="raise").fit(X)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0.0


@named([case for case in CASES if isinstance(case, KernelKMeans)])
def test_the_number_of_clusters_is_found_by_labels(model):
    X = np.concatenate([data(20), data(20) + 30.0])
    y = np.repeat([0, 1], 20)
    grid = {"n_clusters": [2, 4]}
    search = GridSearchCV(model, grid, cv=2, scoring="adjusted_rand_score", error_score="raise")
    order = np.random.default_rng(0).permutation(40)
    assert search.fit(X[order], y[order]).best_params_ == {"n_clusters": 2}


@pytest.mark.full(but=4)
@every_model
def test_neither_memory_nor_kind_of_numbers_matters(model):
    whole = np.round(8.0 * data())
    expected = answers(clone(model).fit(whole), whole)
    sealed = whole.copy()
    sealed.flags.writeable = False
    apart = np.repeat(np.repeat(whole, 2, axis=0), 2, axis=1)[::2, ::2]
    for same in (
        sealed,
        apart,
        np.asfortranarray(whole),
        whole.astype(np.float32),
        whole.astype(int),
        whole.tolist(),
        whole.astype(object),
    ):
        np.testing.assert_allclose(answers(clone(model).fit(same), same), expected, atol=1e-6)


@every_model
def test_the_rows_given_are_not_changed_nor_kept(model):
    X = data()
    kept = X.copy()
    fitted = clone(model).fit(X)
    before = answers(fitted, data(4, 1))
    np.testing.assert_array_equal(X, kept)
    X[:] = 0.0
    np.testing.assert_array_equal(answers(fitted, data(4, 1)), before)


@pytest.mark.full(but=8)
@every_model
def test_a_second_fit_knows_nothing_of_the_first(model):
    X = data()
    again = clone(model).fit(np.hstack([X, X[:, :2] ** 2])).fit(X)
    np.testing.assert_array_equal(answers(again, X), answers(clone(model).fit(X), X))
    table = pd.DataFrame(X, columns=list("abcd"))
    assert not hasattr(clone(model).fit(table).fit(X), "feature_names_in_")


@every_transformer
def test_pipelines_take_points_back_to_rows(model):
    X = data()
    pipe = make_pipeline(StandardScaler(), clone(model)).fit(X)
    Z = pipe.transform(X)
    standard = pipe[0].inverse_transform(pipe[1].inverse_transform(Z))
    np.testing.assert_array_equal(pipe.inverse_transform(Z), standard)
    if hasattr(pipe[1], "inverse_transform_dist"):
        mean = pipe[1].inverse_transform_dist(Z).mean()
        np.testing.assert_allclose(pipe[1].inverse_transform(Z), mean)
