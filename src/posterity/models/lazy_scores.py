"""Scores of models on rows that lie in partitions: sums of the parts, made where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers
from posterity.arrays import Array
from posterity.designs import dask_graph
from posterity.distributions import dask_rows

Terms: TypeAlias = Any  # what a score is made of: a Mean or a Spread


def score_partitions(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """What ``model.score`` is of all rows together: R^2, accuracy, or mean log density."""
    check_is_fitted(model)
    terms, cut = _choose_terms(model), dask_rows.DelayedPartitions.from_collection(X)
    none = (None,) * len(cut.pieces)
    targets = none if terms is _sum_log_densities else cut.match_partitions(y, "y")
    weights = (
        none if sample_weight is None else cut.match_partitions(sample_weight, "sample_weight")
    )
    pieces = [list(parts) for parts in zip(cut.pieces, targets, weights, strict=True)]
    total = dask_graph.map_and_merge(
        pieces, _ScoreWork(model, terms), _merge_terms, description="Scoring rows"
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
        """Over all rows."""
        return self.total / self.weight


@dataclass(frozen=True)
class SpreadTerm:
    """How far targets are from their mean, and from what was predicted."""

    n_rows: int
    weight: float
    mean: Array  # (K,)
    about_mean: Array  # (K,)  weighted sums of squares
    errors: Array  # (K,)

    def __add__(self, other: SpreadTerm) -> SpreadTerm:
        W = self.weight + other.weight
        apart = other.mean - self.mean
        return SpreadTerm(
            self.n_rows + other.n_rows,
            W,
            self.mean + apart * (other.weight / W),
            # Sums about two means are not those about the mean of both.  [NLA 1.9]
            self.about_mean + other.about_mean + apart**2 * (self.weight * other.weight / W),
            self.errors + other.errors,
        )

    def value(self) -> float:
        """R^2, averaged over outputs; as scikit-learn has it where targets do not vary."""
        if self.n_rows < 2:
            callers.warn_caller(
                "R^2 is not defined with less than two rows.", UndefinedMetricWarning
            )
            return float("nan")
        some = self.about_mean > 0.0
        share = self.errors / np.where(some, self.about_mean, 1.0)
        return float(np.mean(1.0 - np.where(some, share, self.errors > 0.0)))


def _choose_terms(model: Any) -> Callable[..., Terms]:
    if is_classifier(model):
        return _count_hits
    return _sum_squares if is_regressor(model) else _sum_log_densities


@dataclass(frozen=True)
class _ScoreWork:
    """What a partition adds to a score; None where it has no rows that count."""

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
    mean = np.average(Y, axis=0, weights=w)
    return SpreadTerm(len(w), float(w.sum()), mean, w @ (Y - mean) ** 2, w @ (Y - P) ** 2)


def _merge_terms(a: Terms | None, b: Terms | None) -> Terms | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
