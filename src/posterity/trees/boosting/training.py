"""From coded rows and targets to cross-fitted trees: calibrated probabilities, or a spread."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import likelihoods
from posterity.arrays import Array
from posterity.likelihoods import exposed_counts
from posterity.row_groups import RowGroups
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.calibration import ClassCalibration, contrast_classes
from posterity.trees.boosting.member import BoostingPlan
from posterity.trees.boosting.members import (
    NO_FOLD,
    CodedTable,
    CrossFit,
    FoldPlan,
    StartingPoint,
    cross_fit,
    draw_second_folds,
)
from posterity.trees.boosting.noise import HeldOutNoise, Noise
from posterity.trees.boosting.objectives import LocationTargets, class_targets
from posterity.trees.families.family import Family

_SHARED_CLASSES = 0.1  # of the rows left out, by two members


@dataclass(frozen=True, eq=False)
class BoostedClasses:
    """Trees and their calibration, and how both suit the rows that members left out."""

    fit: CrossFit
    calibration: ClassCalibration
    held_out_latents: Array  # (N, L), calibrated; NaN where no member left the row out
    gain: float  # nats a row, of the mean of members over the one that left the row out


def fit_boosted_classes(
    table: CodedTable,
    y: NDArray[np.int64],
    n_classes: int,
    plan: BoostingPlan,
    rng: np.random.Generator,
    start: StartingPoint | None = None,
    *,
    calibrate: bool = True,
    share_rows: bool = True,
) -> BoostedClasses:
    """Train a member for each fold, and calibrate their mean by the rows that they left out.

    Parameters
    ----------
    table : CodedTable
        The rows, and the members that leave them out.
    y : array (N,)
        Their classes.
    n_classes : int
        Number of classes C.
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
    """
    weights = table.weights
    second = None
    if share_rows:
        second = draw_second_folds(table.folds, table.groups, _SHARED_CLASSES, rng)
    found = cross_fit(table, class_targets(y, n_classes), plan, rng, start, second)
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
    gain = _measure_gain(one, other, mean, weights[both], found.trees.n_members)
    return BoostedClasses(found, calibration, moderate(latents, variances), gain)


def _measure_gain(one: Array, other: Array, mean: Array, weights: Array, n_members: int) -> float:
    """Gain of the log score of the mean of all members over a single one, in nats a row.

    It is the divergence of members from their mean. That of two is half of that of many; no targets
    are needed.
    """
    if not len(mean):
        return 0.0
    own, *members = (log_softmax(a, axis=1) for a in (mean, one, other))
    apart = sum(np.sum(np.exp(own) * (own - log_p), axis=1) for log_p in members) / 2.0
    return 2.0 * (1.0 - 1.0 / n_members) * float(np.average(apart, weights=weights))


_SPREAD_DEPTH = 4
_SPREAD_ROUNDS = 150
_SPREAD_RATE = 0.15
_SPREAD_PRIOR = 10.0  # times that of locations, since a square tells a tenth of what a mean does
_SPREAD_FOLDS = 5
_LEAST_ROWS = 20  # or groups, that have been left out, for trees of the spread
_SHARED_NUMBERS = 0.25  # of the rows left out, by two members


@dataclass(frozen=True, eq=False)
class BoostedNumbers:
    """Trees of location and spread, the noise, and scores of rows that members left out."""

    fit: CrossFit  # of the location, with scores at constant noise
    family: Family  # with the tests that members learned, also those of the spread
    spread: BoostedTrees | None
    noise: Noise
    held_out_log_prob: Array  # (N,), NaN where no member left the row out


def fit_boosted_numbers(
    table: CodedTable,
    y: Array,
    likelihood: likelihoods.Likelihood | None,
    plan: BoostingPlan,
    rng: np.random.Generator,
    start: StartingPoint | None = None,
    *,
    share_rows: bool = True,
) -> BoostedNumbers:
    """Boost the location, then the spread, and calibrate both by rows that members left out.

    Parameters
    ----------
    table : CodedTable
        The rows, and the members that leave them out.
    y : array (N,)
        Targets.
    likelihood : Likelihood, optional
        What is None of its parameters is learned. None: least squares, and Student-t noise.
    plan : BoostingPlan
        How to train.
    rng : Generator
        Draws weights, tests and scores.
    start : StartingPoint, optional
        Where training of locations starts.
    share_rows : bool, default=True
        Whether some rows are left out by two members, by which the mean of members is judged.
    """
    of_location, of_spread = rng.spawn(2)
    likelihood = None if likelihood is None else likelihood.bind(y)
    weights, groups = table.weights, table.groups
    targets = LocationTargets.start(y, weights, likelihood or likelihoods.Normal())
    second = None
    if share_rows:
        second = draw_second_folds(table.folds, groups, _SHARED_NUMBERS, of_location)
    of_targets = replace(plan, leaves_own_target_out=False)
    found = cross_fit(table, targets, of_targets, of_location, start, second)
    family = found.family
    a, v = found.held_out_latents[:, 0], found.held_out_variances[:, 0]
    out, n_members = np.isfinite(a), found.trees.n_members
    spread, eta, noise = None, None, Noise(targets.training.likelihood)
    log_prob = np.full(len(y), np.nan)
    if out.any():
        held = HeldOutNoise.start(y, a, weights * out, likelihood, targets.held_out)
        if held.has_spread and len(np.unique(groups[out])) >= _LEAST_ROWS:
            own = replace(
                table,
                catalogue=replace(table.catalogue, family=family),
                weights=held.weights,
                folds=_choose_spread_folds(table.folds, out, groups, of_spread),
            )
            of_held = cross_fit(own, held.targets, _plan_spread(plan), of_spread)
            family = of_held.family
            if of_held.n_rounds:
                spread, eta = of_held.trees, of_held.held_out_latents[:, 0]
        open_variance = float(np.average(v[out], weights=weights[out]))
        other = exposed_counts.separate(y, found.second_latents[:, 0])[1]
        found_noise = held.calibrate(eta, other, open_variance, n_members, groups)
        log_exposure = exposed_counts.find_typical(y[out], weights[out])
        noise = replace(found_noise.noise, log_exposure=log_exposure)
        log_prob = found_noise.score(y, a, v, eta)
    return BoostedNumbers(found, family, spread, noise, log_prob)


def _plan_spread(plan: BoostingPlan) -> BoostingPlan:
    """Smaller trees, fewer of them, and a stronger prior: a residual tells little of its spread."""
    prior = _SPREAD_PRIOR * plan.tree.prior_precision
    depth = min(_SPREAD_DEPTH, plan.tree.max_depth)
    rate = max(_SPREAD_RATE, plan.learning_rate)
    return replace(
        plan,
        n_rounds=min(_SPREAD_ROUNDS, plan.n_rounds),
        learning_rate=rate,
        tree=replace(plan.tree, max_depth=depth, prior_precision=prior, monotonic=None),
        leaves_own_target_out=False,
        patience=None if plan.patience is None else round(4.0 / rate),
    )


def _choose_spread_folds(
    folds: NDArray[np.int64],
    out: NDArray[np.bool_],
    groups: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Those of the location; new ones among the rows left out where there are fewer than three."""
    if np.max(folds) >= 2:
        return folds
    drawn, own = np.full(len(folds), NO_FOLD), RowGroups.of_equal(groups[out]).number
    drawn[out] = FoldPlan.choose(len(own), _SPREAD_FOLDS).draw(np.zeros(len(own)), own, rng)
    return drawn
