"""Cross-validate one candidate within a time limit."""

import contextlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from posterity import arrays, linalg, persistence
from posterity.comparison import budget, measuring
from posterity.comparison.candidates import Candidate
from posterity.comparison.folds import Fold, TableFolds
from posterity.comparison.members import Target
from posterity.comparison.results import Result, Skipped

_FEW = 20  # rows, of each class where there are classes
WHOLE = 2.0  # estimated time of a fit to all rows, in fits to one fold


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with its cross-validated scores."""

    candidate: Candidate
    result: Result
    has_evidence: bool  # comparable with that of other models
    said: measuring.BatchPredictions | None  # kept for the best only
    estimators: tuple[Any, ...] = ()  # one per fold; kept for the best only


@dataclass(frozen=True, eq=False)
class FoldRun:
    """The result of one candidate on one fold."""

    estimator: Any
    said: measuring.BatchPredictions
    fit_seconds: float
    predict_seconds: float


def score_candidate(
    candidate: Candidate,
    parts: TableFolds,
    *,
    seconds: float,
    seed: int,
    step: Callable[[int], None],
) -> Trial | Skipped:
    """Score a candidate within a time limit, or say why not; an error never ends the comparison."""
    if why := _unsuitable_target(candidate.target, parts.y):
        return Skipped(candidate.name, why)
    clock, parts = budget.Clock(max(seconds, 1e-3)), parts.as_seen(candidate.view)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with budget.limit_time(seconds):
                if seconds < math.inf and not arrays.is_collection(parts.folds[0].X_train):
                    _warm_up(candidate, parts, seed)
                runs = _run_folds(candidate, parts, clock, seed, step)
        except budget.OutOfTime:
            return Skipped(
                candidate.name, f"out of time, stopped after {_format_seconds(seconds)}."
            )
        except Exception as error:  # any error is reported, and the other models continue
            return Skipped(candidate.name, first_sentence(error))
    if isinstance(runs, str):
        return Skipped(candidate.name, runs)
    warned = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return _combine_runs(candidate, runs, warned)


def saved_size(model: Any) -> int | None:
    """Return the size of the saved model in bytes, or None if it cannot be saved."""
    try:
        return persistence.compute_size(model)
    except persistence.FileError:
        return None


def first_sentence(error: BaseException) -> str:
    """Return the first sentence of an error message."""
    text = " ".join(str(error).split()) or type(error).__name__
    said = (
        text
        if isinstance(error, ValueError) or not str(error)
        else f"{type(error).__name__}: {text}"
    )
    return said.split(". ")[0].rstrip(".") + "."


def comparable_evidence(estimator: Any) -> float | None:
    """Return the log evidence unless it is maximised over many precisions, as in sparse models."""
    is_sparse = hasattr(estimator, "precision_")
    return None if is_sparse else getattr(estimator, "log_evidence_", None)


def _warm_up(candidate: Candidate, parts: TableFolds, seed: int) -> None:
    """Fit to a few rows, so that just-in-time compilation does not count as fitting time."""
    fold = parts.folds[0].for_estimator(candidate.estimator)
    groups = fold.y_train if parts.classes else np.zeros(len(fold.y_train))
    rows = np.concatenate([np.flatnonzero(groups == g)[:_FEW] for g in np.unique(groups)])
    small = replace(
        fold,
        X_train=fold.X_train[rows],
        y_train=fold.y_train[rows],
        X_test=fold.X_test[:2],
        y_test=fold.y_test[:2],
        rows=fold.rows[:2],
        clusters=None,
    )
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        _run_fold(candidate, small, parts.classes, seed)


def _run_folds(
    candidate: Candidate,
    parts: TableFolds,
    clock: budget.Clock,
    seed: int,
    step: Callable[[int], None],
) -> list[FoldRun] | str:
    """Run every fold, or say why not: after each fold, check whether the time will suffice."""
    runs: list[FoldRun] = []
    seconds: list[float] = []
    for number, fold in enumerate(parts.folds):
        step(number)
        start = clock.elapsed()
        runs.append(_run_fold(candidate, fold, parts.classes, seed))
        seconds.append(clock.elapsed() - start)
        if not _has_enough_time(seconds, len(parts.folds), clock.remaining()):
            ahead = _seconds_remaining(seconds, len(parts.folds))
            return (
                f"out of time: it needed about {_format_seconds(ahead)} more, with "
                f"{_format_seconds(clock.remaining())} "
                "left."
            )
    return runs


def _seconds_remaining(seconds: list[float], n_folds: int) -> float:
    """Estimate the remaining seconds from the fastest fold, as the first one may compile."""
    return (n_folds - len(seconds) + WHOLE) * min(seconds)


def _has_enough_time(seconds: list[float], n_folds: int, left: float) -> bool:
    """Return whether the remaining time suffices; after the first fold, for two more like it."""
    if len(seconds) == 1:
        return 2.0 * seconds[0] <= left
    return _seconds_remaining(seconds, n_folds) <= left


def _run_fold(candidate: Candidate, fold: Fold, classes: tuple[str, ...], seed: int) -> FoldRun:
    """Fit to the training rows of a fold and predict its test rows."""
    fold = fold.for_estimator(candidate.estimator)
    n, start = len(fold.y_train), time.perf_counter()
    with linalg.threads.limit_threads(n):
        estimator = clone(candidate.estimator).fit(fold.X_train, fold.y_train)
        fitted = time.perf_counter()
        said = measuring.predict_rows(
            estimator,
            fold.X_test,
            fold.y_test,
            fold.rows,
            classes=classes,
            n_train=n,
            seed=seed,
            clusters=fold.clusters,
        )
    per_row = (time.perf_counter() - fitted) / len(fold.y_test)
    return FoldRun(estimator, said, fitted - start, 1_000 * per_row)


def _combine_runs(candidate: Candidate, runs: list[FoldRun], warned: tuple[str, ...]) -> Trial:
    """Combine the folds; times are medians, as the first fold may compile."""
    costs = measuring.Costs(
        fit_seconds=float(np.median([run.fit_seconds for run in runs])),
        predict_seconds=float(np.median([run.predict_seconds for run in runs])),
        n_bytes=saved_size(runs[-1].estimator),
        warnings=warned,
    )
    said = measuring.combine_folds([run.said for run in runs])
    result = measuring.score_predictions(
        candidate.name, candidate.code, said.held_out, costs, baseline=candidate.baseline
    )
    has_evidence = comparable_evidence(runs[-1].estimator) is not None
    return Trial(candidate, result, has_evidence, said, tuple(run.estimator for run in runs))


def _unsuitable_target(target: Target, y: NDArray[Any]) -> str | None:
    """Say why a model does not suit these targets; None if it does."""
    if target == "positive" and np.min(y) <= 0.0:
        return f"needs positive targets, and the smallest is {np.min(y):g}."
    if target == "counts" and (np.min(y) < 0.0 or np.any(y != np.floor(y))):
        return "needs counts, and the targets are not whole numbers from 0 on."
    return None


def _format_seconds(seconds: float) -> str:
    return f"{max(round(seconds, 1), 0.0):g} s" if seconds < 9.95 else f"{seconds:.0f} s"
