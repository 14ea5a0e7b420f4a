"""Every candidate on the same parts of a table, ranked by what was said of rows held out."""

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from posterity import tables
from posterity.comparison import budget as budgets
from posterity.comparison import folds as parting
from posterity.comparison import measuring, trial
from posterity.comparison.candidates import Candidate
from posterity.comparison.importance import MeasuredRows, rank_inputs
from posterity.comparison.results import Comparison, Importance, Result, Skipped
from posterity.comparison.trial import Trial
from posterity.comparison.verdict import verdict

_IMPORTANCE = 10.0  # seconds; only models that answer slowly need them
_SHARE = 0.5  # of the time left, for one model before others: a dear one leaves them some

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
) -> Comparison:
    """Measure models on rows they have not seen, rank them, and fit the best to all rows.

    Rows are dealt at random into parts, the same for all, as many of each class in every part. A
    model is fitted to all parts but one and predicts that one, in turn; so is what encodes the
    columns. A model that fails is left out with what it said. A class that no fitted row had is
    given the probability 1 / (rows + classes) by every model; a value that was called impossible
    counts as the smallest number there is, 2e-308.

    Parameters
    ----------
    frame : polars or pandas DataFrame, or dict of columns
        The table with its target; rows without one are left out.
    schema : Schema
        From ``tables.infer``.
    candidates : sequence of Candidate
        From the cheap to the dear: ``(*baselines(task), *candidates(task, n_rows, n_columns))``.
    folds : int, default=5
        Parts; fewer where there are fewer than twice as many rows.
    seed : int, default=0
        Of how rows are dealt.
    budget : float, optional
        Seconds. What cannot end within half of those left, or the last within all, is stopped or
        not begun; but the first baseline, the first model, and the winner's fit to all rows take
        what they take.
    report : callable, optional
        Called as ``report(done, total, name)`` before each fit, and once at the end.

    Returns
    -------
    Comparison
        ``log_evidence`` is that of a fit to all rows, of models whose evidence can be held against
        others', as far as the budget goes.

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
    ground = Ground(
        schema,
        parting.split(table, schema, folds, seed),
        lambda estimator: tables.TableModel(estimator, schema).fit(table),
    )
    return ranked_on(ground, candidates, clock, seed=seed, report=report)


@dataclass(frozen=True, eq=False)
class Ground:
    """What models are measured on: parts of a table, and a way to fit one to all of it."""

    schema: tables.Schema
    parts: parting.Parts
    fitted: Callable[[Any], tables.TableModel]


def ranked_on(
    ground: Ground,
    candidates: Sequence[Candidate],
    clock: budgets.Clock,
    *,
    seed: int,
    report: Progress | None,
) -> Comparison:
    """Every candidate on the same ground, and the best fitted to all of it."""
    _refuse_repeated([one.name for one in candidates])
    parts = ground.parts
    total = len(candidates) * len(parts.folds) + 1
    tell: Progress = report or _silent
    trials, skipped = _measured(candidates, parts, clock, seed, tell)
    if not any(not one.result.baseline for one in trials):
        raise tables.TableError(_no_model(skipped))
    winner, results = _on_all_rows(trials, ground, clock, lambda name: tell(total - 1, total, name))
    ranked = behind_best(results)
    tell(total, total, "")
    return Comparison(
        schema=ground.schema,
        results=ranked,
        skipped=tuple(skipped),
        folds=len(parts.folds),
        seed=seed,
        n_rows=parts.n_rows,
        seconds=clock.spent(),
        winner=winner,
        verdict=verdict(ranked, order=[one.name for one in candidates]),
        importance=_importance(trials, parts, clock, seed),
    )


def _importance(
    trials: Sequence[Trial], parts: parting.Parts, clock: budgets.Clock, seed: int
) -> tuple[Importance, ...]:
    """Of the inputs to the winner, each fold's estimator on the rows it was not fitted to."""
    best = next(one for one in trials if not one.result.baseline)
    measured = [
        MeasuredRows(
            estimator, fold.X_test, fold.y_test, fold.blocks, len(parts.classes), len(fold.y_train)
        )
        for estimator, fold in zip(best.estimators, parts.folds, strict=True)
    ]
    return rank_inputs(measured, seed=seed, max_seconds=min(_IMPORTANCE, clock.left()))


def behind_best(results: Sequence[Result]) -> tuple[Result, ...]:
    """The best log score first, and how far every other is behind it, row by row."""
    ranked = sorted(results, key=lambda one: -one.log_score)
    best = ranked[0].held_out.log_prob
    return tuple(
        replace(
            one,
            behind=float((best - one.held_out.log_prob).mean()),
            behind_error=measuring.standard_error(best - one.held_out.log_prob),
        )
        for one in ranked
    )


def _measured(
    candidates: Sequence[Candidate],
    parts: parting.Parts,
    clock: budgets.Clock,
    seed: int,
    tell: Progress,
) -> tuple[list[Trial], list[Skipped]]:
    """Every candidate in turn; the first of either kind whatever it takes."""
    trials: list[Trial] = []
    skipped: list[Skipped] = []
    n_folds = len(parts.folds)
    for place, one in enumerate(candidates):
        is_first = all(done.result.baseline != one.baseline for done in trials)
        share = _SHARE if place < len(candidates) - 1 else 1.0
        seconds = math.inf if is_first else share * (clock.left() - _reserve(trials))
        if seconds <= 0.0:
            skipped.append(Skipped(one.name, "out of time, not begun."))
            continue

        def step(fold: int, name: str = one.name, begun: int = place * n_folds) -> None:
            tell(begun + fold, len(candidates) * n_folds + 1, name)

        found = trial.measure(one, parts, seconds=seconds, seed=seed, step=step)
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            trials = _best_first([*trials, found])
    return trials, skipped


def _best_first(trials: Sequence[Trial]) -> list[Trial]:
    """By log score; only the best of the family keeps its distributions and estimators."""
    ranked = sorted(trials, key=lambda one: -one.result.log_score)
    first = next((one for one in ranked if not one.result.baseline), None)
    return [one if one is first else replace(one, said=None, estimators=()) for one in ranked]


def _reserve(trials: Sequence[Trial]) -> float:
    """Seconds to be kept for fitting the best so far to all rows."""
    family = (one.result for one in trials if not one.result.baseline)
    best = next(family, None)
    return 0.0 if best is None else _whole(best)


def _whole(result: Result) -> float:
    """Seconds that a fit to all rows may take."""
    return trial.WHOLE * (result.fit_seconds or 0.0)


def _on_all_rows(
    trials: Sequence[Trial],
    ground: Ground,
    clock: budgets.Clock,
    tell: Callable[[str], None],
) -> tuple[tables.TableModel, list[Result]]:
    """The winner on all rows, and the evidence of each model that has one to be compared."""
    results = [one.result for one in trials]
    first = next(place for place, one in enumerate(results) if not one.baseline)
    tell(results[first].name)
    try:
        winner, results[first] = _fitted(trials[first], ground)
    except ValueError as error:
        raise tables.TableError(
            f"{results[first].name!r} predicts best and could be fitted to parts of the table, but "
            f"not to all of it; compare without it. It says: {trial.first_sentence(error)}"
        ) from error
    for place, one in enumerate(trials):
        time_will_do = _whole(one.result) < clock.left()
        if place != first and one.has_evidence and time_will_do:
            tell(one.result.name)
            with contextlib.suppress(ValueError):  # its scores stand without an evidence
                _, results[place] = _fitted(one, ground)
    return winner, results


def _fitted(one: Trial, ground: Ground) -> tuple[tables.TableModel, Result]:
    """The model of all rows, and the result with its evidence and size; quantiles of the best."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ground.fitted(one.candidate.estimator)
    said = (*one.result.warnings, *(str(warning.message) for warning in caught))
    evidence = trial.comparable_evidence(model.estimator_)
    held_out = one.result.held_out if one.said is None else one.said.with_quantiles()
    return model, replace(
        one.result,
        held_out=held_out,
        log_evidence=None if evidence is None else float(evidence),
        n_bytes=trial.size(model),
        warnings=tuple(dict.fromkeys(said)),
    )


def _refuse_repeated(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two candidates are called {name!r}; give each a name of its own.")


def _no_model(skipped: Sequence[Skipped]) -> str:
    """Why there is nothing to choose from."""
    reasons = " ".join(f"{one.name}: {one.why}" for one in skipped[:3])
    return f"None of the models could be fitted to this table. {reasons}".strip()


def _silent(done: int, total: int, name: str) -> None:
    """Nobody is watching."""
