"""Rows that are read block by block give the model of rows in memory."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from support.for_each import for_each

from posterity import BayesianLogisticRegression, LogisticRegression, designs, features

MODELS = [
    LogisticRegression(),
    LogisticRegression(predictive="averaged", fit_intercept=False),
    LogisticRegression(features=features.Polynomial(2)),
    BayesianLogisticRegression(),
    BayesianLogisticRegression(features=features.Polynomial(2), prior_variance=2.0),
    BayesianLogisticRegression(standardize=False, fit_intercept=False),
]
each_model = pytest.mark.parametrize(
    "model", MODELS, ids=[repr(m).replace("\n", "") for m in MODELS]
)
each_count = pytest.mark.parametrize("n_classes", [2, 3])


def data(n=150, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = 4.0 + rng.normal(size=(n, 2)) * [1.0, 30.0]
    A = ((X - 4.0) / [1.0, 30.0]) @ rng.normal(size=(2, n_classes))
    y = np.argmax(A + rng.gumbel(size=(n, n_classes)), axis=1).astype(float)
    return X, y, rng.integers(1, 4, n).astype(float)


def assert_alike(one, other, X):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    for name in ("log_evidence_", "log_likelihood_"):
        if name in vars(one):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-8)


@each_model
@each_count
@for_each("weighted", [True, False])
def test_blocks_of_arrays(model, n_classes, weighted):
    X, y, weight = data(n_classes=n_classes)
    w = weight if weighted else None
    chunks = designs.Chunks.from_arrays(X, y, w, rows=40)
    assert_alike(clone(model).fit(chunks), clone(model).fit(X, y, w), X)


@each_model
def test_parquet(model, tmp_path):
    X, y, weight = data(n_classes=3)
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": y, "times": weight})
    table[:90].write_parquet(tmp_path / "1.parquet")
    table[90:].write_parquet(tmp_path / "2.parquet")
    chunks = designs.Chunks.from_parquet(tmp_path, target="class", sample_weight="times", rows=35)
    streamed = clone(model).fit(chunks)
    assert list(streamed.feature_names_in_) == ["a", "b"]
    queries = table.select("a", "b")
    assert_alike(streamed, clone(model).fit(queries, y, weight), queries)


@each_model
def test_what_can_be_read_only_once_is_refused(model):
    X, y, _ = data()
    once = designs.Chunks.from_iterable((X[i : i + 50], y[i : i + 50]) for i in (0, 50, 100))
    with pytest.raises(ValueError, match=type(model).__name__):
        clone(model).fit(once)
    again = designs.Chunks.from_iterable(
        lambda: ((X[i : i + 50], y[i : i + 50]) for i in (0, 50, 100))
    )
    assert_alike(clone(model).fit(again), clone(model).fit(X, y), X)


def test_chunks_bring_everything_and_nothing_else_is_taken():
    X, y, weight = data()
    chunks = designs.Chunks.from_arrays(X, y)
    with pytest.raises(ValueError, match="pass nothing else"):
        LogisticRegression().fit(chunks, y)
    with pytest.raises(ValueError, match="pass nothing else"):
        LogisticRegression().fit(chunks, sample_weight=weight)
    with pytest.raises(ValueError, match="hold no targets"):
        LogisticRegression().fit(designs.Chunks.from_arrays(X))
    with pytest.raises(ValueError, match="hold 2 targets"):
        LogisticRegression().fit(designs.Chunks.from_arrays(X, np.column_stack([y, y])))


def test_separable_classes_are_called_so_in_a_stream_too():
    X, _, _ = data()
    y = (X[:, 0] > 4.0).astype(float)
    with pytest.warns(UserWarning, match="can be separated") as caught:
        model = LogisticRegression().fit(designs.Chunks.from_arrays(X, y, rows=40))
    assert model.separable_
    assert caught[0].filename == __file__
