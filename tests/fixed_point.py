"""The textbook's way to hidden precisions, by which the sequential steps are checked.

All columns are in at first, and every precision is moved at once [P8 8.36, P9 9.43].

It climbs the objective of the sequential steps, so that the ends of both are alike; from the other
side, and at the cost of a factorisation of all columns. A step that would lower the objective is
shortened. A column goes when the objective is better without it, and comes back when it is not.
"""

from __future__ import annotations

import numpy as np
from fixed_point_models import (
    LaplaceObjective,
    LaplaceState,
    NormalObjective,
    PrecisionObjective,
    PrecisionState,
)

from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock, CandidateColumns
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.problem import Chosen, Ending, SparseProblem

_LARGEST_STEP = 5.0  # in the log of a precision
_HALVINGS = 30
_EVEN_FACTOR = 4.0
_EVEN_STEPS = 20
_SOME_EFFECT = 0.5
_BARELY = 0.01  # of a weight's information: what data tell of one that is on its way out
_COMING_BACK = (1.0, 10.0, 100.0)  # times the precision that a simpler model of the rows likes best
_PRECISIONS = np.exp(np.arange(-16.0, 12.0, 0.25))  # in units of a sparsity


def alternate_normal(
    candidates: CandidateColumns,
    Y: Array,
    weights: Array | None,
    problem: SparseProblem,
    noise_variance: Array | None = None,
) -> Chosen:
    """Choose columns for K outputs Y (N, K) in normal noise, learned where it is None.

    Hidden precisions, then the posterior of the weights and the noise, then hidden precisions again
    [P8 8.36-8.39]. All columns are in memory, and in the model, at first.
    """
    block = _all_columns(candidates)
    model = NormalObjective.from_columns(
        block.copy_to_host(),
        Y,
        weights,
        centred=problem.offset,
        noise_variance=noise_variance,
        prior=problem.prior,
    )
    return _to_chosen(block, *climb_precisions(model, problem.tol, problem.max_iter))


def alternate_laplace(
    candidates: CandidateColumns, targets: RowTargets, problem: SparseProblem
) -> tuple[Chosen, LaplaceFit]:
    """Choose columns for any likelihood; the J weights of a column share one [P9 9.40-9.43]."""
    block = _all_columns(candidates)
    model = LaplaceObjective(block.copy_to_host(), targets, problem.offset, problem.prior)
    state, end = climb_precisions(model, problem.tol, problem.max_iter)
    assert isinstance(state, LaplaceState)
    return _to_chosen(block, state, end), state.fit


def _all_columns(candidates: CandidateColumns) -> CandidateBlock:
    """All columns at once."""
    if candidates.is_held:
        return next(candidates.blocks())
    return candidates.take_columns(np.arange(candidates.n_columns))


def _to_chosen(block: CandidateBlock, state: PrecisionState, end: Ending) -> Chosen:
    used = np.flatnonzero(np.isfinite(state.h))
    return Chosen(
        places=block.places[used],
        precision=state.h[used],
        center=block.center[used],
        scale=block.scale[used],
        value=state.value,
        n_iter=end.n_iter,
        stop_reason=end.stop_reason,
        converged=end.converged,
    )


def climb_precisions(
    model: PrecisionObjective, tol: float, max_iter: int
) -> tuple[PrecisionState, Ending]:
    """Move all precisions to where they are stationary, until nothing gains more than ``tol``."""
    least = max(tol, model.rounding_error)
    now = _share_precision(model)
    for i in range(max_iter):
        moved = _drop_columns(model, _move_precisions(model, now), _BARELY)
        if moved.value - now.value <= least:
            rested = _add_column(model, _drop_columns(model, moved, np.inf), least)
            if rested.value - moved.value <= least:
                reason = "no precision that moves, no column that goes or comes gains more than tol"
                return rested, Ending(i + 1, reason, converged=True)
            moved = rested
        now = moved
    return now, Ending(max_iter, "the limit of iterations was reached", converged=False)


def _share_precision(model: PrecisionObjective) -> PrecisionState:
    """The best precision that all columns can share, to a factor.

    Where there is little to explain that is a precision without end, from which none would ever
    come back: some column is to be of some effect.
    """
    best = model.evaluate_at(model.even_precisions(), None)
    for factor in (1.0 / _EVEN_FACTOR, _EVEN_FACTOR):
        for _ in range(_EVEN_STEPS):
            further = model.evaluate_at(factor * best.h, best)
            if not further.value > best.value or np.max(further.told, initial=0.0) < _SOME_EFFECT:
                break
            best = further
    return best


def _move_precisions(model: PrecisionObjective, now: PrecisionState) -> PrecisionState:
    """Each precision goes uphill, so that a step short enough gains."""
    step = np.clip(now.step, -_LARGEST_STEP, _LARGEST_STEP)
    for _ in range(_HALVINGS):
        moved = model.evaluate_at(now.h * np.exp(step), now)
        if moved.value >= now.value - model.rounding_error:
            return moved
        step = 0.5 * step
    return now


def _drop_columns(model: PrecisionObjective, now: PrecisionState, told: float) -> PrecisionState:
    """Without the columns that are better out, of those the data tell no more about than ``told``.

    While precisions are on their way, a column may be worth nothing only because of others that
    will go.
    """
    out = np.flatnonzero((now.worth <= 0.0) & (now.told <= told))
    worst_first = out[np.argsort(now.worth[out], kind="stable")]
    while len(worst_first):
        h = now.h.copy()
        h[worst_first] = np.inf
        fewer = model.evaluate_at(h, now)
        if fewer.value >= now.value - model.rounding_error:
            return fewer
        worst_first = worst_first[: len(worst_first) // 2]
    return now


def _add_column(model: PrecisionObjective, now: PrecisionState, tol: float) -> PrecisionState:
    """With the column that gains most, if it gains more than ``tol``."""
    gain, precision = _gains_of_returning(model, *model.offers_of_excluded(now))
    gain -= model.prior.price(int(np.sum(np.isfinite(now.h))))
    if not np.max(gain, initial=0.0) > tol:
        return now
    best = int(np.argmax(gain))
    for factor in _COMING_BACK:
        h = now.h.copy()
        h[best] = factor * precision[best]
        more = model.evaluate_at(h, now)
        if more.value - now.value > tol:
            return more
    return now


def _gains_of_returning(model: PrecisionObjective, s: Array, u: Array) -> tuple[Array, Array]:
    """What each column gains, about, with the best of some precisions; and that precision."""
    left = np.flatnonzero(s > 0.0)
    h = s[left, None] * _PRECISIONS
    t = 1.0 / (h + s[left, None])
    gains = 0.5 * (model.n_outputs * np.log(h * t) + u[left, None] * t) + model.prior.penalty(h)
    best = np.argmax(gains, axis=1)
    gain, precision = np.zeros(len(s)), np.full(len(s), np.inf)
    i = np.arange(len(left))
    gain[left], precision[left] = gains[i, best], h[i, best]
    return gain, precision
