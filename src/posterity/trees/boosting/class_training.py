"""From coded rows and classes to cross-fitted boosted trees with calibrated probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.calibration import ClassCalibration, contrast_classes
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.choices import draw_second_folds
from posterity.trees.boosting.level_tests import LeveledRows
from posterity.trees.boosting.member import BoostingPlan
from posterity.trees.boosting.members import StartingPoint, cross_fit
from posterity.trees.boosting.objectives import class_targets
from posterity.trees.boosting.screens import Codes
from posterity.trees.families.family import Family

_SHARED = 0.1  # of the rows left out, by two members


@dataclass(frozen=True, eq=False)
class BoostedClasses:
    """Trees and their calibration, and how both suit the rows that members left out."""

    family: Family  # with the tests that members learned
    trees: BoostedTrees
    calibration: ClassCalibration
    scores: Array  # (1 + R,), mean log-probability of left-out rows by round
    held_out_latents: Array  # (N, L), calibrated; NaN where no member left the row out
    gain: float  # nats a row, of the mean of members over the one that left the row out
    n_rounds: int
    stop_reason: str

    def append_to(self, earlier: BoostedTrees, scores: Array | None) -> BoostedClasses:
        """The same after the trees of an earlier fit, and the scores of its rounds."""
        n_before = int(np.diff(earlier.members).max(initial=0))
        before = self.scores[:0] if scores is None else scores[:n_before]
        return replace(
            self,
            trees=earlier.append(self.trees),
            scores=np.concatenate([before, self.scores]),
            n_rounds=n_before + self.n_rounds,
        )


def fit_boosted_classes(
    catalogue: Catalogue,
    codes: Codes,
    y: NDArray[np.int64],
    n_classes: int,
    weights: Array,
    folds: NDArray[np.int64],
    groups: NDArray[np.int32],
    plan: BoostingPlan,
    rng: np.random.Generator,
    start: StartingPoint | None = None,
    *,
    calibrate: bool = True,
    share_rows: bool = True,
    levels: LeveledRows | None = None,
) -> BoostedClasses:
    """Train a member for each fold, and calibrate their mean by the rows that they left out.

    Parameters
    ----------
    catalogue : Catalogue
        The tests.
    codes : array (J, N)
        What the rows answer.
    y : array (N,)
        Their classes.
    n_classes : int
        Number of classes C.
    weights : array (N,)
        How often rows count.
    folds : array (N,)
        The member that leaves each row out; -1: none.
    groups : array (N,)
        From 0 on; rows of one do not judge each other.
    plan : BoostingPlan
        How to train.
    rng : Generator
        Draws weights, tests and scores.
    start : StartingPoint, optional
        Where training starts.
    calibrate : bool, default=True
        Whether latents are calibrated; those that are given to a row once and for all cannot be.
    share_rows : bool, default=True
        Whether some rows are left out by two members, which tells what the mean of members gains.
    levels : LeveledRows, optional
        Levels of categorical columns.
    """
    objective = class_targets(y, n_classes)
    second = draw_second_folds(folds, groups, _SHARED, rng) if share_rows else None
    found = cross_fit(catalogue, codes, objective, weights, folds, plan, rng, start, second, levels)
    latents, variances = found.held_out_latents, np.mean(found.held_out_variances, axis=1)
    out = ~np.isnan(latents[:, 0])
    if not calibrate:
        calibration = ClassCalibration(1.0, 0.0)
    else:
        calibration = ClassCalibration.learn(latents[out], variances[out], y[out], weights[out])
    moderate, two = calibration.moderate, found.second_latents
    both = ~np.isnan(two[:, 0])
    one, other, mean = (
        contrast_classes(moderate(a[both], variances[both]))
        for a in (latents, two, 0.5 * (latents + two))
    )
    gain = _measure_gain(one, other, mean, weights[both], found.trees[0].n_members)
    return BoostedClasses(
        found.family,
        found.trees[0],
        calibration,
        found.scores,
        moderate(latents, variances),
        gain,
        found.n_rounds,
        found.stop_reason,
    )


def _measure_gain(one: Array, other: Array, mean: Array, weights: Array, n_members: int) -> float:
    """What the log score of the mean of all members gains over a single one, in nats a row.

    It is the divergence of members from their mean. That of two is half of that of many; no targets
    are needed.
    """
    if not len(mean):
        return 0.0
    own, *members = (log_softmax(a, axis=1) for a in (mean, one, other))
    apart = sum(np.sum(np.exp(own) * (own - log_p), axis=1) for log_p in members) / 2.0
    return 2.0 * (1.0 - 1.0 / n_members) * float(np.average(apart, weights=weights))
