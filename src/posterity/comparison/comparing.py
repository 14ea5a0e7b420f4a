"""Cross-validate candidates on the same folds of a table and rank them by log score."""

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from posterity import tables
from posterity.comparison import budget as budgets
from posterity.comparison import folds as parting
from posterity.comparison import measuring, trial
from posterity.comparison.candidates import Candidate
from posterity.comparison.dependence import find_dependence
from posterity.comparison.holdout import Holdout
from posterity.comparison.importance import MeasuredRows, rank_inputs, select_clusters
from posterity.comparison.results import Comparison, Importance, Result, Skipped
from posterity.comparison.trial import Trial
from posterity.comparison.verdict import verdict

_IMPORTANCE = 10.0  # seconds; only models that predict slowly need them
_SHARE = 0.5  # of the remaining time, for one model: a slow one leaves some for the others

Progress: TypeAlias = Callable[[int, int, str], None]


def compare(
    frame: Any,
    schema: tables.Schema,
    candidates: Sequence[Candidate],
    *,
    folds: int = 5,
    seed: int = 0,
    budget: float | None = None,
    report: Progress | None = None,
    holdout: Holdout | None = None,
) -> Comparison:
    """Score models by cross-validation, rank them, and fit the best one to all rows.

    All models use the same folds: random ones, stratified by class, unless rows depend on each
    other by time, group or place. The encoder of the columns is fitted
    to the training rows of each fold too. A model that fails is skipped, with its error message. A
    class without a training row gets the probability 1 / (rows + classes) from every model; the
    probability of a value that a model called impossible counts as 2e-308.

    Parameters
    ----------
    frame : polars or pandas DataFrame, or dict of columns
        The table with its target; rows without a target are ignored.
    schema : Schema
        From ``tables.infer``.
    candidates : sequence of Candidate
        Cheapest first: ``(*baselines(task), *candidates(task, n_rows, n_columns))``.
    folds : int, default=5
        Number of folds; fewer if a fold would have less than two rows, or every class fewer rows
        than there are folds.
    seed : int, default=0
        Random seed of the folds.
    budget : float, optional
        Time limit in seconds. A model that cannot finish within half of the remaining time (the
        last one: all of it) is stopped or skipped. The first baseline, the first model, and the
        fit of the winner to all rows are never stopped.
    report : callable, optional
        Called as ``report(done, total, name)`` before each fit, and once at the end.
    holdout : Holdout, optional
        Which rows are held out together, instead of ``folds`` and ``seed``. Default: rows that are
        later, of other groups or in other regions where the schema names such columns, else random
        ones.

    Returns
    -------
    Comparison
        ``log_evidence`` comes from a fit to all rows, for models whose evidence is comparable
        with that of others, as far as the budget allows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison, tables
    >>> x = np.linspace(0.0, 9.0, 40)
    >>> table = {"x": x, "y": 2.0 * x + np.random.default_rng(0).normal(size=40)}
    >>> models = comparison.candidates("regression", 40, 1, names=["linear", "tree"])
    >>> found = comparison.compare(table, tables.infer(table, "y"), models)
    >>> found.best.name
    'linear'
    """
    table, clock = tables.as_frame(frame), budgets.Clock(budget)
    holdout = holdout or Holdout.from_schema(schema, folds=folds, seed=seed)
    found = find_dependence(table, schema, seed=seed) if holdout.kind == "random" else ()
    ground = ComparisonTask(
        schema,
        parting.split_table(table, schema, holdout),
        lambda one: tables.TableModel(one.estimator, schema, one.view).fit(table),
        holdout,
        holdout.describe_scope(table, schema, found),
        tuple(one.sentence for one in found),
    )
    return rank_candidates(ground, candidates, clock, seed=seed, report=report)


@dataclass(frozen=True, eq=False)
class ComparisonTask:
    """The folds of a table, and a function that fits a candidate to all of its rows."""

    schema: tables.Schema
    parts: parting.TableFolds
    fitted: Callable[[Candidate], tables.TableModel]
    holdout: Holdout = field(default_factory=Holdout)
    scope: str = ""
    cautions: tuple[str, ...] = ()


def rank_candidates(
    ground: ComparisonTask,
    candidates: Sequence[Candidate],
    clock: budgets.Clock,
    *,
    seed: int,
    report: Progress | None,
) -> Comparison:
    """Score every candidate on the same folds, and fit the best one to all rows."""
    _refuse_repeated([one.name for one in candidates])
    parts = ground.parts
    total = len(candidates) * len(parts.folds) + 1
    tell: Progress = report or _ignore_progress
    trials, skipped = _score_candidates(candidates, parts, clock, seed, tell)
    if not any(not one.result.baseline for one in trials):
        raise tables.TableError(_no_model_message(skipped))
    winner, results = _fit_to_all_rows(
        trials, ground, clock, lambda name: tell(total - 1, total, name)
    )
    ranked = sort_results(results)
    tell(total, total, "")
    return Comparison(
        schema=ground.schema,
        results=ranked,
        skipped=tuple(skipped),
        folds=len(parts.folds),
        seed=seed,
        n_rows=parts.n_rows,
        seconds=clock.elapsed(),
        winner=winner,
        verdict=verdict(ranked, order=[one.name for one in candidates]),
        importance=_rank_winner_inputs(trials, parts, clock, seed),
        holdout=ground.holdout,
        scope=ground.scope,
        cautions=ground.cautions,
    )


def _rank_winner_inputs(
    trials: Sequence[Trial], parts: parting.TableFolds, clock: budgets.Clock, seed: int
) -> tuple[Importance, ...]:
    """Rank the inputs of the winner, with each fold's estimator on its held-out rows."""
    best = next(one for one in trials if not one.result.baseline)
    held_out = best.result.held_out
    folds = [
        fold.for_estimator(best.candidate.estimator)
        for fold in parts.as_seen(best.candidate.view).folds
    ]
    measured = [
        MeasuredRows(
            estimator,
            fold.X_test,
            fold.y_test,
            fold.blocks,
            len(parts.classes),
            len(fold.y_train),
            select_clusters(held_out, fold.rows),
        )
        for estimator, fold in zip(best.estimators, folds, strict=True)
    ]
    return rank_inputs(measured, seed=seed, max_seconds=min(_IMPORTANCE, clock.remaining()))


def sort_results(results: Sequence[Result]) -> tuple[Result, ...]:
    """Sort results by log score, and compare each with the best one row by row."""
    ranked = sorted(results, key=lambda one: -one.log_score)
    best = ranked[0].held_out.log_prob
    return tuple(
        replace(
            one,
            behind=float((best - one.held_out.log_prob).mean()),
            behind_error=measuring.standard_error(
                best - one.held_out.log_prob, one.held_out.clusters
            ),
        )
        for one in ranked
    )


def _score_candidates(
    candidates: Sequence[Candidate],
    parts: parting.TableFolds,
    clock: budgets.Clock,
    seed: int,
    tell: Progress,
) -> tuple[list[Trial], list[Skipped]]:
    """Score the candidates in turn; the first baseline and the first model have no time limit."""
    trials: list[Trial] = []
    skipped: list[Skipped] = []
    n_folds = len(parts.folds)
    for place, one in enumerate(candidates):
        is_first = all(done.result.baseline != one.baseline for done in trials)
        share = _SHARE if place < len(candidates) - 1 else 1.0
        seconds = (
            math.inf if is_first else share * (clock.remaining() - _seconds_to_reserve(trials))
        )
        if seconds <= 0.0:
            skipped.append(Skipped(one.name, "out of time, not started."))
            continue

        def step(fold: int, name: str = one.name, begun: int = place * n_folds) -> None:
            tell(begun + fold, len(candidates) * n_folds + 1, name)

        found = trial.score_candidate(one, parts, seconds=seconds, seed=seed, step=step)
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            trials = _sort_trials([*trials, found])
    return trials, skipped


def _sort_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Sort trials by log score; only the best model keeps its distributions and estimators."""
    ranked = sorted(trials, key=lambda one: -one.result.log_score)
    first = next((one for one in ranked if not one.result.baseline), None)
    return [one if one is first else replace(one, said=None, estimators=()) for one in ranked]


def _seconds_to_reserve(trials: Sequence[Trial]) -> float:
    """Return the seconds to reserve for fitting the best model so far to all rows."""
    family = (one.result for one in trials if not one.result.baseline)
    best = next(family, None)
    return 0.0 if best is None else _seconds_of_full_fit(best)


def _seconds_of_full_fit(result: Result) -> float:
    """Estimate the seconds of a fit to all rows."""
    return trial.WHOLE * (result.fit_seconds or 0.0)


def _fit_to_all_rows(
    trials: Sequence[Trial],
    ground: ComparisonTask,
    clock: budgets.Clock,
    tell: Callable[[str], None],
) -> tuple[tables.TableModel, list[Result]]:
    """Fit the winner to all rows, and add the evidence of each model that has one."""
    results = [one.result for one in trials]
    first = next(place for place, one in enumerate(results) if not one.baseline)
    tell(results[first].name)
    try:
        winner, results[first] = _fit_candidate(trials[first], ground)
    except ValueError as error:
        raise tables.TableError(
            f"{results[first].name!r} predicts best in cross-validation but cannot be fitted to "
            f"the whole table: {trial.first_sentence(error)} Compare without it."
        ) from error
    for place, one in enumerate(trials):
        time_will_do = _seconds_of_full_fit(one.result) < clock.remaining()
        if place != first and one.has_evidence and time_will_do:
            tell(one.result.name)
            with contextlib.suppress(ValueError):  # its scores remain valid without an evidence
                _, results[place] = _fit_candidate(one, ground)
    return winner, results


def _fit_candidate(one: Trial, ground: ComparisonTask) -> tuple[tables.TableModel, Result]:
    """Fit to all rows; return the model, and its result with evidence, size and quantiles."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ground.fitted(one.candidate)
    said = (*one.result.warnings, *(str(warning.message) for warning in caught))
    evidence = trial.comparable_evidence(model.estimator_)
    held_out = one.result.held_out if one.said is None else one.said.with_quantiles()
    return model, replace(
        one.result,
        held_out=held_out,
        log_evidence=None if evidence is None else float(evidence),
        n_bytes=trial.saved_size(model),
        warnings=tuple(dict.fromkeys(said)),
    )


def _refuse_repeated(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two candidates are named {name!r}; give each a different name.")


def _no_model_message(skipped: Sequence[Skipped]) -> str:
    """Say why no model could be scored."""
    reasons = " ".join(f"{one.name}: {one.why}" for one in skipped[:3])
    return f"No model could be fitted to this table. {reasons}".strip()


def _ignore_progress(done: int, total: int, name: str) -> None:
    """Report no progress."""
