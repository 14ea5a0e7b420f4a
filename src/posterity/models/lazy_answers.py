"""Lazy predictions of a fitted model for partitioned rows, with types known in advance.

A Dask array must know its type and how many axes it has before there is a number in it. Both are
those of the fitted model, which knows how many targets, classes or axes it has: no row is made up
to try it out, because not every model would take one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions
from posterity.distributions import dask_rows

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

    def ask_partitions(self, empty: Any) -> tuple[dask_rows.DelayedPartitions, tuple[Any, ...]]:
        """The partitions, and for each a delayed answer; ``empty`` of one without rows."""
        cut = dask_rows.DelayedPartitions.from_collection(self.X)
        by_row = [name for name, value in self.given.items() if dask_rows.is_per_row(value)]
        columns = [cut.match_partitions(self.given[name], name) for name in by_row]
        constant = {name: value for name, value in self.given.items() if name not in by_row}
        # A copy: a later fit of the same object shall not change what was asked before.
        call = _PartitionCall(copy.copy(self.model), self.method, constant, tuple(by_row), empty)
        return cut, dask_rows.map_partitions(call, cut.pieces, *columns)


@dataclass(frozen=True)
class ArrayAnswer:
    """An array with an entry for each row, or ``count`` arrays; ``check`` may refuse a question."""

    shape: Shape
    dtype: Callable[[Any], DTypeLike] = lambda model: np.float64
    count: Callable[[PartitionQuestion], int] = lambda question: 1
    check: Callable[[PartitionQuestion], None] = lambda question: None

    def answer_lazily(self, question: PartitionQuestion) -> Any:
        """A Dask array, or as many as there are answers."""
        self.check(question)
        shape, dtype = self.shape(question.model), self.dtype(question.model)
        count = self.count(question)
        nothing = np.empty((0, *shape), dtype=dtype)
        cut, pieces = question.ask_partitions(nothing if count == 1 else (nothing,) * count)
        if count == 1:
            return dask_rows.stack_partitions(pieces, cut.lengths, shape, dtype)
        return tuple(
            dask_rows.stack_partitions(
                dask_rows.map_partitions(_AnswerItem(i), pieces), cut.lengths, shape, dtype
            )
            for i in range(count)
        )


@dataclass(frozen=True)
class DistributionAnswer:
    """A distribution over one value for each row, or several."""

    shape: Shape
    n_classes: Callable[[Any], int] | None = None
    check: Callable[[PartitionQuestion], None] = lambda question: None

    def answer_lazily(self, question: PartitionQuestion) -> distributions.Partitioned:
        """A distribution for each partition."""
        self.check(question)
        shape = self.shape(question.model)
        cut, pieces = question.ask_partitions(None)
        n_classes = None if self.n_classes is None else self.n_classes(question.model)
        return distributions.Partitioned(tuple(pieces), cut.lengths, shape, n_classes)


@dataclass(frozen=True)
class Refusal:
    """No answer, because rows are needed together."""

    reason: str = "answers of rows that are in memory together"

    def answer_lazily(self, question: PartitionQuestion) -> Any:
        """An error that says what to do."""
        name = f"{type(question.model).__name__}.{question.method}"
        raise TypeError(
            f"{name} {self.reason}, but X is a Dask {type(question.X).__name__}: pass rows that "
            "fit into memory, such as those of one partition, X.partitions[0].compute()."
        )


Lazy: TypeAlias = ArrayAnswer | DistributionAnswer | Refusal


@dataclass(frozen=True)
class _PartitionCall:
    """What every partition needs of a question."""

    model: Any
    method: str
    given: dict[str, Any]
    by_row: tuple[str, ...]
    empty: Any

    def __call__(self, number: int, rows: Any, *values: Any) -> Any:
        if len(rows) == 0:
            return self.empty
        own = {name: arrays.to_numpy(v) for name, v in zip(self.by_row, values, strict=True)}
        try:
            answer = getattr(self.model, self.method)(rows, **self.given, **own)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"In partition {number} of X: {error}") from error
        if isinstance(answer, distributions.Distribution):
            return answer
        return (
            tuple(map(_to_plain_array, answer))
            if isinstance(answer, tuple)
            else _to_plain_array(answer)
        )


@dataclass(frozen=True)
class _AnswerItem:
    """One of several answers of a partition."""

    place: int

    def __call__(self, number: int, answers: tuple[Any, ...]) -> Any:
        return answers[self.place]


def _to_plain_array(answer: Any) -> Any:
    """An array in memory, whatever form the model was told to answer in."""
    return np.asarray(arrays.to_numpy(answer))
