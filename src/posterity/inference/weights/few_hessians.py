"""The mode of many weights from few Hessians.

A Hessian of P weights costs N P^2 operations and a gradient N P, so from some hundred weights on a
Newton step costs as much as tens of gradients. Here each Hessian serves several steps of BFGS, in
coordinates in which it is the identity; the next one is formed where these steps end. The first
one may come from the mode under another prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from posterity import linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.problem import (
    PosteriorObjective,
    WeightProblem,
    Weights,
    weights_from_optimum,
)

_EPS = float(np.finfo(np.float64).eps)
_EXPENSIVE = 2e8  # operations of a Hessian
_MANY_WEIGHTS = 64  # from which a gradient costs a small part of what a Hessian does
_STEPS = 20  # of BFGS for each Hessian: together about as expensive as the next one
_LAST_STEPS = 4  # judged by their gradients, where rounding hides what they gain
_NEGLIGIBLE = 0.01  # of the rounding error of the value: the Hessian need not follow such a step


def are_worthwhile(problem: WeightProblem) -> bool:
    """Whether gradients are cheap beside Hessians, and Hessians are positive definite."""
    M, J = problem.shape
    return (
        M * J >= _MANY_WEIGHTS
        and problem.design.n_rows * float(M * J) ** 2 > _EXPENSIVE
        and problem.design.in_memory
        and problem.targets.is_concave
        and not problem.prior.is_flat
    )


def find_mode(
    problem: WeightProblem, W: Array, L: Array | None = None, *, max_hessians: int
) -> Weights:
    """Return the mode, and the Hessian there to a ten-millionth.

    Parameters
    ----------
    problem : WeightProblem
        Rows of a log-concave likelihood, under a prior that is not flat.
    W : array (M, J)
        Where to begin.
    L : array (P, P), optional
        Cholesky factor of a Hessian near the mode. None: it is formed at ``W``.
    max_hessians : int
        Number of Hessians after which the search gives up.
    """
    passes = PosteriorObjective(problem, hessian=True, surely_positive=False)
    x, n_iter, converged, n_hessians = problem.prior.pack(W), 0, False, 0
    if L is None:
        L = passes.factorise_hessian(x)
    while not converged and n_hessians < max_hessians:
        x, n_steps = _take_cheap_steps(problem, x, L)
        L = passes.factorise_hessian(x)
        step = linalg.solve_cholesky(L, passes.gradient(x))
        gain = 0.5 * float(step @ passes.gradient(x))
        converged = gain <= _NEGLIGIBLE * _round_off(passes.value(x))
        n_iter, n_hessians = n_iter + n_steps, n_hessians + 1
    reason = f"after {n_hessians} Hessians a Newton step promised to gain {gain:.0e}"
    end = optimize.Optimum(x - step, passes.value(x), passes.gradient(x), n_iter, reason, converged)
    return replace(weights_from_optimum(problem, end), hessian=passes.H)


def _take_cheap_steps(problem: WeightProblem, x: Array, L: Array) -> tuple[Array, int]:
    """Take steps of BFGS in coordinates in which L L^T is the identity; return their number too."""
    passes = PosteriorObjective(problem, hessian=False, surely_positive=False)

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, g = passes.value_and_gradient(x + linalg.solve_lower_transposed(L, u))
        return value, linalg.solve_lower(L, g)

    end = optimize.minimise_bfgs(
        value_and_gradient,
        np.zeros_like(x),
        inverse_hessian=np.eye(len(x)),
        max_iter=_STEPS,
        tol=0.0,
        announce=False,
    )
    if end.converged:
        end = _take_last_steps(value_and_gradient, end)
    return x + linalg.solve_lower_transposed(L, end.x), end.n_iter


def _take_last_steps(
    value_and_gradient: Callable[[Array], tuple[float, Array]], end: optimize.Optimum
) -> optimize.Optimum:
    """Follow the gradient to where its steps are negligible; values no longer tell them apart."""
    H, least = end.inverse_hessian, np.sqrt(2.0 * _NEGLIGIBLE * _round_off(end.value))
    for _ in range(_LAST_STEPS):
        if H is None or np.linalg.norm(end.gradient) <= least:
            break
        u = end.x - H @ end.gradient
        end = replace(end, x=u, gradient=value_and_gradient(u)[1], n_iter=end.n_iter + 1)
    return end


def _round_off(value: float) -> float:
    return _EPS * (1.0 + abs(value))
