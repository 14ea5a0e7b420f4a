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
from posterity.comparison.folds import Fold, Parts
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
    said: measuring.Said | None  # kept for the best only
    estimators: tuple[Any, ...] = ()  # one per fold; kept for the best only


@dataclass(frozen=True, eq=False)
class _Run:
    """The result of one candidate on one fold."""

    estimator: Any
    said: measuring.Said
    fit_seconds: float
    predict_seconds: float


def measure(
    candidate: Candidate,
    parts: Parts,
    *,
    seconds: float,
    seed: int,
    step: Callable[[int], None],
) -> Trial | Skipped:
    """Score a candidate within a time limit, or say why not; an error never ends the comparison."""
    if why := _unsuited(candidate.target, parts.y):
        return Skipped(candidate.name, why)
    clock = budget.Clock(max(seconds, 1e-3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with budget.at_most(seconds):
                if seconds < math.inf and not arrays.is_collection(parts.folds[0].X_train):
                    _compile(candidate, parts, seed)
                runs = _all_folds(candidate, parts, clock, seed, step)
        except budget.OutOfTime:
            return Skipped(candidate.name, f"out of time, stopped after {_words(seconds)}.")
        except Exception as error:  # any error is reported, and the other models continue
            return Skipped(candidate.name, first_sentence(error))
    if isinstance(runs, str):
        return Skipped(candidate.name, runs)
    warned = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return _trial(candidate, runs, warned)


def size(model: Any) -> int | None:
    """Return the size of the saved model in bytes, or None if it cannot be saved."""
    try:
        return persistence.size(model)
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


def _compile(candidate: Candidate, parts: Parts, seed: int) -> None:
    """Fit to a few rows, so that just-in-time compilation does not count as fitting time."""
    fold = parts.folds[0]
    groups = fold.y_train if parts.classes else np.zeros(len(fold.y_train))
    rows = np.concatenate([np.flatnonzero(groups == g)[:_FEW] for g in np.unique(groups)])
    small = replace(
        fold,
        X_train=fold.X_train[rows],
        y_train=fold.y_train[rows],
        X_test=fold.X_test[:2],
        y_test=fold.y_test[:2],
        rows=fold.rows[:2],
    )
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        _run(candidate, small, parts.classes, seed)


def _all_folds(
    candidate: Candidate, parts: Parts, clock: budget.Clock, seed: int, step: Callable[[int], None]
) -> list[_Run] | str:
    """Run every fold, or say why not: after each fold, check whether the time will suffice."""
    runs: list[_Run] = []
    seconds: list[float] = []
    for number, fold in enumerate(parts.folds):
        step(number)
        start = clock.spent()
        runs.append(_run(candidate, fold, parts.classes, seed))
        seconds.append(clock.spent() - start)
        if not _time_will_do(seconds, len(parts.folds), clock.left()):
            ahead = _ahead(seconds, len(parts.folds))
            return (
                f"out of time: it needed about {_words(ahead)} more, with {_words(clock.left())} "
                "left."
            )
    return runs


def _ahead(seconds: list[float], n_folds: int) -> float:
    """Estimate the remaining seconds from the fastest fold, as the first one may compile."""
    return (n_folds - len(seconds) + WHOLE) * min(seconds)


def _time_will_do(seconds: list[float], n_folds: int, left: float) -> bool:
    """Return whether the remaining time suffices; after the first fold, for two more like it."""
    if len(seconds) == 1:
        return 2.0 * seconds[0] <= left
    return _ahead(seconds, n_folds) <= left


def _run(candidate: Candidate, fold: Fold, classes: tuple[str, ...], seed: int) -> _Run:
    """Fit to the training rows of a fold and predict its test rows."""
    n, start = len(fold.y_train), time.perf_counter()
    with linalg.threads.limited(n):
        estimator = clone(candidate.estimator).fit(fold.X_train, fold.y_train)
        fitted = time.perf_counter()
        said = measuring.said(
            estimator, fold.X_test, fold.y_test, fold.rows, classes=classes, n_train=n, seed=seed
        )
    per_row = (time.perf_counter() - fitted) / len(fold.y_test)
    return _Run(estimator, said, fitted - start, 1_000 * per_row)


def _trial(candidate: Candidate, runs: list[_Run], warned: tuple[str, ...]) -> Trial:
    """Combine the folds; times are medians, as the first fold may compile."""
    costs = measuring.Costs(
        fit_seconds=float(np.median([run.fit_seconds for run in runs])),
        predict_seconds=float(np.median([run.predict_seconds for run in runs])),
        n_bytes=size(runs[-1].estimator),
        warnings=warned,
    )
    said = measuring.together([run.said for run in runs])
    result = measuring.result(
        candidate.name, candidate.code, said.held_out, costs, baseline=candidate.baseline
    )
    has_evidence = comparable_evidence(runs[-1].estimator) is not None
    return Trial(candidate, result, has_evidence, said, tuple(run.estimator for run in runs))


def _unsuited(target: Target, y: NDArray[Any]) -> str | None:
    """Say why a model does not suit these targets; None if it does."""
    if target == "positive" and np.min(y) <= 0.0:
        return f"needs positive targets, and the smallest is {np.min(y):g}."
    if target == "counts" and (np.min(y) < 0.0 or np.any(y != np.floor(y))):
        return "needs counts, and the targets are not whole numbers from 0 on."
    return None


def _words(seconds: float) -> str:
    return f"{max(round(seconds, 1), 0.0):g} s" if seconds < 9.95 else f"{seconds:.0f} s"
