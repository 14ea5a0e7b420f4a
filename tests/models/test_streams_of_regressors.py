"""Rows that never sit in memory at once reach the same model, under the same names."""

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from support.for_each import for_each

from posterity import BayesianLinearRegression, LinearRegression, RidgeRegression, features
from posterity.designs import Chunks


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 100.0, -5.0]
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.1 * rng.normal(size=n)


def parquet(folder, X, y, weight=None):
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "price": y}
    if weight is not None:
        table["w"] = weight
    pl.DataFrame(table).write_parquet(folder / "rows.parquet", row_group_size=40)
    return folder / "rows.parquet"


@pytest.mark.parametrize(
    "model", [LinearRegression(), RidgeRegression(), BayesianLinearRegression()]
)
def test_a_parquet_file_is_fitted_like_the_table_it_holds(tmp_path, model):
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    chunks = Chunks.from_parquet(
        parquet(tmp_path, X, y, weight), target="price", sample_weight="w", rows=37
    )
    queries = pl.DataFrame(X, schema=["a", "b", "c"])
    streamed = model.fit(chunks).predict(queries, return_std=True)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    memory = model.fit(X, y, sample_weight=weight).predict(X, return_std=True)
    for a, b in zip(streamed, memory, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_a_fitted_stream_checks_the_names_of_its_queries(tmp_path):
    X, y = data()
    model = BayesianLinearRegression().fit(
        Chunks.from_parquet(parquet(tmp_path, X, y), target="price")
    )
    table = pl.DataFrame(X, schema=["a", "c", "b"])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table)


@for_each("space", [features.Radial(8), features.Polynomial(3), StandardScaler()])
def test_features_of_a_stream_are_fitted_on_all_of_it(space):
    """A sorted file: the first block alone would put every centre at one end."""
    X, y = data()
    order = np.argsort(X[:, 0])
    X, y = X[order], y[order]
    model = BayesianLinearRegression(features=space)
    streamed = model.fit(Chunks.from_arrays(X, y, rows=50)).predict(X, return_std=True)
    memory = model.fit(X, y).predict(X, return_std=True)
    for a, b in zip(streamed, memory, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_generator_is_read_once_and_no_more():
    X, y = data()
    blocks = ((X[i : i + 60], y[i : i + 60]) for i in range(0, 300, 60))
    streamed = BayesianLinearRegression().fit(Chunks.from_iterable(blocks))
    memory = BayesianLinearRegression().fit(X, y)
    np.testing.assert_allclose(streamed.coef_, memory.coef_, rtol=1e-9)


def test_streams_add_to_what_was_fitted_before():
    X, y = data()
    model = BayesianLinearRegression().fit(Chunks.from_arrays(X[:100], y[:100]))
    model.partial_fit(Chunks.from_arrays(X[100:200], y[100:200], rows=30))
    model.partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(model.coef_, BayesianLinearRegression().fit(X, y).coef_, rtol=1e-9)


def test_files_that_come_later_must_have_the_columns_of_the_first(tmp_path):
    X, y = data()
    path = parquet(tmp_path, X, y)
    model = BayesianLinearRegression().fit(Chunks.from_parquet(path, target="price"))
    evidence = model.log_evidence_
    model.partial_fit(Chunks.from_parquet(path, target="price"))
    assert model.log_evidence_ != evidence
    with pytest.raises(ValueError, match="are not those that were fitted"):
        model.partial_fit(Chunks.from_parquet(path, target="price", features=["b", "a", "c"]))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(Chunks.from_parquet(path, target="price", features=["a", "b"]))


def test_a_new_fit_forgets_the_old_one():
    X, y = data()
    model = BayesianLinearRegression().fit(X[:100], y[:100]).fit(X, y)
    np.testing.assert_array_equal(model.coef_, BayesianLinearRegression().fit(X, y).coef_)


def test_known_noise_must_be_known_in_every_part():
    X, y = data()
    model = BayesianLinearRegression().fit(X, y, noise_variance=np.ones(300))
    with pytest.raises(ValueError, match="in every call"):
        model.partial_fit(X, y)


def test_the_form_of_the_targets_may_not_change():
    X, y = data()
    with pytest.raises(ValueError, match="one and two dimensions"):
        BayesianLinearRegression().fit(X, y).partial_fit(X, y[:, None])


def test_other_columns_are_refused_when_rows_are_added():
    X, y = data()
    with pytest.raises(ValueError, match="expecting 3 features"):
        BayesianLinearRegression().fit(X, y).partial_fit(X[:, :2], y)


def test_chunks_without_targets_are_refused():
    X, _ = data()
    model = LinearRegression()
    with pytest.raises(ValueError, match="hold no targets"):
        model.fit(Chunks.from_arrays(X))
    with pytest.raises(NotFittedError):
        model.predict(X)
