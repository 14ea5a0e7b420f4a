"""Score the mixture of the best models on the folds that they have run, and find its weights."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import logsumexp

from posterity import distributions, linalg, tables
from posterity.arrays import Array
from posterity.comparison import race, row_scores, stacks
from posterity.comparison.candidate import Candidate
from posterity.comparison.folds import TableFolds
from posterity.comparison.results import HeldOut
from posterity.comparison.trial import FoldRun, Trial

_MAX_ITERATIONS = 100
_TOLERANCE = 1e-9  # of the log score, in nats per row
_PRICE = 2.0  # nats that a model must add to the log score of all rows to be kept
_RIDGE = 1e-10  # of the curvature: models that agree on all rows make it singular


def learn_weights(log_prob: Array) -> Array:
    """Return the weights, (K,), that maximise the mean log probability of a mixture.

    The problem is concave: maximise mean_n log sum_k w_k p_nk over weights that are not negative
    and sum to 1. With the sum of the weights subtracted in place of the constraint the maximum is
    the same, and every Newton step is a least-squares problem over weights that are not negative.
    A model that adds less than two nats to the log score of all rows together has no weight: so
    much is gained by chance, and each costs a fit.

    Parameters
    ----------
    log_prob : ndarray of shape (n, K)
        Log probability of the observed value of each row according to each model.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.comparison.stack_trial import learn_weights
    >>> p = np.repeat([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], 20, axis=0)
    >>> learn_weights(np.log(p)).round(3)
    array([0.708, 0.292])
    """
    p = np.exp(log_prob - log_prob.max(axis=1, keepdims=True))
    kept = np.arange(p.shape[1])
    w = maximise_score(p)
    while len(kept) > 1:
        fewer = np.delete(np.arange(len(kept)), int(np.argmin(w)))
        smaller = maximise_score(p[:, kept[fewer]])
        with np.errstate(divide="ignore"):
            lost = np.sum(np.log(p[:, kept] @ w)) - np.sum(np.log(p[:, kept[fewer]] @ smaller))
        if not lost < _PRICE:
            break
        kept, w = kept[fewer], smaller
    weights = np.zeros(p.shape[1])
    weights[kept] = w
    return weights


def maximise_score(p: Array) -> Array:
    """Return the weights at the maximum, by Newton steps with a line search.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Probabilities of the observed values, those of a row up to a common factor.
    """
    n, K = p.shape
    w = np.full(K, 1.0 / K)
    for _ in range(_MAX_ITERATIONS):
        ratio = p / (p @ w)[:, None]
        slope = ratio.sum(axis=0) / n - 1.0
        H = ratio.T @ ratio / n
        L = linalg.cholesky(H + _RIDGE * np.trace(H) * np.eye(K))
        # min (x - w)' H (x - w) / 2 - slope' (x - w) over x >= 0
        target = linalg.solve_lower(L, H @ w + slope)
        step = optimize.nnls(L.T, target)[0] - w
        gain = float(slope @ step)
        if gain <= _TOLERANCE:
            break
        w = _search_along(p, w, step, gain)
    return w / w.sum()


def _search_along(p: Array, w: Array, step: Array, gain: float) -> Array:
    """Halve a step until the objective rises by a part of what its slope promises."""
    now, length = _objective(p, w), 1.0
    while length > 1e-10:
        further = np.maximum(w + length * step, 0.0)
        if _objective(p, further) >= now + 1e-4 * length * gain:
            return further
        length *= 0.5
    return w


def _objective(p: Array, w: Array) -> float:
    mixed = p @ w
    return float(np.mean(np.log(mixed)) - w.sum()) if np.all(mixed > 0.0) else -np.inf


STACK = "stack"
"""Name of the mixture in a ranking."""

_FEWEST_ROWS = 50  # held out; weights of fewer are mostly noise
_MOST_MEMBERS = 8
_ALONE = 0.99  # a mixture with this weight on one model is that model


def stack_models(trials: Sequence[Trial], parts: TableFolds) -> Trial | None:
    """Return the mixture of the models that ran all folds; None if it is not worthwhile.

    The weights in a fold are learned from the held-out rows of the other folds, so that the score
    of the mixture can be compared with those of the models.
    """
    n_folds = len(parts.folds)
    members = _select_members(trials, parts)
    if len(members) < 2 or any(one.candidate.name == STACK for one in trials):
        return None
    log_prob = [
        np.stack([one.runs[k].said.held_out.log_prob for one in members], axis=1)
        for k in range(n_folds)
    ]
    if sum(map(len, log_prob)) < _FEWEST_ROWS:
        return None
    weights = learn_weights(np.concatenate(log_prob))
    if weights.max() > _ALONE:
        return None
    views = [one.candidate.view for one in members]
    estimator = _stack(members, weights, [one.candidate.estimator for one in members])
    view: Any = "groups" if "groups" in views else "plain"
    found = Trial(Candidate(STACK, estimator, view=view))
    for k in range(n_folds):
        others = np.concatenate([part for j, part in enumerate(log_prob) if j != k])
        found.runs.append(_mix_runs(members, k, learn_weights(others), weights))
    return found


def _select_members(trials: Sequence[Trial], parts: TableFolds) -> list[Trial]:
    """Return the best models with densities or classes, if they include the best of all.

    Where numbers are missing, models that take them as such are not mixed with others, since a
    stack has one encoding of the inputs.
    """
    n_folds = len(parts.folds)
    complete = [
        one
        for one in trials
        if not one.candidate.baseline and one.is_running and len(one.runs) == n_folds
    ]
    ranked = sorted(complete, key=lambda one: -one.mean_of_folds(n_folds))
    if n_folds < 2 or not ranked or not _can_be_mixed(ranked[0]):
        return []
    if race.find_best(trials) is not ranked[0]:  # it was stopped for its time
        return []
    if parts.folds[0].with_missing is not None:
        kept = tables.accepts_missing(ranked[0].candidate.estimator)
        ranked = [one for one in ranked if tables.accepts_missing(one.candidate.estimator) == kept]
    return [one for one in ranked if _can_be_mixed(one)][:_MOST_MEMBERS]


def _can_be_mixed(one: Trial) -> bool:
    return all(isinstance(dist, distributions.Continuous) for _, dist in one.runs[0].said.pieces)


def _stack(
    members: Sequence[Trial], weights: Array, models: Sequence[Any], *, fitted: bool = False
) -> Any:
    return stacks.stack_estimators(
        [one.candidate.name for one in members],
        models,
        weights,
        [one.candidate.view for one in members],
        fitted=models if fitted else None,
    )


def _mix_runs(members: Sequence[Trial], k: int, weights: Array, final: Array) -> FoldRun:
    """Mix the predictions of one fold; times are those of the models with a final weight."""
    runs = [one.runs[k] for one in members]
    used = np.flatnonzero(weights)
    held_out = mix_held_out([runs[i].said.held_out for i in used], weights[used])
    pieces = tuple(
        (batch[0][0], stacks.mix_distributions([dist for _, dist in batch], weights[used]))
        for batch in zip(*(runs[i].said.pieces for i in used), strict=True)
    )
    timed = [runs[i] for i in np.flatnonzero(final)]
    models = [run.estimator for run in runs]
    is_kept = all(models[i] is not None for i in used)
    return FoldRun(
        _stack(members, weights, models, fitted=True) if is_kept else None,
        row_scores.BatchPredictions(held_out, pieces),
        sum(run.fit_seconds for run in timed),
        sum(run.predict_seconds for run in timed),
    )


def mix_held_out(parts: Sequence[HeldOut], weights: Array) -> HeldOut:
    """Return the predictions of a mixture from those of its models, all but the quantiles."""

    def average(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if values[0] is None:
            return None
        return sum(w * value for w, value in zip(weights, values, strict=True))

    log_prob = np.stack([part.log_prob for part in parts], axis=1)
    return replace(
        parts[0],
        log_prob=logsumexp(log_prob + np.log(weights), axis=1),
        mean=average("mean"),
        pit=average("pit"),
        probabilities=average("probabilities"),
    )
