"""Run one candidate on the folds of a table within a time limit."""

import contextlib
import statistics
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import arrays, linalg, persistence, tables
from posterity.comparison import budget, row_scores, stacks
from posterity.comparison.candidate import Candidate
from posterity.comparison.folds import Fold, TableFolds
from posterity.comparison.results import HeldOut, Result
from posterity.models import Target

_FEW = 20  # rows, of each class where there are classes
_MOST_KEPT = 20_000  # training rows of a fold whose estimator is kept beside those of later folds
_WHOLE = 2.0  # estimated time of a fit to all rows, in fits to one fold


@dataclass(frozen=True, eq=False)
class FoldRun:
    """The result of one candidate on one fold; None for an estimator that is not kept."""

    estimator: Any
    said: row_scores.BatchPredictions
    fit_seconds: float
    predict_seconds: float  # for 1,000 rows

    @property
    def seconds(self) -> float:
        """Time of the fit and the prediction."""
        return self.fit_seconds + 1e-3 * self.predict_seconds * len(self.said.held_out.rows)


@dataclass(eq=False)
class Trial:
    """A candidate, the folds that it has run, and why it runs no more."""

    candidate: Candidate
    runs: list[FoldRun] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    stopped: str = ""  # why no further folds are run, although some were
    failed: str = ""  # why it has no scores

    @property
    def is_running(self) -> bool:
        """Whether further folds may be run."""
        return not self.stopped and not self.failed

    @property
    def held_out(self) -> HeldOut:
        """Predictions for the rows of all folds that were run."""
        return row_scores.combine_held_out([run.said.held_out for run in self.runs])

    def mean_of_folds(self, n: int) -> float:
        """Return the mean log probability of the observed values in the first n folds."""
        return float(np.mean(np.concatenate([run.said.held_out.log_prob for run in self.runs[:n]])))

    def seconds_of_fold(self) -> float:
        """Estimate the time of one more fold from the fastest one, as the first may compile."""
        return min(run.seconds for run in self.runs)

    def seconds_of_full_fit(self) -> float:
        """Estimate the time of a fit to all rows."""
        return _WHOLE * statistics.median_low(run.fit_seconds for run in self.runs)

    def lead_over(self, other: "Trial") -> tuple[float, float, int]:
        """Return the mean lead in common folds, its standard error and the number of rows."""
        n = min(len(self.runs), len(other.runs))
        own, its = (
            row_scores.combine_held_out([run.said.held_out for run in one.runs[:n]])
            for one in (self, other)
        )
        return *row_scores.compute_lead(own, its), len(own.rows)

    def drop_estimators(self) -> None:
        """Drop the fitted estimators of all folds."""
        self.runs = [replace(run, estimator=None) for run in self.runs]

    def release_memory(self) -> None:
        """Drop the fitted estimators and distributions of a model that cannot be chosen."""
        self.drop_estimators()
        self.runs = [replace(run, said=replace(run.said, pieces=())) for run in self.runs]

    def summarise(self) -> Result:
        """Return the scores over all folds that were run; times are medians, the lower of two."""
        sizes = [saved_size(run.estimator) for run in self.runs[-1:] if run.estimator is not None]
        costs = row_scores.Costs(
            fit_seconds=statistics.median_low(run.fit_seconds for run in self.runs),
            predict_seconds=statistics.median_low(run.predict_seconds for run in self.runs),
            n_bytes=sizes[0] if sizes else None,
            warnings=tuple(dict.fromkeys(self.warned)),
        )
        one = self.candidate
        scored = row_scores.score_predictions(
            one.name, one.code, self.held_out, costs, baseline=one.baseline
        )
        return replace(
            scored,
            folds=len(self.runs),
            stopped=self.stopped,
            weights=stacks.list_weights(one.estimator),
        )

    def has_evidence(self) -> bool:
        """Return whether there is a log evidence that is comparable with that of others."""
        return comparable_evidence(self.runs[-1].estimator) is not None


def run_next_fold(
    one: Trial, parts: TableFolds, *, seconds: float, seed: int, warm_up: bool = False
) -> None:
    """Run the next fold within a time limit; an error never ends the comparison."""
    number = len(one.runs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fold = parts.folds[number].for_estimator(one.candidate.estimator)
            fold = fold.as_seen(one.candidate.view)
            if len(fold.y_train) > _MOST_KEPT:
                one.drop_estimators()  # two would be in memory, and the last one is enough
            with budget.limit_time(seconds):
                if warm_up and not arrays.is_collection(fold.X_train):
                    _warm_up(one.candidate, fold, parts.classes, seed)
                one.runs.append(_run_fold(one.candidate, fold, number, parts.classes, seed))
        except budget.OutOfTime:
            _stop(one, f"out of time, stopped after {_format_seconds(seconds)}", parts)
        except Exception as error:  # any error is reported, and the other models continue
            one.failed = first_sentence(error)
    one.warned += [str(warning.message) for warning in caught]


def stop_early(one: Trial, why: str, parts: TableFolds) -> None:
    """Run no more folds of a model, and keep the scores of those that it has run."""
    n = len(one.runs)
    if n:
        one.stopped = f"{why} after {n} of {len(parts.folds)} folds."
    else:
        one.failed = f"{why}, not started."


def _stop(one: Trial, why: str, parts: TableFolds) -> None:
    if one.runs:
        stop_early(one, "out of time", parts)
    else:
        one.failed = f"{why}."


def combine_quantiles(one: Trial) -> HeldOut:
    """Return all predictions with their quantiles, which can take longer than a fit."""
    return row_scores.combine_folds([run.said for run in one.runs]).with_quantiles()


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
    learned = tables.strip_exposure(estimator)
    is_sparse = hasattr(learned, "precision_")
    return None if is_sparse else getattr(learned, "log_evidence_", None)


def _warm_up(candidate: Candidate, fold: Fold, classes: tuple[str, ...], seed: int) -> None:
    """Fit to a few rows, so that just-in-time compilation does not count as fitting time."""
    groups = fold.y_train if classes else np.zeros(len(fold.y_train))
    rows = np.concatenate([np.flatnonzero(groups == g)[:_FEW] for g in np.unique(groups)])
    small = replace(
        fold,
        X_train=fold.X_train[rows],
        y_train=fold.y_train[rows],
        X_test=fold.X_test[:2],
        y_test=fold.y_test[:2],
        rows=fold.rows[:2],
        clusters=None,
        together=None if fold.together is None else fold.together[rows],
    )
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        _run_fold(candidate, small, 0, classes, seed)


def _run_fold(
    candidate: Candidate, fold: Fold, number: int, classes: tuple[str, ...], seed: int
) -> FoldRun:
    """Fit to the training rows of a fold and predict its test rows."""
    n, start = len(fold.y_train), budget.read_clock()
    with linalg.threads.limit_threads(n):
        estimator = tables.fit_with_groups(
            candidate.estimator, fold.X_train, fold.y_train, fold.together, exposed=fold.exposed
        )
        fitted = budget.read_clock()
        said = row_scores.predict_rows(
            estimator,
            fold.X_test,
            fold.y_test,
            fold.rows,
            classes=classes,
            n_train=n,
            seed=seed,
            clusters=fold.clusters,
        )
    held_out = replace(said.held_out, folds=np.full(len(fold.rows), number))
    per_row = (budget.read_clock() - fitted) / len(fold.y_test)
    return FoldRun(estimator, replace(said, held_out=held_out), fitted - start, 1_000 * per_row)


def describe_unsuitable_target(target: Target, y: NDArray[Any]) -> str | None:
    """Say why a model does not suit these targets; None if it does."""
    if target == "positive" and np.min(y) <= 0.0:
        return f"needs positive targets, and the smallest is {np.min(y):g}."
    if target == "counts" and (np.min(y) < 0.0 or np.any(y != np.floor(y))):
        return "needs counts, and the targets are not whole numbers from 0 on."
    return None


def _format_seconds(seconds: float) -> str:
    return f"{max(round(seconds, 1), 0.0):g} s" if seconds < 9.95 else f"{seconds:.0f} s"
