"""Least squares with a penalty sum |w|^q: the global minimum for q >= 1, a good local one below.

For q <= 1 the search starts where the penalty silences every weight and follows the solution down.
For q < 1 the objective has many local minima. Two paths are followed, one from the Lasso by
lowering q and one from least squares by raising the penalty; then every weight of the better one
is left out once, to see whether the others do better without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posterity.arrays import Array
from posterity.linear.penalized import descent
from posterity.linear.penalized.descent import DescentEnd, LqProblem, descend_coordinates

_MAX_PATH = 40
_POWERS = 6  # penalty powers from 1 down to q
_RISES = 10
_WEAKEST = 1e-3  # of the penalty, where the path from least squares begins
_ON_THE_WAY = 1e-5  # tolerance of a point that only starts the next one
_BETTER = 1e-9  # of the total: a smaller gain is not worth another round
_MAX_TRIALS = 200
CONVERGED = "no weight moves by more than the tolerance"
LOCAL = "local minimum: no weight moves by more than the tolerance"
LIMIT = "iteration limit"


@dataclass(frozen=True)
class LqWeights:
    """Minimising weights, and how they were found."""

    weights: Array  # (M,)
    objective: float
    n_iter: int  # sweeps, over all starts
    stop_reason: str
    converged: bool


def minimise_lq_squares(
    G: Array,
    c: Array,
    total: float,
    *,
    penalty: float | Array,
    penalty_power: float,
    tol: float = 1e-10,
    max_iter: int = 1000,
    start: Array | None = None,
) -> LqWeights:
    """Minimise total - 2 c.w + w.G w + sum_m penalty_m |w_m|^q over w.

    With G = Z.T W Z, c = Z.T W y and total = y.T W y of centred rows this is the penalised sum of
    squares with a free offset, and no row is needed any more.

    Parameters
    ----------
    G : array of shape (M, M)
        Gram matrix. A zero on its diagonal is a column without information: weight zero.
    c : array of shape (M,)
    total : float
    penalty : float or array of shape (M,)
        One for all weights, or one each; >= 0.
    penalty_power : float
        q > 0.
    tol : float, default=1e-10
        Largest change of a weight in one sweep, times the norm of its column, relative to the root
        of ``total``.
    max_iter : int, default=1000
        Sweeps for each point of a path.
    start : array of shape (M,), optional
        Descend from here only, without paths and trials.

    Examples
    --------
    >>> G, c = np.eye(2), np.array([3.0, 0.4])
    >>> minimise_lq_squares(G, c, 10.0, penalty=1.0, penalty_power=1.0).weights
    array([2.5, 0. ])
    """
    lam = 0.5 * np.broadcast_to(np.asarray(penalty, dtype=np.float64), c.shape)
    q = float(penalty_power) if lam.any() else 2.0  # without a penalty any power is right
    problem = LqProblem(G, c, float(total), lam, q, np.diagonal(G) > 0.0)
    limits = _StoppingRule(tol, max_iter)
    found = (
        _search_paths(problem, limits) if start is None else _follow_path([problem], start, limits)
    )
    objective = problem.total + 2.0 * problem.value(found.w, problem.gradient(found.w))
    reason = (CONVERGED if q >= 1.0 else LOCAL) if found.converged else LIMIT
    return LqWeights(found.w, max(objective, 0.0), found.n_iter, reason, found.converged)


@dataclass(frozen=True)
class _StoppingRule:
    """When to stop."""

    tol: float
    max_iter: int


def _search_paths(problem: LqProblem, limits: _StoppingRule) -> DescentEnd:
    """The minimum, by the paths that suit the power of the penalty."""
    nothing = np.zeros_like(problem.c)
    if problem.q > 1.0:
        return _follow_path([problem], nothing, limits)
    if problem.q == 1.0:
        return _follow_path(
            _falling_penalties(problem, _find_silencing_factor(problem)), nothing, limits
        )
    down = _follow_path(_falling_powers(problem), nothing, limits)
    up = _follow_path(_rising_penalties(problem), nothing, limits)
    return _leave_one_out(problem, _select_better(problem, down, up), limits)


def _follow_path(path: Sequence[LqProblem], start: Array, limits: _StoppingRule) -> DescentEnd:
    """The solution of the last problem, each solved from where the one before it ended."""
    found = DescentEnd(start, 0, True)
    for k, problem in enumerate(path, start=1):
        tol = limits.tol if k == len(path) else max(limits.tol, _ON_THE_WAY)
        step = descend_coordinates(problem, found.w, tol=tol, max_iter=limits.max_iter)
        found = replace(step, n_iter=found.n_iter + step.n_iter)
    return found


def _find_silencing_factor(problem: LqProblem) -> float:
    """By how much lam must be multiplied so that no weight leaves zero on its own."""
    j = np.flatnonzero(problem.free & (problem.lam > 0.0) & (problem.c != 0.0))
    h, q = problem.h[j], problem.q
    level = h * descent.jump_threshold(q) * (np.abs(problem.c[j]) / h) ** (2.0 - q)
    return float(np.max(level / problem.lam[j], initial=0.0))


def _falling_penalties(problem: LqProblem, highest: float) -> list[LqProblem]:
    """The same problem with the penalty halved, from ``highest`` times its own down to it."""
    n_halvings = math.ceil(math.log2(highest)) if highest > 1.0 else 0
    factors = np.geomspace(1.0, max(highest, 1.0), 1 + min(n_halvings, _MAX_PATH))
    return [replace(problem, lam=s * problem.lam) for s in factors[::-1]]


def _falling_powers(problem: LqProblem) -> list[LqProblem]:
    """From the Lasso, at the same part of the penalty that silences everything, down to q."""
    part = 1.0 / max(_find_silencing_factor(problem), 1.0)
    at_powers = [replace(problem, q=q) for q in np.linspace(1.0, problem.q, _POWERS)[:-1]]
    scaled = [replace(p, lam=part * _find_silencing_factor(p) * p.lam) for p in at_powers]
    return [*_falling_penalties(scaled[0], 1.0 / part), *scaled[1:], problem]


def _rising_penalties(problem: LqProblem) -> list[LqProblem]:
    """From least squares, through weak penalties, up to the penalty itself."""
    free = replace(problem, lam=np.zeros_like(problem.lam), q=2.0)
    factors = np.geomspace(_WEAKEST, 1.0, _RISES)
    return [free, *(replace(problem, lam=s * problem.lam) for s in factors)]


def _select_better(problem: LqProblem, first: DescentEnd, second: DescentEnd) -> DescentEnd:
    """The one of lower objective; the second must gain something to be preferred."""
    gain = _compute_objective(problem, first) - _compute_objective(problem, second)
    best = second if gain > _BETTER * problem.total else first
    return replace(best, n_iter=first.n_iter + second.n_iter)


def _compute_objective(problem: LqProblem, found: DescentEnd) -> float:
    return problem.value(found.w, problem.gradient(found.w))


def _leave_one_out(problem: LqProblem, start: DescentEnd, limits: _StoppingRule) -> DescentEnd:
    """Try, for every weight in turn, the minimum that is found after a time without it."""
    best = start
    for j in np.flatnonzero(start.w)[:_MAX_TRIALS]:
        free = problem.free.copy()
        free[j] = False
        w = best.w.copy()
        w[j] = 0.0
        trial = _follow_path([replace(problem, free=free), problem], w, limits)
        best = _select_better(problem, best, trial)
    return best
