"""What an estimator says of rows it has not seen, and how good that was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import classification, distributions
from posterity.arrays import Array
from posterity.comparison.results import LEVELS, HeldOut, Result
from posterity.scoring import calibration

SMALLEST = 1e-15
"""The least probability that scikit-learn's log_loss counts."""

_IMPOSSIBLE = float(np.log(np.finfo(np.float64).tiny))  # the log of what was said never to come
_ROWS = 4096  # predicted at once
_BIN_ROWS, _MOST_BINS = 30, 10


@dataclass(frozen=True, eq=False)
class Costs:
    """What an estimator took, and what it said while it was fitted."""

    fit_seconds: float | None = None
    predict_seconds: float = 0.0
    n_bytes: int | None = None
    log_evidence: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Said:
    """What was said of rows; of numbers also the distributions, piece by piece with their rows."""

    held_out: HeldOut
    pieces: tuple[tuple[NDArray[np.intp], Any], ...] = ()

    def with_quantiles(self) -> HeldOut:
        """Quantiles too: for some distributions they cost more than all the rest."""
        if not self.pieces:
            return self.held_out
        quantiles = np.empty((len(self.held_out.rows), len(LEVELS)))
        for rows, dist in self.pieces:
            values = np.stack([dist.icdf(level) for level in LEVELS], axis=-1)
            quantiles[np.searchsorted(self.held_out.rows, rows)] = values
        return replace(self.held_out, quantiles=quantiles)


def said(
    estimator: Any,
    X: Array,
    y: NDArray[Any],
    rows: NDArray[np.intp],
    *,
    classes: tuple[str, ...],
    n_train: int,
    seed: int = 0,
) -> Said:
    """What is said of rows beside what came: of numbers, or of positions in ``classes``."""
    if classes:
        log_p = [class_log_probabilities(estimator, X[p], len(classes), n_train) for p in cut(X)]
        return Said(_classes(np.concatenate(log_p), y, rows, classes))
    rng = np.random.default_rng(seed)
    pieces = [(p, estimator.predict_dist(X[p])) for p in cut(X)]
    parts = [_numbers(dist, y[p], rows[p], rng) for p, dist in pieces]
    return Said(merged(parts), tuple((rows[p], dist) for p, dist in pieces))


def log_prob(estimator: Any, X: Array, y: NDArray[Any], *, n_classes: int, n_train: int) -> Array:
    """Log density or log probability of what came, and nothing else."""
    if not n_classes:
        return np.concatenate(
            [_possible(estimator.predict_dist(X[p]).log_prob(y[p])) for p in cut(X)]
        )
    log_p = [class_log_probabilities(estimator, X[p], n_classes, n_train) for p in cut(X)]
    return _own(np.concatenate(log_p), y.astype(np.intp))


def cut(X: Array) -> list[slice]:
    """Pieces of rows to be predicted at once."""
    return [slice(start, start + _ROWS) for start in range(0, len(X), _ROWS)]


def together(parts: Sequence[Said]) -> Said:
    """What was said of several parts of a table."""
    held_out = merged([part.held_out for part in parts])
    return Said(held_out, tuple(piece for part in parts for piece in part.pieces))


def merged(parts: Sequence[HeldOut]) -> HeldOut:
    """What was said of several parts of a table, in the order of its rows."""
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)[order]

    names = ("rows", "y", "log_prob", "mean", "pit", "quantiles", "probabilities")
    return HeldOut(**{name: joined(name) for name in names}, classes=parts[0].classes)


def result(name: str, code: str, held_out: HeldOut, costs: Costs, *, baseline: bool) -> Result:
    """The scores of what was said; not yet held against others."""
    numbers = held_out.probabilities is None
    return Result(
        name=name,
        code=code,
        baseline=baseline,
        log_score=float(np.mean(held_out.log_prob)),
        standard_error=standard_error(held_out.log_prob),
        behind=0.0,
        behind_error=0.0,
        rmse=_rmse(held_out) if numbers else None,
        accuracy=None if numbers else float(np.mean(is_right(held_out))),
        coverage=_coverage(held_out) if numbers else None,
        calibration=calibration.distance_from_uniform(np.asarray(held_out.pit))
        if numbers
        else _calibration_error(held_out),
        log_evidence=costs.log_evidence,
        fit_seconds=costs.fit_seconds,
        predict_seconds=costs.predict_seconds,
        n_bytes=costs.n_bytes,
        held_out=held_out,
        warnings=costs.warnings,
    )


def standard_error(values: Array) -> float:
    """Of the mean of independent values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def confidence(held_out: HeldOut) -> Array:
    """The probability of the most probable class of each row."""
    p: Any = held_out.probabilities
    return np.max(p, axis=1)


def is_right(held_out: HeldOut) -> NDArray[np.bool_]:
    """Whether the most probable class came."""
    return np.argmax(np.asarray(held_out.probabilities), axis=1) == held_out.y


def class_log_probabilities(estimator: Any, X: Array, n_classes: int, n_train: int) -> Array:
    """Log-probabilities of all classes, (n, C), also of those that no fitted row had.

    Each of these is given 1 / (n_train + C), by every model alike, and the others so much less:
    what was not seen in so many rows is rare, but not impossible.
    """
    log_p = _stated(estimator, X)
    known = np.asarray(estimator.classes_, dtype=np.intp)
    n_unseen = n_classes - len(known)
    if not n_unseen:
        return log_p
    unseen = 1.0 / (n_train + n_classes)
    every = np.full((len(log_p), n_classes), np.log(unseen))
    every[:, known] = log_p + np.log1p(-n_unseen * unseen)
    return every


def _stated(estimator: Any, X: Array) -> Array:
    """Log-probabilities of the classes that were fitted; a pipeline states no distribution."""
    if isinstance(estimator, classification.Classifier):
        return estimator.predict_dist(X).log_probabilities()
    p = np.maximum(estimator.predict_proba(X), SMALLEST)
    return distributions.Categorical.from_logits(np.log(p)).log_probabilities()


def _numbers(dist: Any, y: Array, rows: NDArray[np.intp], rng: np.random.Generator) -> HeldOut:
    """What is said of numbers."""
    mean, log_prob = np.asarray(dist.mean()), _possible(dist.log_prob(y))
    pit = np.asarray(dist.cdf(y))
    if isinstance(dist, distributions.Counts):  # spread over the step of a count, as if measured
        pit = pit - rng.random(len(y)) * dist.pmf(y)
    if not np.all(np.isfinite(mean)):
        raise ValueError("Some predictions are not finite numbers.")
    return HeldOut(rows, y, log_prob, mean, np.clip(pit, 0.0, 1.0))


def _classes(
    log_p: Array, y: NDArray[Any], rows: NDArray[np.intp], classes: tuple[str, ...]
) -> HeldOut:
    """What is said of classes."""
    places = y.astype(np.intp)
    return HeldOut(rows, places, _own(log_p, places), probabilities=np.exp(log_p), classes=classes)


def _own(log_p: Array, places: NDArray[np.intp]) -> Array:
    """The entry of each row at the class that came."""
    return _possible(np.take_along_axis(log_p, places[:, None], axis=1)[:, 0])


def _possible(log_prob: Array) -> Array:
    """Log-probabilities that can be averaged: what was said never to come costs a lot."""
    if np.any(np.isnan(log_prob)) or np.any(np.isposinf(log_prob)):
        raise ValueError("Some predictions give what came no probability that is a number.")
    return np.maximum(log_prob, _IMPOSSIBLE)


def _rmse(held_out: HeldOut) -> float:
    return float(np.sqrt(np.mean((held_out.y - held_out.mean) ** 2)))


def _coverage(held_out: HeldOut) -> float:
    """Share of rows within the central interval between the outermost levels."""
    pit = np.asarray(held_out.pit)
    return float(np.mean((pit >= LEVELS[0]) & (pit <= LEVELS[-1])))


def _calibration_error(held_out: HeldOut) -> float:
    """Mean distance of confidence and share of hits, over up to ten bins of as many rows."""
    stated, right = confidence(held_out), is_right(held_out)
    n_bins = int(np.clip(len(right) // _BIN_ROWS, 1, _MOST_BINS))
    bins = np.array_split(np.argsort(stated, kind="stable"), n_bins)
    gaps = [len(b) * abs(np.mean(stated[b]) - np.mean(right[b])) for b in bins]
    return float(np.sum(gaps) / len(right))
