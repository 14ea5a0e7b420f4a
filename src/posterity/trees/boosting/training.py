"""From a family, rows and classes to boosted steps, of which held-out rows may say how many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.inference import rows as equal_rows
from posterity.trees.boosting import rounds
from posterity.trees.boosting.candidates import Candidates, CodedTests, FreshTests
from posterity.trees.boosting.catalogue import MOST_OFFSETS, Catalogue
from posterity.trees.boosting.rows import BoostedRows
from posterity.trees.boosting.softmax import SoftmaxRows
from posterity.trees.boosting.two_classes import TwoClasses
from posterity.trees.families import family

_PRIOR_ROWS = 1.0  # what the prior of a side's value is worth


@dataclass(frozen=True)
class BoostingOptions:
    """What may be chosen of a fit."""

    rules: rounds.BoostingRules
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


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """Boosted steps, the family that answers them, and how rows that were held out fared."""

    family: family.Family
    boosted: rounds.BoostedSteps
    scores: Array | None


def fit_boosted_steps(
    weak: family.Family, given: GivenRows, options: BoostingOptions, rng: np.random.Generator
) -> BoostingFit:
    """Lay out the weak classifiers and boost them.

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
        return BoostingFit(fitted, training.boost(options.rules), None)
    held = equal_rows.draw_held_out_rows(training.y, options.validation_fraction, of_split)
    trial = training.part(~held).boost(options.rules, training.part(held))
    final = training.boost(replace(options.rules, n_rounds=len(trial.steps)))
    stop_reason = final.stop_reason if len(final.steps) < len(trial.steps) else trial.stop_reason
    return BoostingFit(fitted, replace(final, stop_reason=stop_reason), trial.scores)


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

    def boost(
        self, rules: rounds.BoostingRules, aside: _TrainingRows | None = None
    ) -> rounds.BoostedSteps:
        kind = TwoClasses if np.max(self.y) < 2 else SoftmaxRows
        offset = kind.offset(self.y, self.weights)
        apart = None
        if aside is not None:
            apart = rounds.HeldOutRows(aside.candidates, aside.start_rows(kind, offset))
        rows = self.start_rows(kind, offset)
        if self.start is not None:
            offset = np.zeros_like(offset)
        return rounds.boost(self.candidates, rows, offset, rules, held_out=apart)

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
