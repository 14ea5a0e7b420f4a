"""Run all candidates fold by fold, and stop those without time or clearly behind."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from posterity import trees
from posterity.comparison import budget as budgets
from posterity.comparison import trial
from posterity.comparison.folds import TableFolds
from posterity.comparison.trial import Trial

Progress: TypeAlias = Callable[[int, int, str], None]

_SHARE = 0.5  # of the remaining time, for the first fold of one model
_CHEAP = 0.002  # of the time limit: a fold that takes less is run even when time is over
_RACE_FOLDS = 2  # a model is stopped after this many at the earliest
_RACE_ROWS = 100  # common rows without which no model is stopped
_RACE_SECONDS = 1.0  # saved at least by stopping a model, which may be useful in a mixture
_FAR, _FAR_ERRORS = 0.05, 5.0  # nats and standard errors by which it is then behind
_ENOUGH_ROWS = 10_000  # independent held-out rows that rank a model, if more would take long
_LONG = 15.0  # seconds for the rest of the folds of one model
_FORESTS = (trees.RandomForestRegressor, trees.RandomForestClassifier)


def run_folds(
    trials: Sequence[Trial],
    parts: TableFolds,
    clock: budgets.Clock,
    *,
    seed: int,
    tell: Progress,
    total: int,
) -> None:
    """Run every candidate on the first fold, then on the second, and so on.

    Under a time limit, the first fold of the first baseline, the first model and forests is never
    stopped, so that a slow machine compares more than constants. Later folds are run in the order
    of the scores. From the second fold on, a model is stopped that is behind the best one by more
    than 0.05 nats and five standard errors over the rows that both predicted, if this saves a
    second or more. A model stops too once it has predicted 10,000 independent rows, if the rest of
    its folds would take 15 seconds or more: they would change its score by less than its error.
    """
    essential = _find_essential(trials)
    n_folds = len(parts.folds)
    for number in range(n_folds):
        queue = _sort_by_score(trials) if number else _sort_essential_first(trials, essential)
        for one in queue:
            if not one.is_running:
                continue
            if number == 0 and one in essential:
                seconds = math.inf
            else:
                seconds = _allow_seconds(one, trials, clock, is_last=one is queue[-1])
            if seconds <= 0.0:
                trial.stop_early(one, "out of time", parts)
                continue
            tell(sum(_count_done(each, n_folds) for each in trials), total, one.candidate.name)
            limited = clock.read_remaining() < math.inf
            trial.run_next_fold(
                one, parts, seconds=seconds, seed=seed, warm_up=limited and number == 0
            )
        if _RACE_FOLDS <= number + 1 < n_folds:
            _stop_those_behind(trials, parts)
        _stop_slow_ones(trials, parts)


def count_raced_folds(seconds: float, n_folds: int) -> int:
    """Return how many folds a model runs that is clearly behind, by the seconds of a fold."""
    rest = seconds * (n_folds - _RACE_FOLDS)
    return n_folds if rest < _RACE_SECONDS else min(_RACE_FOLDS, n_folds)


def count_most_folds(seconds: float, n_rows: float, n_folds: int) -> int:
    """Return how many folds of so many held-out rows any model runs, by the seconds of a fold."""
    enough = max(math.ceil(_ENOUGH_ROWS / n_rows), 1)
    is_long = seconds * (n_folds - enough) >= _LONG
    return enough if is_long else n_folds


def find_best(trials: Sequence[Trial]) -> Trial | None:
    """Return the model that is ahead of every other in the folds that both have run."""
    best: Trial | None = None
    for one in trials:
        if one.runs and not one.failed and not one.candidate.baseline:
            best = one if best is None or _is_ahead(one, best) else best
    return best


def _is_ahead(one: Trial, other: Trial) -> bool:
    n = min(len(one.runs), len(other.runs))
    return one.mean_of_folds(n) > other.mean_of_folds(n)


def _find_essential(trials: Sequence[Trial]) -> list[Trial]:
    """Return the first baseline, the first model and the forests."""
    firsts = [
        next((one for one in trials if one.is_running and one.candidate.baseline is baseline), None)
        for baseline in (True, False)
    ]
    forests = [one for one in trials if isinstance(one.candidate.estimator, _FORESTS)]
    return [one for one in dict.fromkeys([*firsts, *forests]) if one is not None]


def _sort_essential_first(trials: Sequence[Trial], essential: Sequence[Trial]) -> list[Trial]:
    return [*essential, *(one for one in trials if one not in essential)]


def _sort_by_score(trials: Sequence[Trial]) -> list[Trial]:
    """Sort by the log score in the folds that all running models have run, the best first."""
    scored = [one for one in trials if one.runs and one.is_running]
    n = min((len(one.runs) for one in scored), default=0)
    rest = [one for one in trials if one not in scored]
    return [*sorted(scored, key=lambda one: -one.mean_of_folds(n)), *rest]


def _allow_seconds(
    one: Trial, trials: Sequence[Trial], clock: budgets.Clock, *, is_last: bool
) -> float:
    """Return the time limit of the next fold; 0 if it cannot finish.

    Time is reserved for fitting the best model to all rows. A first fold may use half of what
    remains, so that a slow model leaves some for the others. Folds that take next to nothing are
    always run.
    """
    best = find_best(trials)
    remaining = clock.read_remaining() - (best.seconds_of_full_fit() if best else 0.0)
    if not one.runs:
        return remaining if is_last else _SHARE * remaining
    seconds = one.seconds_of_fold()
    if seconds <= _CHEAP * clock.budget:
        return math.inf
    return remaining if seconds <= remaining else 0.0


def _count_done(one: Trial, n_folds: int) -> int:
    return len(one.runs) if one.is_running else n_folds


def _stop_those_behind(trials: Sequence[Trial], parts: TableFolds) -> None:
    """Stop models that are clearly behind the best one, but never the first baseline."""
    best = find_best(trials)
    if best is None:
        return
    first = next((one for one in trials if one.candidate.baseline), None)
    for one in trials:
        if one is best or one is first or not one.is_running or len(one.runs) < _RACE_FOLDS:
            continue
        if _estimate_rest(one, parts) < _RACE_SECONDS:
            continue
        lead, error, n = best.lead_over(one)
        if n >= _RACE_ROWS and lead > max(_FAR, _FAR_ERRORS * error):
            trial.stop_early(one, "clearly behind the best model", parts)
            one.release_memory()


def _stop_slow_ones(trials: Sequence[Trial], parts: TableFolds) -> None:
    """Stop models that are ranked by enough rows, where the rest of their folds takes long."""
    for one in trials:
        if one.is_running and one.runs and _estimate_rest(one, parts) >= _LONG:
            held_out = one.held_out
            if held_out.clusters is None and len(held_out.rows) >= _ENOUGH_ROWS:
                trial.stop_early(one, "slow, and ranked by enough rows", parts)


def _estimate_rest(one: Trial, parts: TableFolds) -> float:
    """Estimate the seconds of the folds that a model has not run."""
    return (len(parts.folds) - len(one.runs)) * one.seconds_of_fold()
