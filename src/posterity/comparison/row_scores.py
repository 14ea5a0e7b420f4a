"""Predict held-out rows and score the predictions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import distributions, models, tables
from posterity.arrays import Array
from posterity.comparison.results import LEVELS, HeldOut, Result
from posterity.scoring import calibration

SMALLEST = 1e-15
"""Smallest probability in scikit-learn's log_loss."""

_IMPOSSIBLE = float(np.log(np.finfo(np.float64).tiny))  # replaces log(0)
_ROWS = 4096  # predicted in one call
_BIN_ROWS, _MOST_BINS = 30, 10


@dataclass(frozen=True, eq=False)
class Costs:
    """Time and size of an estimator, its evidence, and the warnings of its fit."""

    fit_seconds: float | None = None
    predict_seconds: float = 0.0
    n_bytes: int | None = None
    log_evidence: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BatchPredictions:
    """Predictions for rows; for numbers also the distributions in batches, with their rows."""

    held_out: HeldOut
    pieces: tuple[tuple[NDArray[np.intp], Any], ...] = ()

    def with_quantiles(self) -> HeldOut:
        """Add the quantiles, which for some distributions are the most expensive part."""
        if not self.pieces:
            return self.held_out
        quantiles = np.empty((len(self.held_out.rows), len(LEVELS)))
        for rows, dist in self.pieces:
            values = np.stack([dist.icdf(level) for level in LEVELS], axis=-1)
            quantiles[np.searchsorted(self.held_out.rows, rows)] = values
        return replace(self.held_out, quantiles=quantiles)


def encode_known_rows(
    model: tables.TableModel, frame: Any, purpose: str
) -> tuple[Array, NDArray[Any], NDArray[np.intp]]:
    """Return the encoded rows of a table that have a target, the targets, and their positions."""
    table = tables.as_frame(frame)
    y, has_target = model.encode_targets(table)
    rows = np.flatnonzero(has_target)
    if len(rows) < 2:
        raise tables.TableError(
            f"At least two rows with a value of {model.schema_.target!r} are needed to {purpose}; "
            f"this table has {len(rows)}."
        )
    return model.encode_inputs(table[rows]), y[rows], rows


def predict_rows(
    estimator: Any,
    X: Array,
    y: NDArray[Any],
    rows: NDArray[np.intp],
    *,
    classes: tuple[str, ...],
    n_train: int,
    seed: int = 0,
    clusters: NDArray[Any] | None = None,
) -> BatchPredictions:
    """Predict rows with known targets: numbers, or positions in ``classes``."""
    if classes:
        log_p = [
            class_log_probabilities(estimator, X[p], len(classes), n_train)
            for p in split_into_batches(X)
        ]
        answers = _evaluate_classes(np.concatenate(log_p), y, rows, classes)
        return BatchPredictions(replace(answers, clusters=clusters))
    rng = np.random.default_rng(seed)
    pieces = [(p, estimator.predict_dist(X[p])) for p in split_into_batches(X)]
    parts = [_evaluate_numbers(dist, y[p], rows[p], rng) for p, dist in pieces]
    held_out = replace(combine_held_out(parts), clusters=clusters)
    return BatchPredictions(held_out, tuple((rows[p], dist) for p, dist in pieces))


def log_prob(estimator: Any, X: Array, y: NDArray[Any], *, n_classes: int, n_train: int) -> Array:
    """Return only the log density or log probability of the observed values."""
    if not n_classes:
        return np.concatenate(
            [
                _replace_impossible(estimator.predict_dist(X[p]).log_prob(y[p]))
                for p in split_into_batches(X)
            ]
        )
    log_p = [
        class_log_probabilities(estimator, X[p], n_classes, n_train) for p in split_into_batches(X)
    ]
    return _select_observed(np.concatenate(log_p), y.astype(np.intp))


def split_into_batches(X: Array) -> list[slice]:
    """Split rows into batches that are predicted in one call."""
    return [slice(start, start + _ROWS) for start in range(0, len(X), _ROWS)]


def combine_folds(parts: Sequence[BatchPredictions]) -> BatchPredictions:
    """Combine the predictions for several folds."""
    held_out = combine_held_out([part.held_out for part in parts])
    return BatchPredictions(held_out, tuple(piece for part in parts for piece in part.pieces))


def combine_held_out(parts: Sequence[HeldOut]) -> HeldOut:
    """Combine held-out rows of several folds, in the order of the table."""
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")

    def join(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)[order]

    names = (
        *("rows", "y", "log_prob", "mean", "pit", "quantiles", "probabilities"),
        *("clusters", "folds"),
    )
    return HeldOut(**{name: join(name) for name in names}, classes=parts[0].classes)


def score_predictions(
    name: str, code: str, held_out: HeldOut, costs: Costs, *, baseline: bool
) -> Result:
    """Compute the scores of predictions; differences from the best model are filled in later."""
    numbers = held_out.probabilities is None
    return Result(
        name=name,
        code=code,
        baseline=baseline,
        log_score=float(np.mean(held_out.log_prob)),
        standard_error=standard_error(held_out.log_prob, held_out.clusters),
        behind=0.0,
        behind_error=0.0,
        rmse=_rmse(held_out) if numbers else None,
        accuracy=None if numbers else float(np.mean(is_correct(held_out))),
        coverage=float(np.mean(is_inside(held_out))) if numbers else None,
        calibration=calibration.distance_from_uniform(np.asarray(held_out.pit))
        if numbers
        else _group_by_confidence(held_out).error,
        log_evidence=costs.log_evidence,
        fit_seconds=costs.fit_seconds,
        predict_seconds=costs.predict_seconds,
        n_bytes=costs.n_bytes,
        held_out=held_out,
        warnings=costs.warnings,
    )


def standard_error(values: Array, clusters: NDArray[Any] | None = None) -> float:
    """Return the standard error of the mean of independent values, or of independent clusters.

    The deviations of a cluster are summed first, so values that depend on each other within it may
    do so in any way.
    """
    n = len(values)
    if clusters is None:
        return float(np.std(values, ddof=1) / np.sqrt(n))
    place = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(place, weights=values - np.mean(values))
    n_clusters = len(sums)
    if n_clusters < 2:
        return float("inf")
    return float(np.sqrt(n_clusters / (n_clusters - 1.0) * np.sum(sums**2)) / n)


def compare_rows(ahead: HeldOut, behind: HeldOut) -> tuple[Array, NDArray[Any] | None]:
    """Return the differences of log probabilities on rows that both predicted, and clusters."""
    if np.array_equal(ahead.rows, behind.rows):
        return ahead.log_prob - behind.log_prob, ahead.clusters
    _, own, other = np.intersect1d(ahead.rows, behind.rows, return_indices=True)
    clusters = None if ahead.clusters is None else ahead.clusters[own]
    return ahead.log_prob[own] - behind.log_prob[other], clusters


def compute_lead(ahead: HeldOut, behind: HeldOut) -> tuple[float, float]:
    """Return the mean difference of log probabilities on common rows, and its standard error."""
    rows, clusters = compare_rows(ahead, behind)
    return float(rows.mean()), standard_error(rows, clusters)


def count_effective_rows(held_out: HeldOut) -> float:
    """Return how many independent rows would show coverage as precisely as these do.

    As many as there are, unless rows of a cluster tend to be inside their intervals together.
    """
    n, clusters = len(held_out.y), held_out.clusters
    if clusters is None or held_out.pit is None:
        return float(n)
    inside, chance = is_inside(held_out).astype(np.float64), LEVELS[-1] - LEVELS[0]
    error = max(standard_error(inside, clusters), 1e-9)
    return float(np.clip(chance * (1.0 - chance) / error**2, len(np.unique(clusters)), n))


def confidence(held_out: HeldOut) -> Array:
    """Return the predicted probability of the most probable class of each row."""
    p: Any = held_out.probabilities
    return np.max(p, axis=1)


def is_correct(held_out: HeldOut) -> NDArray[np.bool_]:
    """Return whether the most probable class is the observed one."""
    return np.argmax(np.asarray(held_out.probabilities), axis=1) == held_out.y


def is_inside(held_out: HeldOut) -> NDArray[np.bool_]:
    """Return whether each row is inside the interval between the outermost levels."""
    pit = np.asarray(held_out.pit)
    return (pit >= LEVELS[0]) & (pit <= LEVELS[-1])


def class_log_probabilities(estimator: Any, X: Array, n_classes: int, n_train: int) -> Array:
    """Return log-probabilities of all classes, (n, C), including those without a training row.

    Each of the latter gets 1 / (n_train + C) from every model, and the others share the rest: a
    class that did not occur in n_train rows is rare, but not impossible.
    """
    log_p = log_probabilities(estimator, X)
    known = np.asarray(estimator.classes_, dtype=np.intp)
    n_unseen = n_classes - len(known)
    if not n_unseen:
        return log_p
    unseen = 1.0 / (n_train + n_classes)
    every = np.full((len(log_p), n_classes), np.log(unseen))
    every[:, known] = log_p + np.log1p(-n_unseen * unseen)
    return every


def log_probabilities(estimator: Any, X: Array) -> Array:
    """Return log-probabilities of the fitted classes; a pipeline has no ``predict_dist``."""
    if isinstance(estimator, models.Classifier):
        return estimator.predict_dist(X).log_probabilities()
    p = np.maximum(estimator.predict_proba(X), SMALLEST)
    return distributions.Categorical.from_logits(np.log(p)).log_probabilities()


def _group_by_confidence(held_out: HeldOut) -> calibration.ProbabilityBins:
    """Group rows of classes by the probability of their most probable class."""
    stated, right = confidence(held_out), is_correct(held_out)
    n_bins = int(np.clip(len(right) // _BIN_ROWS, 1, _MOST_BINS))
    return calibration.ProbabilityBins.from_rows(stated, right, n_bins)


def _evaluate_numbers(
    dist: Any, y: Array, rows: NDArray[np.intp], rng: np.random.Generator
) -> HeldOut:
    """Evaluate distributions of numbers at the observed values."""
    mean, log_prob = np.asarray(dist.mean()), _replace_impossible(dist.log_prob(y))
    pit = np.asarray(dist.cdf(y))
    if isinstance(dist, distributions.CountDistribution):  # randomised over the step of the cdf
        pit = pit - rng.random(len(y)) * dist.pmf(y)
    if not np.all(np.isfinite(mean)):
        raise ValueError("Some predictions are not finite numbers.")
    return HeldOut(rows, y, log_prob, mean, np.clip(pit, 0.0, 1.0))


def _evaluate_classes(
    log_p: Array, y: NDArray[Any], rows: NDArray[np.intp], classes: tuple[str, ...]
) -> HeldOut:
    """Evaluate class probabilities at the observed classes."""
    places = y.astype(np.intp)
    return HeldOut(
        rows, places, _select_observed(log_p, places), probabilities=np.exp(log_p), classes=classes
    )


def _select_observed(log_p: Array, places: NDArray[np.intp]) -> Array:
    """Return the entry of each row at its observed class."""
    return _replace_impossible(np.take_along_axis(log_p, places[:, None], axis=1)[:, 0])


def _replace_impossible(log_prob: Array) -> Array:
    """Replace log-probabilities of minus infinity by a large negative number."""
    if np.any(np.isnan(log_prob)) or np.any(np.isposinf(log_prob)):
        raise ValueError("The predicted density of some observed values is NaN or infinite.")
    return np.maximum(log_prob, _IMPOSSIBLE)


def _rmse(held_out: HeldOut) -> float:
    return float(np.sqrt(np.mean((held_out.y - held_out.mean) ** 2)))
