"""Cross-validate candidates on the same folds of a table and rank them by log score."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from posterity import tables
from posterity.comparison import budget as budgets
from posterity.comparison import choice, race, trial
from posterity.comparison import folds as parting
from posterity.comparison.candidate import Candidate
from posterity.comparison.dependence import find_dependence
from posterity.comparison.flags import Flagging, add_two_class_scores
from posterity.comparison.holdout import Dependence, Holdout
from posterity.comparison.permutation import MeasuredRows, rank_inputs
from posterity.comparison.race import Progress
from posterity.comparison.results import Comparison, Importance, Preference, Result, Skipped
from posterity.comparison.stack_trial import STACK, stack_models
from posterity.comparison.trial import Trial
from posterity.comparison.unnamed_groups import find_unnamed_groups
from posterity.comparison.verdict import verdict
from posterity.tables import roles

_IMPORTANCE = 10.0  # seconds; only models that predict slowly need them
_LEAST_IMPORTANCE = 1.0  # also after the end of a time limit: of few rows nothing would be certain
_EVIDENCE, _EVIDENCE_SHARE = 2.0, 0.1  # seconds, or share of the time so far, for all evidences


def compare(
    frame: Any,
    schema: tables.Schema,
    candidates: Sequence[Candidate],
    *,
    folds: int = 5,
    seed: int = 0,
    budget: float | None = None,
    report: Progress | None = None,
    prefer: Preference = "simple",
    holdout: Holdout | None = None,
    flagging: Flagging | None = None,
) -> Comparison:
    """Score models by cross-validation, rank them, and fit the chosen one to all rows.

    All models use the same folds: random ones, stratified by class, unless rows depend on each
    other by time, group or place. The encoder of the columns is fitted to the training rows of
    each fold too. Every model runs the first fold before any runs the
    second; from then on, models that are clearly behind run no further. Their mixture is compared
    as "stack", if there are 50 rows or more: its weights maximise the log score, and those in a
    fold are learned from the other folds. A model that fails is skipped, with its message. A
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
        Time limit in seconds. A first fold that takes more than half of the remaining time (that
        of the last model: all of it) is stopped, and later folds are run while time remains: what
        a model has finished counts. The first fold of the first baseline, of the first model and
        of forests, and the fit of the winner to all rows, are never stopped. None: only models
        whose folds take long run fewer of them, once 10,000 rows have ranked them.
    report : callable, optional
        Called as ``report(done, total, name)`` before each fit, and with an empty name where
        something else follows, or nothing.
    prefer : "simple" or "best", default="simple"
        Which model to choose among those that do not differ significantly from the best: the
        simplest, or the one with the highest log score.
    holdout : Holdout, optional
        Which rows are held out together, instead of ``folds`` and ``seed``. Default: rows that are
        later, of other groups or in other regions where the schema names such columns, else random
        ones.
    flagging : Flagging, optional
        Of two classes: the one whose rows are flagged, and the costs of mistakes.

    Returns
    -------
    Comparison
        ``log_evidence`` comes from a fit to all rows, for models whose evidence is comparable
        with that of others and that are fitted within seconds.

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
    asked = flagging or Flagging()
    asked.check_classes(schema.classes, schema.target)
    holdout = holdout or Holdout.from_schema(schema, folds=folds, seed=seed)
    found = _find_all_dependence(table, schema, seed) if holdout.kind == "random" else ()
    parts = parting.split_table(table, schema, holdout)
    ground = ComparisonTask(
        schema,
        parts,
        lambda one: tables.TableModel(one.estimator, schema, one.view).fit(table),
        holdout,
        holdout.describe_scope(table, schema, found),
        tuple(one.sentence for one in found),
        asked,
    )
    return rank_candidates(ground, candidates, clock, seed=seed, report=report, prefer=prefer)


def _find_all_dependence(
    table: pl.DataFrame, schema: tables.Schema, seed: int
) -> tuple[Dependence, ...]:
    """Find dependence between neighbours, and else groups that nobody named."""
    found = find_dependence(table, schema, seed=seed)
    if all(one.kind == "order" for one in found):
        return find_unnamed_groups(table, schema, seed=seed) or found
    return found


@dataclass(frozen=True, eq=False)
class ComparisonTask:
    """The folds of a table, and a function that fits a candidate to all of its rows."""

    schema: tables.Schema
    parts: parting.TableFolds
    fitted: Callable[[Candidate], tables.TableModel]
    holdout: Holdout = field(default_factory=Holdout)
    scope: str = ""
    cautions: tuple[str, ...] = ()  # of rows that seem to depend on each other
    flagging: Flagging = field(default_factory=Flagging)


def rank_candidates(
    ground: ComparisonTask,
    candidates: Sequence[Candidate],
    clock: budgets.Clock,
    *,
    seed: int,
    report: Progress | None,
    prefer: Preference = "simple",
) -> Comparison:
    """Score every candidate on the same folds, choose one and fit it to all rows."""
    names = [one.name for one in candidates]
    _refuse_repeated(names)
    parts = ground.parts
    total = len(candidates) * len(parts.folds) + 1
    tell: Progress = report or _ignore_progress
    trials = [_start_trial(one, ground) for one in candidates]
    race.run_folds(trials, parts, clock, seed=seed, tell=tell, total=total)
    skipped = tuple(Skipped(one.candidate.name, one.failed) for one in trials if one.failed)
    scored = _add_stack([one for one in trials if not one.failed], parts, clock)
    if all(one.candidate.baseline for one in scored):
        raise tables.TableError(_no_model_message(skipped))
    order = [*names, STACK]
    results = choice.add_probabilities([one.summarise() for one in scored], seed=seed)
    chosen = choice.choose_model(choice.sort_results(results), order=order, prefer=prefer)
    by_name = {one.candidate.name: one for one in scored}
    tell(total - 1, total, "")
    importance = _rank_winner_inputs(by_name[chosen.name], parts, clock, seed)
    winner, fitted = _fit_to_all_rows(
        by_name, chosen.name, results, ground, clock, lambda name: tell(total - 1, total, name)
    )
    tell(total, total, "")
    ranked = add_two_class_scores(choice.sort_results(fitted), ground.flagging)
    return Comparison(
        schema=ground.schema,
        results=ranked,
        skipped=skipped,
        folds=len(parts.folds),
        seed=seed,
        n_rows=parts.n_rows,
        seconds=clock.read_elapsed(),
        winner=winner,
        verdict=verdict(
            ranked,
            order=order,
            scope=ground.scope,
            prefer=prefer,
            cautions=ground.cautions,
            target=ground.schema.target,
            flagging=ground.flagging,
        ),
        importance=importance,
        holdout=ground.holdout,
        scope=ground.scope,
        cautions=(*ground.cautions, *_describe_copies(parts)),
        chosen=chosen.name,
        prefer=prefer,
    )


def _start_trial(candidate: Candidate, ground: ComparisonTask) -> Trial:
    """Return a trial without folds, failed if the model is left out or cannot predict these."""
    unsuitable = trial.describe_unsuitable_target(candidate.target, ground.parts.y)
    if ground.schema.exposure is not None and not tables.takes_exposure(candidate.estimator):
        unsuitable = roles.NEEDS_EXPOSURE
    return Trial(candidate, failed=candidate.left_out or unsuitable or "")


def _add_stack(trials: list[Trial], parts: parting.TableFolds, clock: budgets.Clock) -> list[Trial]:
    """Add the mixture of the best models, if there is time to fit it to all rows."""
    stack = stack_models(trials, parts)
    if stack is None or stack.seconds_of_full_fit() > clock.read_remaining():
        return trials
    return [*trials, stack]


def _rank_winner_inputs(
    winner: Trial, parts: parting.TableFolds, clock: budgets.Clock, seed: int
) -> tuple[Importance, ...]:
    """Rank the inputs of the winner, with the estimators that are kept on their held-out rows.

    Of a time limit, the fit to all rows comes first.
    """
    one = winner.candidate
    folds = [fold.for_estimator(one.estimator).as_seen(one.view) for fold in parts.folds]
    measured = [
        MeasuredRows(
            run.estimator,
            fold.X_test,
            fold.y_test,
            fold.blocks,
            len(parts.classes),
            len(fold.y_train),
            fold.clusters,
        )
        for run, fold in zip(winner.runs, folds, strict=False)  # it may have been stopped
        if run.estimator is not None
    ]
    left = clock.read_remaining() - winner.seconds_of_full_fit()
    seconds = min(_IMPORTANCE, max(_LEAST_IMPORTANCE, left))
    return rank_inputs(measured, seed=seed, max_seconds=seconds) if measured else ()


def _fit_to_all_rows(
    trials: Mapping[str, Trial],
    chosen: str,
    results: Sequence[Result],
    ground: ComparisonTask,
    clock: budgets.Clock,
    tell: Callable[[str], None],
) -> tuple[tables.TableModel, list[Result]]:
    """Fit the winner to all rows, and add the evidence of models for which that takes little."""
    results = list(results)
    place = next(k for k, one in enumerate(results) if one.name == chosen)
    held_out = trial.combine_quantiles(trials[chosen])
    trials[chosen].release_memory()  # for the fit to all rows
    tell(chosen)
    try:
        winner, results[place] = _fit_candidate(trials[chosen], results[place], ground)
    except ValueError as error:
        raise tables.TableError(
            f"{chosen!r} is chosen by cross-validation but cannot be fitted to "
            f"the whole table: {trial.first_sentence(error)} Compare without it."
        ) from error
    results[place] = replace(results[place], held_out=held_out)
    left = min(clock.read_remaining(), max(_EVIDENCE, _EVIDENCE_SHARE * clock.read_elapsed()))
    for k, one in enumerate(results):
        seconds = trials[one.name].seconds_of_full_fit()
        if k != place and not one.stopped and seconds < left and trials[one.name].has_evidence():
            tell(one.name)
            left -= seconds
            with contextlib.suppress(ValueError):  # its scores remain valid without an evidence
                _, results[k] = _fit_candidate(trials[one.name], one, ground)
    return winner, results


def _fit_candidate(
    one: Trial, result: Result, ground: ComparisonTask
) -> tuple[tables.TableModel, Result]:
    """Fit to all rows; return the model, and its result with evidence and size."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ground.fitted(one.candidate)
    said = (*result.warnings, *(str(warning.message) for warning in caught))
    evidence = trial.comparable_evidence(model.estimator_)
    return model, replace(
        result,
        log_evidence=None if evidence is None else float(evidence),
        n_bytes=trial.saved_size(model),
        warnings=tuple(dict.fromkeys(said)),
    )


def _describe_copies(parts: parting.TableFolds) -> Iterator[str]:
    """Yield a sentence if rows are copies of each other."""
    if parts.n_copies:
        yield (
            f"{parts.n_copies:,} of {parts.n_rows:,} rows are copies of others, with equal targets "
            "and equal or nearly equal inputs: each was held out together with its copies, so the "
            "scores hold for new rows. Remove rows that were repeated by mistake."
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
