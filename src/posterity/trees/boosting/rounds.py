"""LogitBoost: steps from a predefined set, added one by one to the activation.  [P9 9.7.1]

A step is two values, one for the rows on each side of it: offset and weight in other letters. A
round screens all weak classifiers by what one Newton step of both values would gain, and then finds
the values of the best one by full optimisation, each side by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.inference import rows as equal_rows
from posterity.trees.boosting.candidates import Candidates, CodedTests, FindStep, FreshTests, Step
from posterity.trees.boosting.catalogue import MOST_OFFSETS, Catalogue
from posterity.trees.boosting.class_rows import BoostedRows, SoftmaxRows, TwoClasses
from posterity.trees.boosting.steps import Steps
from posterity.trees.families import family
from posterity.trees.families.family import Tests

LEAST_GAIN = 1e-6  # nats of log-likelihood that a step must bring
_GRID = 2.0**-36  # of values: sums in another order, and so rows that are repeated, end alike


@dataclass(frozen=True)
class BoostingRules:
    """Rules of the rounds of LogitBoost."""

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
    """Steps of all rounds; where rows were held out, up to the round that suits them best."""

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
    with candidates.open(rules.selection) as find:
        for found in _run_rounds(find, rows, rules):
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
    find: FindStep, rows: BoostedRows, rules: BoostingRules
) -> Iterator[_BoostingRound]:
    """One step after the other, for as long as they gain."""
    before = rows.log_likelihood()
    every = range(rules.n_rounds)
    for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
        step = find(rows)
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


_PRIOR_ROWS = 1.0  # what the prior of a side's value is worth


@dataclass(frozen=True)
class BoostingOptions:
    """Options of a fit."""

    rules: BoostingRules
    n_tests: int | None = None  # how many to draw; None: all there are
    is_fresh: bool = False  # whether tests are drawn anew in every round
    n_offsets: int = MOST_OFFSETS  # thresholds of a test, where answers are numbers
    validation_fraction: float | None = None
    n_jobs: int | None = None
    is_fitted: bool = False  # whether the family knows the rows already


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows that the family takes, and their classes."""

    rows: Any
    y: Array  # (N,), classes from 0 on, each of them in at least one row that counts
    weights: Array  # (N,), how often each row counts; 0 for not at all
    start: Array | None = None  # (N, L), latent values where steps begin; the offset is then zero


def fit_boosted_steps(
    weak: family.Family, given: GivenRows, options: BoostingOptions, rng: np.random.Generator
) -> tuple[family.Family, BoostedSteps]:
    """Lay out the weak classifiers and boost them; return the family that answers the steps too.

    Where a part of the rows is to be held out, a first training without them says how many rounds
    suit them best, and a second one does so many with all rows.

    Parameters
    ----------
    weak : Family
        Tests.
    given : GivenRows
        What to learn from.
    options : BoostingOptions
        What may be chosen.
    rng : Generator
        Draws tests, and the rows that are held out.
    """
    of_tests, of_split = rng.spawn(2)
    rows, y, weights, start = given.rows, given.y, given.weights, given.start
    if options.validation_fraction is not None and weak.is_of_columns and start is None:
        # Equal rows are held out together: repeating one is then the same as counting it again.
        rows, y, weights, _ = equal_rows.merge_and_sort(rows, y, weights)
    places = np.flatnonzero(weights).astype(np.int32)
    fitted = weak if options.is_fitted else weak.adapt_to(rows, weights)
    candidates = _lay_out(fitted, rows, places, weights, options, of_tests)
    begin = None if start is None else start[places]
    training = _TrainingRows(candidates, y[places], weights[places], begin)
    if options.validation_fraction is None:
        return fitted, training.boost(options.rules)
    held = equal_rows.draw_held_out_rows(training.y, options.validation_fraction, of_split)
    trial = training.part(~held).boost(options.rules, training.part(held))
    final = training.boost(replace(options.rules, n_rounds=len(trial.steps)))
    stop_reason = final.stop_reason if len(final.steps) < len(trial.steps) else trial.stop_reason
    return fitted, replace(final, scores=trial.scores, stop_reason=stop_reason)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """Rows and classes, and the weak classifiers that they answer."""

    candidates: Candidates
    y: Array
    weights: Array
    start: Array | None

    def part(self, chosen: NDArray[np.bool_]) -> _TrainingRows:
        start = None if self.start is None else self.start[chosen]
        candidates = self.candidates.take(chosen)
        return _TrainingRows(candidates, self.y[chosen], self.weights[chosen], start)

    def boost(self, rules: BoostingRules, aside: _TrainingRows | None = None) -> BoostedSteps:
        kind = TwoClasses if np.max(self.y) < 2 else SoftmaxRows
        offset = kind.offset(self.y, self.weights)
        apart = None
        if aside is not None:
            apart = HeldOutRows(aside.candidates, aside.start_rows(kind, offset))
        rows = self.start_rows(kind, offset)
        if self.start is not None:
            offset = np.zeros_like(offset)
        return boost(self.candidates, rows, offset, rules, held_out=apart)

    def start_rows(self, kind: type[TwoClasses] | type[SoftmaxRows], offset: Array) -> BoostedRows:
        if self.start is None:
            return kind.start_from_offset(offset, self.y, self.weights, _PRIOR_ROWS)
        return kind.start_from_latents(self.start.copy(), self.y, self.weights, _PRIOR_ROWS)


def _lay_out(
    fitted: family.Family,
    rows: Any,
    places: family.Places,
    weights: Array,
    options: BoostingOptions,
    rng: np.random.Generator,
) -> Candidates:
    """Tests that are coded once, or that rounds will draw."""
    n_tests, n_offsets, n_jobs = options.n_tests, options.n_offsets, options.n_jobs
    if options.is_fresh and n_tests is not None:
        return FreshTests(fitted, rows, places, n_tests, n_offsets, rng, n_jobs)
    tests = fitted.catalogue() if n_tests is None else fitted.draw(1, n_tests, rng)[0]
    counts = weights[places]
    catalogue = Catalogue.from_rows(fitted, rows, places, tests, n_offsets, counts)
    return CodedTests(catalogue, catalogue.encode_rows(rows, places), n_jobs)
