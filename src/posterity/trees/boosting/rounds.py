"""LogitBoost: steps from a predefined set, added one by one to the activation.  [P9 9.7.1]

A step is two values, one for the rows on each side of it: offset and weight in other letters. A
round screens all weak classifiers by what one Newton step of both values would gain, and then finds
the values of the best one by full optimisation, each side by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity import progress
from posterity.arrays import Array
from posterity.trees.boosting import screening
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.rows import BoostedRows
from posterity.trees.boosting.screening import Codes
from posterity.trees.boosting.steps import Steps

LEAST_GAIN = 1e-6  # nats of log-likelihood that a step must bring
_GRID = 2.0**-36  # of values: sums in another order, and so rows that are repeated, end alike


@dataclass(frozen=True)
class BoostingRules:
    """How rounds are done."""

    n_rounds: int
    learning_rate: float = 1.0  # of the most probable values, what is added
    selection: str = "one_step"
    patience: int = 10  # rounds without a gain on rows held out


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows that take no part, by which the number of rounds is chosen."""

    codes: Codes  # (J, n)
    rows: BoostedRows

    def score(self) -> float:
        """The mean log-probability of a row."""
        return self.rows.log_likelihood() / float(np.sum(self.rows.weights))

    def score_after(self, found: _BoostingRound) -> float:
        """The same, once the rows are moved by another step."""
        self.rows.move(self.codes[found.test] <= found.code, found.values)
        return self.score()


@dataclass(frozen=True, eq=False)
class BoostedSteps:
    """What rounds have found; where rows were held out, up to the round that suits them best."""

    steps: Steps
    log_likelihood: Array  # (1 + R,), of the training rows at first and after each round
    scores: Array | None  # of rows held out, at first and after every round that was tried
    stop_reason: str


@dataclass(frozen=True, eq=False)
class _BoostingRound:
    test: int
    code: int  # the last one on the left
    values: Array  # (2, L)
    log_likelihood: float  # of the training rows, after it


def boost(
    catalogue: Catalogue,
    codes: Codes,
    rows: BoostedRows,
    rules: BoostingRules,
    *,
    held_out: HeldOutRows | None = None,
    n_jobs: int | None = None,
) -> BoostedSteps:
    """Add steps until there are enough, none gains, or rows held out gain no more.

    Every round raises the log-likelihood. What a round does depends on those before it alone, so
    that the first rounds of a long training are a short one.

    Parameters
    ----------
    catalogue : Catalogue
        The weak classifiers.
    codes : array (J, N)
        What the rows answer to them.
    rows : Rows
        The rows, at the latent values where steps begin; they are moved.
    rules : Rules
        How many rounds, and of what kind.
    held_out : HeldOut, optional
        Rows by which to stop; they are moved too.
    n_jobs : int, optional
        Threads that screen; the result does not depend on it.
    """
    offset, likelihood = rows.latents[0].copy(), rows.log_likelihood()
    scores = [] if held_out is None else [held_out.score()]
    done: list[_BoostingRound] = []
    reason = f"{rules.n_rounds} rounds were asked for"
    with screening.StepScreen.open(codes, rows.weights, n_jobs) as screen:
        for found in _run_rounds(screen, rows, rules):
            done.append(found)
            if held_out is not None:
                scores.append(held_out.score_after(found))
                if len(scores) > int(np.argmax(scores)) + rules.patience:
                    reason = f"rows held out gained nothing in {rules.patience} rounds"
                    break
        else:
            if len(done) < rules.n_rounds:
                reason = f"no further step gained more than {LEAST_GAIN:g} nats"
    kept = done[: int(np.argmax(scores))] if scores else done
    likelihoods = np.array([likelihood, *(found.log_likelihood for found in kept)])
    steps = _build_steps(catalogue, offset, kept, np.diff(likelihoods))
    return BoostedSteps(steps, likelihoods, np.array(scores) if scores else None, reason)


def _run_rounds(
    screen: screening.StepScreen, rows: BoostedRows, rules: BoostingRules
) -> Iterator[_BoostingRound]:
    """One step after the other, for as long as they gain."""
    best = {"one_step": _find_best_by_one_step, "full": _find_best_by_optimum}[rules.selection]
    before = rows.log_likelihood()
    every = range(rules.n_rounds)
    for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
        test, code = best(screen, rows)
        left = screen.codes[test] <= code
        values = np.rint(rules.learning_rate * rows.optimum(left) / _GRID) * _GRID
        rows.move(left, values)
        after = rows.log_likelihood()
        if after - before <= LEAST_GAIN:
            return
        before = after
        yield _BoostingRound(test, code, values, after)


def _find_best_by_one_step(screen: screening.StepScreen, rows: BoostedRows) -> tuple[int, int]:
    """The test, and the last code on its left, that gain most by one Newton step."""
    gains = screen.gains(rows.derivatives(), rows.screening_precision)
    test, code = divmod(int(np.argmax(gains)), gains.shape[1])
    return test, code


def _find_best_by_optimum(screen: screening.StepScreen, rows: BoostedRows) -> tuple[int, int]:
    """The test, and the last code on its left, that gain most once their values are optimal."""
    gained, best = -np.inf, (0, 0)
    for test, codes in enumerate(screen.codes):
        for code in np.unique(codes)[:-1].tolist():
            gain = rows.gain(codes <= code, rows.optimum(codes <= code))
            if gain > gained:
                gained, best = gain, (test, code)
    return best


def _build_steps(
    catalogue: Catalogue, offset: Array, rounds: list[_BoostingRound], gains: Array
) -> Steps:
    tests = np.array([found.test for found in rounds], dtype=np.intp)
    codes = np.array([found.code for found in rounds], dtype=np.intp)
    values = np.array([found.values for found in rounds]).reshape(len(rounds), 2, len(offset))
    thresholds = catalogue.cuts[tests, codes]
    return Steps(offset, catalogue.tests[tests], thresholds, values, gains)
