"""Choose a model by its scores on held-out rows, and say how certain the ranking is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from posterity.arrays import Array
from posterity.comparison import row_scores
from posterity.comparison.results import HeldOut, Preference, Result

SURE = 0.98
"""Probability from which a model is called better than another: two standard errors."""
NEAR = 0.84
"""Probability from which a better model is taken in place of a simpler one: one standard error."""
_ROUNDING = 1e-9
_WORTHWHILE = 0.01  # for which several models are kept instead of one
HARDLY = 1e-3
"""Leads over a baseline below this are irrelevant in practice: nats per row, or a share of the mean
log loss of classes, where that is less than a nat."""

_CONSTANTS = ("mean", "frequencies")
_DRAWS = 1_000
_MOST_BLOCKS = 2_000  # of rows, each with one weight of the bootstrap
_FEW_BLOCKS = 500  # likewise, where two models are compared
_LEAST_CLUSTERS = 5  # of fewer, the bootstrap is too sure


def choose_model(
    results: Sequence[Result], *, order: Sequence[str], prefer: Preference = "simple"
) -> Result:
    """Return the model to use: the best one, or the simplest that does not differ from it.

    Parameters
    ----------
    results : sequence of Result
        The best first; at least one is not a baseline.
    order : sequence of str
        Names of the models, simplest first.
    prefer : "simple" or "best", default="simple"
        "simple": the simplest model than which the best one is better with a probability below
        84 % (one standard error), and which is better than a constant prediction if the best one
        is; a mixture of models only if it is better than each of them with a probability of 98 %
        (two standard errors), by 0.01 nats per row, or 1 % of a log loss below one nat. "best": the
        highest log score.
    """
    family = [one for one in results if not one.baseline]
    if prefer == "best":
        return family[0]
    family = _drop_needless_mixture(family)
    near = [one for one in family if not is_better(family[0], one, sure=NEAR)]
    constant = find_constant(results)
    helping = [one for one in near if constant and is_better(one, constant, least=HARDLY)]
    return min(helping or near, key=lambda one: order.index(one.name))


def find_best_single(family: Sequence[Result]) -> Result:
    """Return the best model that is not a mixture of others."""
    return next((one for one in family if not one.weights), family[0])


def _drop_needless_mixture(family: Sequence[Result]) -> list[Result]:
    """Drop the mixture unless it is significantly better than the best single model."""
    single = find_best_single(family)
    return [one for one in family if not one.weights or is_better(one, single, least=_WORTHWHILE)]


def find_constant(results: Sequence[Result]) -> Result | None:
    """Return the baseline that ignores the inputs, if it was scored."""
    return next((one for one in results if one.baseline and one.name in _CONSTANTS), None)


def is_better(
    ahead: Result, behind: Result, *, least: float = _ROUNDING, sure: float = SURE
) -> bool:
    """Return whether a model is ahead with this probability and by a relevant amount.

    ``least`` is in nats per row, or a share of a mean log loss of classes below one nat.
    """
    mean, _ = row_scores.compute_lead(ahead.held_out, behind.held_out)
    if mean <= least * _find_scale(behind.held_out):
        return False
    return compute_probability_better(ahead, behind) >= sure


def compute_probability_better(ahead: Result, behind: Result) -> float:
    """Return the probability that a model has the higher mean log score on more rows.

    That of a normal distribution with the mean and standard error of the paired differences, or the
    share of bootstrap samples in which the model leads, where that is larger: a few rows that one
    model gets very wrong make the error as large as the lead.
    """
    mean, error = row_scores.compute_lead(ahead.held_out, behind.held_out)
    normal = float(ndtr(mean / error)) if error > 0.0 else 0.5 + 0.5 * float(np.sign(mean))
    return max(normal, _count_leading_samples(ahead.held_out, behind.held_out))


def _find_scale(held_out: HeldOut) -> float:
    """Return the mean log loss of classes, at most one nat; densities have no scale."""
    if held_out.probabilities is None:
        return 1.0
    return float(np.clip(-np.mean(held_out.log_prob), 0.0, 1.0))


def _count_leading_samples(ahead: HeldOut, behind: HeldOut) -> float:
    """Return the share of bootstrap samples in which a model leads; 0 for few clusters."""
    differences, clusters = row_scores.compare_rows(ahead, behind)
    if clusters is not None and len(np.unique(clusters)) < _LEAST_CLUSTERS:
        return 0.0
    rng = np.random.default_rng(0)
    sums = _sum_blocks(differences[:, None], clusters, _FEW_BLOCKS, rng)
    return float(np.mean(rng.exponential(size=(_DRAWS, len(sums))) @ sums > 0.0))


def _sum_blocks(
    values: Array, clusters: NDArray[Any] | None, most: int, rng: np.random.Generator
) -> Array:
    """Return sums of rows (n, K) over clusters, or over blocks of random rows if they are many."""
    places = np.arange(len(values))
    if clusters is not None:
        places = np.unique(clusters, return_inverse=True)[1]
    elif len(values) > most:  # the same, in less time
        places = rng.permutation(len(values)) % most
    return np.stack([np.bincount(places, column) for column in values.T], axis=1)


def sort_results(results: Sequence[Result]) -> tuple[Result, ...]:
    """Sort results by log score, and compare each with the best one row by row.

    A model with fewer folds is compared on the rows that it predicted.
    """
    most = max(len(one.held_out.rows) for one in results)
    complete = [one for one in results if len(one.held_out.rows) == most]
    standard = max(complete, key=lambda one: float(np.mean(one.held_out.log_prob)))
    ranked = sorted((_adjust_score(one, standard) for one in results), key=lambda r: -r.log_score)
    leads = [row_scores.compute_lead(ranked[0].held_out, one.held_out) for one in ranked]
    return tuple(
        replace(one, behind=mean, behind_error=error)
        for one, (mean, error) in zip(ranked, leads, strict=True)
    )


def _adjust_score(one: Result, standard: Result) -> Result:
    """Estimate the log score that a model with fewer folds would have on all rows."""
    score = float(np.mean(one.held_out.log_prob))
    if len(one.held_out.rows) < len(standard.held_out.rows):
        lead, _ = row_scores.compute_lead(standard.held_out, one.held_out)
        score = float(np.mean(standard.held_out.log_prob)) - lead
    return replace(one, log_score=score)


def add_probabilities(results: Sequence[Result], *, seed: int = 0) -> tuple[Result, ...]:
    """Add the probability that each model is the best of those that predicted the same rows.

    The rows are those of the model that is ahead, which may have been stopped for its time.
    """
    family = [one for one in results if not one.baseline]
    rows = sort_results(family)[0].held_out.rows
    rivals = {one.name: one.held_out for one in family if np.isin(rows, one.held_out.rows).all()}
    if len(rivals) < 2:
        return tuple(results)
    chosen = [np.isin(held.rows, rows) for held in rivals.values()]
    log_prob = [held.log_prob[k] for held, k in zip(rivals.values(), chosen, strict=True)]
    first = next(iter(rivals.values())).clusters
    clusters = None if first is None else first[chosen[0]]
    p = compute_probabilities(np.stack(log_prob, axis=1), clusters, seed=seed)
    of = dict(zip(rivals, p.tolist(), strict=True))
    return tuple(replace(one, probability_best=of.get(one.name)) for one in results)


def compute_probabilities(
    log_prob: Array, clusters: NDArray[Any] | None = None, *, seed: int = 0
) -> Array:
    """Return the probability that each of K models has the highest mean of log_prob, (n, K).

    The Bayesian bootstrap gives every row, or every cluster of dependent rows, an independent
    exponential weight, and counts how often each model is the best.
    """
    rng = np.random.default_rng(seed)
    sums = _sum_blocks(log_prob, clusters, _MOST_BLOCKS, rng)
    best = np.argmax(rng.exponential(size=(_DRAWS, len(sums))) @ sums, axis=1)
    return np.bincount(best, minlength=log_prob.shape[1]) / _DRAWS
