"""The mode of weights in any design under any likelihood, by Newton's method.

Every step is one pass over the rows.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace

import numpy as np

from posterity import designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights import few_hessians
from posterity.inference.weights.problem import (
    PosteriorObjective,
    SeparatedError,
    WeightProblem,
    Weights,
    weights_from_optimum,
)
from posterity.inference.weights.targets import RowTargets

_MAX_ITER = 100
_NEARLY = 1e-8
_STILL_GOING = 0.1  # latent values by which a step at the end moves a row that is told apart
_LEVEL = 1e-6  # of that: a row that a step does not move
_ROUNDING = (0.0, 1e-15, 1e-14, 1e-13, 1e-12)  # of the mean diagonal
_FREE = 1e-11  # of the largest curvature: a direction in which only sure rows move
_SEPARATED = "the classes are separable, so the likelihood has no maximum at finite weights"


def find_mode(
    problem: WeightProblem,
    start: Array | None = None,
    factor: Array | None = None,
    *,
    exactly: bool = True,
    tol: float = 1e-12,
    max_iter: int = _MAX_ITER,
) -> Weights:
    """The weights of the largest posterior, or likelihood where the prior is flat.  [P9 9.8]

    Parameters
    ----------
    problem : WeightProblem
    start : array (M, J), optional
        Where to begin. None: from zero; where a Hessian is expensive, from a sample of the rows.
    factor : array (P, P), optional
        Cholesky factor of a matrix like the Hessian, which saves the first where one is expensive.
    exactly : bool, default=True
        End with Newton steps, and so with a gradient that is zero to rounding. False: where a
        Hessian is expensive, do without.
    tol : float
        What a step must promise to gain to be taken, as a part of the value.
    max_iter : int
    """
    try:
        return _find_mode_of_all(problem, start, factor, exactly, tol, max_iter)
    except SeparatedError as found:
        x = found.x.reshape(problem.shape)
        return Weights(x, np.nan, np.nan, 0, _SEPARATED, converged=False, separable=True)


def _find_mode_of_all(
    problem: WeightProblem,
    start: Array | None,
    factor: Array | None,
    exactly: bool,
    tol: float,
    max_iter: int,
) -> Weights:
    x0 = np.zeros(problem.shape) if start is None else start
    if start is None and problem.prior.mask is None and few_hessians.is_expensive(problem):
        near = few_hessians.approach_mode(problem, tol)
        if (
            not exactly
            and near.converged
            and not few_hessians.may_grow_without_end(problem, near.W)
        ):
            return near
        x0 = near.W
    with linalg.limit_threads(x0.size):
        if few_hessians.are_worthwhile(problem):
            # Where a Hessian has no factor, Newton's method shifts it until it has one.
            with contextlib.suppress(linalg.NotPositiveDefiniteError):
                return few_hessians.find_mode(problem, x0, factor, max_hessians=max_iter)
        if problem.targets.is_concave:
            return _run_newton(problem, x0, tol, max_iter, surely_positive=False)
        climbed = _run_newton(problem, x0, _NEARLY, max_iter, surely_positive=True)
        return _run_newton(problem, climbed.W, tol, max_iter, surely_positive=False)


def _run_newton(
    problem: WeightProblem, W0: Array, tol: float, max_iter: int, *, surely_positive: bool
) -> Weights:
    passes = PosteriorObjective(problem, hessian=True, surely_positive=surely_positive)
    x0 = problem.prior.pack(W0)
    dependent = problem.prior.is_flat and passes.hold_idle(x0)
    with warnings.catch_warnings():
        # Whether to speak of it is for the caller to say, who knows what the search was for.
        warnings.simplefilter("ignore", optimize.ConvergenceWarning)
        best = optimize.minimise_newton(
            passes.value, passes.gradient, passes.solve_shifted, x0, max_iter=max_iter, tol=tol
        )
    found = weights_from_optimum(problem, best)
    endless = _is_nearly_separable(passes, best.x)
    H = None if surely_positive else passes.hessian(best.x)
    return replace(found, separable=endless, dependent=dependent, hessian=H)


def _is_nearly_separable(passes: PosteriorObjective, x: Array) -> bool:
    """Whether a step goes on for ever: it favours no row's other class, and gains all the same.

    Then some rows are separable from all others of another class, and the likelihood rises towards
    its bound for weights of any size.
    """
    p = passes.problem
    if not (p.prior.is_flat and p.targets.are_classes):
        return False
    step = _compute_last_step(passes, x)
    reach, margin = _measure_step(p, step)
    if reach <= _STILL_GOING or margin > -_LEVEL * reach:
        return reach > _STILL_GOING
    # Rows that are sure already do not hold a step: look where the weights have gone instead.
    values, V = linalg.symmetric.eigh(passes.H)
    free = V[:, values <= _FREE * values[-1]]
    reach, margin = _measure_step(p, free @ (free.T @ x))
    return margin > -_LEVEL * reach


def _measure_step(problem: WeightProblem, step: Array) -> tuple[float, float]:
    """The most by which a step moves a row, and the least by which it favours a target."""
    W = step.reshape(problem.shape)

    def look(part: designs.Design, t: RowTargets) -> list[designs.Minimum]:
        P = part @ W
        reach = float(np.max(np.abs(P), initial=0.0))
        return [designs.Minimum(-reach), designs.Minimum(t.margin(t.steps(P)))]

    reach, margin = problem.targets.sum_over_parts(problem.design, look)
    return -reach.value, margin.value


def _compute_last_step(passes: PosteriorObjective, x: Array) -> Array:
    """Newton's step from the end; rows that are sure need not curve beyond rounding."""
    for shift in _ROUNDING:
        try:
            return -passes.solve_shifted(x, passes.gradient(x), shift)
        except linalg.NotPositiveDefiniteError:
            continue
    return np.zeros_like(x)
