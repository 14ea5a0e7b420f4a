"""Answers to lazy rows: Dask arrays and distributions that are computed where the rows are.

A Dask array must know its type and how many axes it has before there is a number in it. Both are
those of the fitted model, which knows how many targets, classes or axes it has: no row is made up
to try it out, because not every model would take one.

Every public method of an estimator whose first argument is X says what it does with Dask arrays,
data frames and bags: it answers lazily, partition by partition, by the same method; or it refuses
them in a sentence. Without a decorator are ``fit`` and its like, which see to such rows themselves,
and methods that only use the answer of a decorated one.
"""

from __future__ import annotations

import copy
import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, distributions
from posterity.arrays import Array
from posterity.designs import dask_graph
from posterity.distributions import dask_rows
from posterity.models.training import ColumnMoments

Shape: TypeAlias = Callable[[Any], tuple[int, ...]]  # of what a model says of one row


@dataclass(frozen=True)
class PartitionQuestion:
    """A method of a fitted model, and what it was given beside the rows."""

    model: Any
    method: str
    X: Any
    given: dict[str, Any]

    def __post_init__(self) -> None:
        check_is_fitted(self.model)

    def ask_partitions(self, empty: Any) -> dask_rows.DelayedPartitions:
        """Return a delayed answer for each partition; ``empty`` for one without rows."""
        # Of a copy: a later fit of the same object shall not change what was asked before.
        method = getattr(copy.copy(self.model), self.method)
        return dask_rows.DelayedPartitions.from_collection(self.X).call(method, self.given, empty)


@dataclass(frozen=True)
class ArrayAnswer:
    """An array with an entry for each row, or ``count`` arrays; ``check`` may refuse a question."""

    shape: Shape
    dtype: Callable[[Any], DTypeLike] = lambda model: np.float64
    count: Callable[[PartitionQuestion], int] = lambda question: 1
    check: Callable[[PartitionQuestion], None] = lambda question: None

    def answer_lazily(self, question: PartitionQuestion) -> Any:
        """Return a Dask array, or as many as there are answers."""
        self.check(question)
        shape, dtype = self.shape(question.model), self.dtype(question.model)
        count = self.count(question)
        nothing = np.empty((0, *shape), dtype=dtype)
        if count == 1:
            return question.ask_partitions(nothing).stack(shape, dtype)
        answers = question.ask_partitions((nothing,) * count)
        return tuple(
            answers.call(operator.itemgetter(i), {}, nothing).stack(shape, dtype)
            for i in range(count)
        )


@dataclass(frozen=True)
class DistributionAnswer:
    """A distribution over one value for each row, or several."""

    shape: Shape
    n_classes: Callable[[Any], int] | None = None
    check: Callable[[PartitionQuestion], None] = lambda question: None

    def answer_lazily(self, question: PartitionQuestion) -> distributions.Partitioned:
        """Return a distribution for each partition."""
        self.check(question)
        shape = self.shape(question.model)
        answers = question.ask_partitions(None)
        n_classes = None if self.n_classes is None else self.n_classes(question.model)
        return distributions.Partitioned(answers.pieces, answers.lengths, shape, n_classes)


@dataclass(frozen=True)
class Refusal:
    """No answer, because rows are needed together."""

    reason: str = "answers of rows that are in memory together"

    def answer_lazily(self, question: PartitionQuestion) -> Any:
        """Raise an error that says what to do."""
        name = f"{type(question.model).__name__}.{question.method}"
        raise TypeError(
            f"{name} {self.reason}, but X is a Dask {type(question.X).__name__}: pass rows that "
            "fit into memory, such as those of one partition, X.partitions[0].compute()."
        )


Lazy: TypeAlias = ArrayAnswer | DistributionAnswer | Refusal


Terms: TypeAlias = Any  # what a score is made of: a Mean or a Spread


def score_partitions(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Return ``model.score`` of all rows together: R^2, accuracy, or mean log density."""
    check_is_fitted(model)
    terms, cut = _choose_terms(model), dask_rows.DelayedPartitions.from_collection(X)
    none = (None,) * len(cut.pieces)
    targets = none if terms is _sum_log_densities else cut.match_partitions(y, "y")
    weights = (
        none if sample_weight is None else cut.match_partitions(sample_weight, "sample_weight")
    )
    pieces = [list(parts) for parts in zip(cut.pieces, targets, weights, strict=True)]
    total = dask_graph.map_and_merge(
        pieces, _ScoreWork(model, terms), operator.add, description="Scoring rows"
    )
    if total is None:
        raise ValueError(
            "No row of the partitions has a positive weight, so a score cannot be computed."
        )
    return float(total.value())


@dataclass(frozen=True)
class MeanTerm:
    """A weighted mean of what each row adds."""

    weight: float
    total: float

    def __add__(self, other: MeanTerm) -> MeanTerm:
        return MeanTerm(self.weight + other.weight, self.total + other.total)

    def value(self) -> float:
        """Return the mean over all rows."""
        return self.total / self.weight


@dataclass(frozen=True)
class SpreadTerm:
    """Spread of the targets, and sums of squared errors of what was predicted."""

    n_rows: int
    targets: ColumnMoments
    errors: Array  # (K,)

    def __add__(self, other: SpreadTerm) -> SpreadTerm:
        n_rows, targets = self.n_rows + other.n_rows, self.targets.merge(other.targets)
        return SpreadTerm(n_rows, targets, self.errors + other.errors)

    def value(self) -> float:
        """Return R^2, averaged over outputs; as in scikit-learn where targets do not vary."""
        if self.n_rows < 2:
            callers.warn_caller(
                "R^2 is not defined with less than two rows.", UndefinedMetricWarning
            )
            return float("nan")
        about_mean = self.targets.weight * self.targets.variance
        some = about_mean > 0.0
        share = self.errors / np.where(some, about_mean, 1.0)
        return float(np.mean(1.0 - np.where(some, share, self.errors > 0.0)))


def _choose_terms(model: Any) -> Callable[..., Terms]:
    if is_classifier(model):
        return _count_hits
    return _sum_squares if is_regressor(model) else _sum_log_densities


@dataclass(frozen=True)
class _ScoreWork:
    """Task: the terms that a partition adds to a score; None if none of its rows counts."""

    model: Any
    terms: Callable[..., Terms]

    def __call__(self, piece: list[Any], number: int) -> Terms | None:
        rows, *others = piece
        if len(rows) == 0:
            return None
        y, w = (None if part is None else arrays.to_numpy(part) for part in others)
        try:
            weights = np.ones(len(rows)) if w is None else w.astype(np.float64)
            return self.terms(self.model, rows, y, weights) if weights.any() else None
        except ValueError as error:
            raise ValueError(f"In partition {number} of X: {error}") from error


def _count_hits(model: Any, rows: Any, y: Any, w: Array) -> MeanTerm:
    right = accuracy_score(y, model.predict(rows), sample_weight=w, normalize=False)
    return MeanTerm(float(w.sum()), float(right))


def _sum_log_densities(model: Any, rows: Any, y: Any, w: Array) -> MeanTerm:
    return MeanTerm(float(w.sum()), float(w @ model.score_samples(rows)))


def _sum_squares(model: Any, rows: Any, y: Any, w: Array) -> SpreadTerm:
    predicted = np.asarray(model.predict(rows))
    Y, P = (np.asarray(a, dtype=np.float64).reshape(len(w), -1) for a in (y, predicted))
    return SpreadTerm(len(w), ColumnMoments.from_rows(Y, w), w @ (Y - P) ** 2)


MARK = "__answers_of_partitions__"
C = TypeVar("C", bound=type)


def answer_lazily(answer: Lazy) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method whose answer to Dask rows has this form, known before it is computed."""

    def decorate(method: Callable[..., Any]) -> Any:
        parameters = inspect.signature(method)

        @functools.wraps(method)
        def ask(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            if not arrays.is_collection(X):
                return method(self, X, *args, **kwargs)
            given = parameters.bind(self, X, *args, **kwargs).arguments
            beside = {name: given[name] for name in list(given)[2:]}
            return answer.answer_lazily(PartitionQuestion(self, method.__name__, X, beside))

        return _mark(ask)

    return decorate


def transform_lazily(answer: Lazy) -> Callable[[C], C]:
    """Decorate a transformer whose ``transform`` answers Dask rows in this form.

    scikit-learn wraps ``transform`` as the class is made, to answer in data frames if asked to;
    only what goes around that keeps a lazy answer lazy.
    """

    def decorate(cls: Any) -> Any:
        cls.transform = answer_lazily(answer)(cls.transform)
        return cls

    return decorate


def refuse_partitions(method: Callable[..., Any]) -> Any:
    """Decorate a method that needs its rows in memory together."""
    return answer_lazily(Refusal())(method)


def score_lazily(method: Callable[..., Any]) -> Any:
    """Decorate ``score``, which computes one number of Dask rows where they lie."""

    @functools.wraps(method)
    def score(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not arrays.is_collection(X):
            return method(self, X, *args, **kwargs)
        return score_partitions(self, X, *args, **kwargs)

    return _mark(score)


def _mark(function: Callable[..., Any]) -> Callable[..., Any]:
    setattr(function, MARK, True)
    return function
