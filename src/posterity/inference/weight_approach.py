"""Near the mode of weights without the Hessian of all rows.

Where a pass that forms the Hessian costs much more than one that does not, the mode is approached
by BFGS in coordinates in which the Hessian of a sample of the rows is the identity: it then needs
a handful of passes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posterity import designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weight_problem import (
    Passes,
    WeightProblem,
    Weights,
    flat_directions,
    weights_at,
)

_SAMPLED_ROWS = 5_000
_ROWS_A_WEIGHT = 40  # of the sample, at least
_DEAR = 2e8  # operations of a Hessian from which L-BFGS goes first
_MAX_ITER = 100
_SAMPLE_PRECISION = 1.0
_MANY = 300  # variables from which the whole of an inverse Hessian is too much to keep
_RIDGE = 1e-9  # of the mean diagonal: a preconditioner need not be exact, but must exist


def is_dear(problem: WeightProblem) -> bool:
    """Whether a pass that forms the Hessian costs much, and a sample of the rows much less."""
    M, J = problem.shape
    n = problem.design.n_rows
    return n * float(M * J) ** 2 > _DEAR and n > 2 * _sample_size(problem)


def _sample_size(problem: WeightProblem) -> int:
    return max(_SAMPLED_ROWS, _ROWS_A_WEIGHT * problem.design.n_columns)


def approach(problem: WeightProblem, tol: float) -> Weights:
    """The mode from a sample of the rows and then, where passes are cheap, from all by L-BFGS."""
    sample = _sampled(problem)
    start = _preconditioned(sample, np.zeros(problem.shape), sample, tol=1e-3)
    if not problem.design.in_memory:
        return replace(start, converged=False)  # it is where the sample ends, not all rows
    return _preconditioned(problem, start.W, replace(sample, prior=problem.prior), tol=tol)


def may_grow(problem: WeightProblem, W: Array) -> bool:
    """Whether weights may be growing without end, as far as a sample of the rows can tell.

    Weights that grow for ever leave the latent values of rows that are in doubt as they are. They
    cannot where rows in doubt have values of their own along every direction, for every class.
    """
    t = problem.targets
    if not (problem.prior.is_flat and t.are_classes):
        return False
    sample = _sampled(problem)
    Z = sample.design.rows(0, sample.design.n_rows)
    u = sample.targets.undecided(Z @ W)
    return any(flat_directions(Z.T @ (in_doubt[:, None] * Z)).size for in_doubt in u.T)


def _sampled(problem: WeightProblem) -> WeightProblem:
    """A sample of the rows, with a prior: it may be separable where all rows are not."""
    n, size = problem.design.n_rows, _sample_size(problem)
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    return replace(
        problem,
        design=problem.design.chosen(rows),
        targets=problem.targets.chosen(rows),
        prior=replace(problem.prior, precision=max(problem.prior.precision, _SAMPLE_PRECISION)),
    )


def _preconditioned(
    problem: WeightProblem, W0: Array, sample: WeightProblem, *, tol: float
) -> Weights:
    """L-BFGS in coordinates in which the Hessian of the sample at W0 is nearly the identity."""
    passes = Passes(problem, hessian=False, surely_positive=False)
    L, C = _kronecker_factors(sample, W0, problem.targets.total_weight)

    def weights(u: Array) -> Array:
        V = linalg.solve_lower_transposed(L, u.reshape(problem.shape))
        return W0 + linalg.solve_lower_transposed(C, V.T).T

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, g = passes.value_and_gradient(weights(u).reshape(-1))
        G = linalg.solve_lower(L, g.reshape(problem.shape))
        return value, linalg.solve_lower(C, G.T).T.reshape(-1)

    size = float(np.sqrt(2.0 * tol * max(1.0, problem.targets.total_weight)))
    u0 = np.zeros(W0.size)
    if len(u0) > _MANY:
        best = optimize.minimise_lbfgs(
            value_and_gradient, u0, max_iter=_MAX_ITER, tol=size, announce=False
        )
    else:
        best = optimize.minimise_bfgs(
            value_and_gradient,
            u0,
            inverse_hessian=np.eye(len(u0)),
            max_iter=_MAX_ITER,
            tol=size,
            announce=False,
        )
    W = weights(best.x)
    g = passes.gradient(W.reshape(-1))
    at = replace(best, x=W.reshape(-1), gradient=g)
    return weights_at(problem, at)


def _kronecker_factors(sample: WeightProblem, W: Array, total: float) -> tuple[Array, Array]:
    """Cholesky factors of matrices (M, M) and (J, J) whose Kronecker product is like the Hessian.

    For one output it is the Hessian of the sample, scaled to all rows.
    """
    t, J = sample.targets, sample.targets.n_outputs

    def terms(rows: slice, part: designs.Design) -> list[Array | float]:
        h = t.curvature(rows, t.latents(part @ W), surely_positive=True)
        return [part.gram(np.trace(h, axis1=1, axis2=2) / J), np.sum(h, axis=0)]

    G, V = sample.design.total(terms)
    V *= J / max(float(np.trace(V)), np.finfo(np.float64).tiny)
    G *= total / t.total_weight
    prior = replace(sample.prior, offset_precision=None, n_columns=len(G))
    return _factor(prior.add_to(G)), _factor(V)


def _factor(A: Array) -> Array:
    i = np.arange(len(A))
    A[i, i] += _RIDGE * float(np.mean(A[i, i])) + float(np.finfo(np.float64).tiny)
    return linalg.cholesky(A)
