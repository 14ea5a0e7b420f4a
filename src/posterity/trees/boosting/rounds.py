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
from posterity.trees.boosting.candidates import Candidates, Step, StepFinder
from posterity.trees.boosting.rows import BoostedRows
from posterity.trees.boosting.steps import Steps
from posterity.trees.families.family import Tests

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

    candidates: Candidates
    rows: BoostedRows

    def score(self) -> float:
        """The mean log-probability of a row."""
        return self.rows.log_likelihood() / float(np.sum(self.rows.weights))

    def score_after(self, found: _BoostingRound) -> float:
        """The same, once the rows are moved by another step."""
        self.rows.move(self.candidates.find_sides(found.step), found.values)
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
    step: Step
    values: Array  # (2, L)
    log_likelihood: float  # of the training rows, after it


def boost(
    candidates: Candidates,
    rows: BoostedRows,
    offset: Array,
    rules: BoostingRules,
    *,
    held_out: HeldOutRows | None = None,
) -> BoostedSteps:
    """Add steps until there are enough, none gains, or rows held out gain no more.

    Every round raises the log-likelihood. What a round does depends on those before it alone, so
    that the first rounds of a long training are a short one.

    Parameters
    ----------
    candidates : Candidates
        The weak classifiers, and what the rows answer to them.
    rows : BoostedRows
        The rows, at the latent values where steps begin; they are moved.
    offset : array (L,)
        What all rows have before the first step.
    rules : BoostingRules
        How many rounds, and of what kind.
    held_out : HeldOutRows, optional
        Rows by which to stop; they are moved too.
    """
    likelihood = rows.log_likelihood()
    scores = [] if held_out is None else [held_out.score()]
    done: list[_BoostingRound] = []
    reason = f"{rules.n_rounds} rounds were asked for"
    with candidates.open(rules.selection) as finder:
        for found in _run_rounds(finder, rows, rules):
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
    steps = _build_steps(candidates.no_tests, offset, kept, np.diff(likelihoods))
    return BoostedSteps(steps, likelihoods, np.array(scores) if scores else None, reason)


def _run_rounds(
    finder: StepFinder, rows: BoostedRows, rules: BoostingRules
) -> Iterator[_BoostingRound]:
    """One step after the other, for as long as they gain."""
    before = rows.log_likelihood()
    every = range(rules.n_rounds)
    for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
        step = finder.find(rows)
        if step is None:
            return
        values = np.rint(rules.learning_rate * rows.optimum(step.left) / _GRID) * _GRID
        rows.move(step.left, values)
        after = rows.log_likelihood()
        if after - before <= LEAST_GAIN:
            return
        before = after
        yield _BoostingRound(step, values, after)


def _build_steps(
    no_tests: Tests, offset: Array, rounds: list[_BoostingRound], gains: Array
) -> Steps:
    values = np.array([found.values for found in rounds]).reshape(len(rounds), 2, len(offset))
    tests = np.concatenate([no_tests, *(found.step.test for found in rounds)])
    thresholds = np.array([found.step.threshold for found in rounds], dtype=np.float64)
    return Steps(offset, tests, thresholds, values, gains)
