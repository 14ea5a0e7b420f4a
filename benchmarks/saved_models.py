"""Fitted models of every shape: a small matrix, a large one, trees, few rows, a whole table.

A model is fitted once a task, in a process of its own, and goes from there to all others.
"""

from __future__ import annotations

import gc
import pickle
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bayesian_linear, friedman, mixed_tables
from benchmarks.cases import Array, Size, Task
from posterity import tables
from posterity.linear import BayesianLinearRegression, BayesianLogisticRegression
from posterity.process import GaussianProcessRegressor
from posterity.sparse import RelevanceVectorRegressor
from posterity.trees import RandomForestRegressor

TREES = 100
QUERIES = 50
_OFFSETS = 2  # columns that may stand beside those of the rows
_TINY = 1e-6  # a column that does not vary is like none
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


@dataclass(frozen=True)
class Fitted:
    """A fitted model, the rows it was fitted to, and rows to ask it about."""

    model: Any
    X: Array
    queries: Any

    def save(self, folder: Path) -> None:
        """For the processes that measure."""
        with (folder / "fitted.pickle").open("wb") as file:
            pickle.dump(self, file)

    @classmethod
    def load(cls, folder: Path) -> Fitted:
        """What ``save`` wrote."""
        with (folder / "fitted.pickle").open("rb") as file:
            return pickle.load(file)

    def is_like(self, other: Any) -> bool:
        """Whether another model has the same distribution of each query, to the last bit."""
        return all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(
                _predict_all(self.model, self.queries),
                _predict_all(other, self.queries),
                strict=True,
            )
        )


def bayesian_line(rng: np.random.Generator, size: Size) -> Fitted:
    """Its posterior is a matrix of columns by columns."""
    data = bayesian_linear.few_live_weights(rng, size)
    return Fitted(BayesianLinearRegression().fit(data.X, data.y), data.X, data.X_test)


def logistic(rng: np.random.Generator, size: Size) -> Fitted:
    """The same for classes; while it is fitted it holds all rows."""
    data = bayesian_linear.few_live_weights(rng, size)
    model = BayesianLogisticRegression().fit(data.X, np.where(data.y > 0.0, 1, 0))
    return Fitted(model, data.X, data.X_test)


def process(rng: np.random.Generator, size: Size) -> Fitted:
    """A matrix of rows by rows, and the rows."""
    data = friedman.generate(rng, size)
    return Fitted(GaussianProcessRegressor().fit(data.X, data.y), data.X, data.X_test)


def vectors(rng: np.random.Generator, size: Size) -> Fitted:
    """A few of the rows."""
    data = friedman.generate(rng, size)
    model = RelevanceVectorRegressor(random_state=0).fit(data.X, data.y)
    return Fitted(model, data.X, data.X_test)


def forest(rng: np.random.Generator, size: Size) -> Fitted:
    """A hundred trees, grown to their ends."""
    data = friedman.generate(rng, size)
    model = RandomForestRegressor(TREES, random_state=0).fit(data.X, data.y)
    return Fitted(model, data.X, data.X_test)


def table(rng: np.random.Generator, size: Size) -> Fitted:
    """All that turns a raw table into numbers, around a small model."""
    frame = mixed_tables.table(rng, size.rows, size.columns)
    schema = tables.infer(frame, mixed_tables.TARGET)
    model = tables.TableModel(BayesianLinearRegression(), schema).fit(frame)
    queries = mixed_tables.table(rng, size.test_rows, size.columns)
    return Fitted(model, model.encode_inputs(frame), queries)


TASKS = (
    Task("BayesianLinearRegression", Size(1_000, 50, QUERIES), bayesian_line),
    Task("BayesianLogisticRegression", Size(5_000, 50, QUERIES), logistic),
    Task("GaussianProcessRegressor", Size(2_000, 8, QUERIES), process),
    Task("RelevanceVectorRegressor", Size(1_000, 8, QUERIES), vectors),
    Task(f"RandomForestRegressor of {TREES} trees", Size(20_000, 20, QUERIES), forest),
    Task("TableModel of numbers, categories and dates", Size(5_000, 12, QUERIES), table),
)


def rows_inside(model: Any, X: Array) -> int:
    """How many of these rows are in the arrays of a model, whatever it says of itself.

    A row counts where it stands in an array as it was, offset columns beside it or not; all do
    where such an array has a column that is the first of theirs, shifted and scaled.
    """
    return max((_rows_in(array, X) for array in arrays_of(model)), default=0)


def arrays_of(model: Any) -> Iterator[np.ndarray]:
    """Every array that can be reached from a model through data, each once."""
    stack, seen = [model], set()
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, _CODE):
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            yield value
        stack.extend(gc.get_referents(value))


def _rows_in(array: np.ndarray, X: Array) -> int:
    n_more = array.shape[1] - X.shape[1] if array.ndim == 2 and array.dtype == X.dtype else -1
    if not 0 <= n_more <= _OFFSETS:
        return 0
    if len(array) == len(X) and _has_column_like(array, X[:, 0]):
        return len(X)
    rows = {row.tobytes() for row in np.ascontiguousarray(X)}
    windows = (array[:, k : k + X.shape[1]] for k in range(n_more + 1))
    return max(len(rows & {row.tobytes() for row in window}) for window in windows)


def _has_column_like(array: np.ndarray, x: Array) -> bool:
    """Whether a column is x but for its origin and scale."""
    a, b = array - array.mean(axis=0), x - x.mean()
    lengths = np.linalg.norm(a, axis=0) * np.linalg.norm(b)
    return bool(np.any(np.abs(b @ a) > np.maximum((1.0 - 1e-9) * lengths, _TINY)))


def _predict_all(model: Any, queries: Any) -> tuple[Any, ...]:
    """The distribution that a model has of each query, in numbers."""
    dist = model.predict_dist(queries)
    return dist.mean(), dist.variance()
