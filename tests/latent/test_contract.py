"""Every latent transformer keeps scikit-learn's contract and the library's own."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from posterity.latent.pca import PCA
from posterity.latent.whitening import Whitening

CASES = [
    PCA(),
    PCA(0.9),
    PCA("evidence"),
    PCA(1, method="rows"),
    PCA(1, method="randomized"),
    Whitening(),
    Whitening("zca"),
    Whitening(n_components=1, tolerance=1e-6),
]
IDS = [repr(case).replace("\n", "") for case in CASES]


@parametrize_with_checks(CASES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(n, 4)) + 2.0


@pytest.mark.parametrize("name", ["pandas", "polars"])
@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_data_frames_come_in_and_go_out(model, name):
    X = data()
    frame = pd.DataFrame if name == "pandas" else pl.DataFrame
    table = frame(dict(zip("abcd", X.T, strict=True)))
    fitted = clone(model).set_output(transform=name).fit(table)
    assert list(fitted.feature_names_in_) == list("abcd")
    found = fitted.transform(table)
    assert isinstance(found, frame)
    assert list(found.columns) == list(fitted.get_feature_names_out())
    np.testing.assert_allclose(found.to_numpy(), clone(model).fit(X).transform(X), atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame(dict(zip("dabc", X.T, strict=True))))


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_a_copy_by_pickle_is_the_model(model):
    X = data()
    fitted = clone(model).fit(X)
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.transform(X), fitted.transform(X))


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_it_works_inside_pipelines(model):
    X = data()
    assert len(make_pipeline(StandardScaler(), clone(model)).fit_transform(X)) == 40


@pytest.mark.parametrize("model", CASES, ids=IDS)
def test_the_rows_given_are_not_changed(model):
    X = data()
    kept = X.copy()
    fitted = clone(model).fit(X)
    fitted.transform(X)
    np.testing.assert_array_equal(X, kept)
