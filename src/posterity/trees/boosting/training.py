"""From a family, rows and classes to boosted steps, of which held-out rows may say how many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.inference import rows as equal_rows
from posterity.trees.boosting import rounds
from posterity.trees.boosting.catalogue import MOST_OFFSETS, Catalogue
from posterity.trees.boosting.rows import BoostedRows
from posterity.trees.boosting.screening import Codes
from posterity.trees.boosting.softmax import SoftmaxRows
from posterity.trees.boosting.two_classes import TwoClasses
from posterity.trees.families import family

_PRIOR_ROWS = 1.0  # what the prior of a side's value is worth


@dataclass(frozen=True)
class BoostingOptions:
    """What may be chosen of a fit."""

    rules: rounds.BoostingRules
    n_tests: int | None = None  # how many to draw; None: all there are
    n_offsets: int = MOST_OFFSETS  # thresholds of a test, where answers are numbers
    validation_fraction: float | None = None
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """Boosted steps, the family that answers them, and how rows that were held out fared."""

    family: family.Family
    boosted: rounds.BoostedSteps
    scores: Array | None


def fit_boosted_steps(
    weak: family.Family,
    rows: Any,
    y: Array,
    weights: Array,
    options: BoostingOptions,
    rng: np.random.Generator,
) -> BoostingFit:
    """Lay out the weak classifiers and boost them.

    Where a part of the rows is to be held out, a first training without them says how many rounds
    suit them best, and a second one does so many with all rows.

    Parameters
    ----------
    weak : Family
        Tests, not fitted yet.
    rows : Any
        What the family takes.
    y : array (N,)
        Classes from 0 on, each of them in at least one row that counts.
    weights : array (N,)
        How often each row counts; 0 for not at all.
    options : Options
        What may be chosen.
    rng : Generator
        Draws tests, and the rows that are held out.
    """
    of_tests, of_split = rng.spawn(2)
    if options.validation_fraction is not None and weak.is_of_columns:
        # Equal rows are held out together: repeating one is then the same as counting it again.
        rows, y, weights = equal_rows.merge_equal_rows(rows, y, weights)
    places = np.flatnonzero(weights).astype(np.int32)
    catalogue = _build_catalogue(weak, rows, places, weights, options, of_tests)
    codes = catalogue.encode_rows(rows, places)
    training = _CodedRows(catalogue, codes, y[places], weights[places], options.n_jobs)
    if options.validation_fraction is None:
        return BoostingFit(catalogue.family, training.boost(options.rules), None)
    held = equal_rows.draw_held_out_rows(training.y, options.validation_fraction, of_split)
    trial = training.part(~held).boost(options.rules, training.part(held))
    final = training.boost(replace(options.rules, n_rounds=len(trial.steps)))
    stop_reason = final.stop_reason if len(final.steps) < len(trial.steps) else trial.stop_reason
    return BoostingFit(catalogue.family, replace(final, stop_reason=stop_reason), trial.scores)


@dataclass(frozen=True, eq=False)
class _CodedRows:
    """Rows that all weak classifiers have answered."""

    catalogue: Catalogue
    codes: Codes  # (J, N)
    y: Array
    weights: Array
    n_jobs: int | None

    def part(self, chosen: NDArray[np.bool_]) -> _CodedRows:
        codes = np.ascontiguousarray(self.codes[:, chosen])
        return replace(self, codes=codes, y=self.y[chosen], weights=self.weights[chosen])

    def boost(
        self, rules: rounds.BoostingRules, aside: _CodedRows | None = None
    ) -> rounds.BoostedSteps:
        kind = TwoClasses if np.max(self.y) < 2 else SoftmaxRows
        offset = kind.offset(self.y, self.weights)
        apart = (
            None
            if aside is None
            else rounds.HeldOutRows(aside.codes, aside.start_rows(kind, offset))
        )
        return rounds.boost(
            self.catalogue,
            self.codes,
            self.start_rows(kind, offset),
            rules,
            held_out=apart,
            n_jobs=self.n_jobs,
        )

    def start_rows(self, kind: type[TwoClasses] | type[SoftmaxRows], offset: Array) -> BoostedRows:
        return kind.start_from_offset(offset, self.y, self.weights, _PRIOR_ROWS)


def _build_catalogue(
    weak: family.Family,
    rows: Any,
    places: family.Places,
    weights: Array,
    options: BoostingOptions,
    rng: np.random.Generator,
) -> Catalogue:
    fitted = weak.adapt_to(rows, weights)
    if options.n_tests is None:
        tests = fitted.catalogue()
    else:
        tests = fitted.draw(1, options.n_tests, rng)[0]
    return Catalogue.from_rows(fitted, rows, places, tests, options.n_offsets, weights[places])
