"""The mode of many weights from few Hessians, or from the Hessian of a sample of the rows.

A Hessian of P weights costs N P^2 operations and a gradient N P, so from some hundred weights on a
Newton step costs as much as tens of gradients. Here each Hessian serves several steps of BFGS, in
coordinates in which it is the identity; the next one is formed where these steps end. The first
one may come from the mode under another prior.

Where a pass that forms the Hessian costs much more than one that does not, the mode is approached
by BFGS in coordinates in which the Hessian of a sample of the rows is the identity: it then needs
a handful of passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posterity import designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.problem import (
    PosteriorObjective,
    WeightProblem,
    Weights,
    find_flat_directions,
    weighted_gram,
    weights_from_optimum,
)
from posterity.inference.weights.targets import RowTargets

_EPS = float(np.finfo(np.float64).eps)
_EXPENSIVE = 2e8  # operations of a Hessian
_MANY_WEIGHTS = 64  # from which a gradient costs a small part of what a Hessian does
_STEPS = 20  # of BFGS for each Hessian: together about as expensive as the next one
_LAST_STEPS = 4  # judged by their gradients, where rounding hides what they gain
_NEGLIGIBLE = 0.01  # of the rounding error of the value: the Hessian need not follow such a step
_SAMPLED_ROWS = 5_000
_ROWS_A_WEIGHT = 40  # of the sample, at least
_MAX_ITER = 100
_SAMPLE_PRECISION = 1.0
_MOST_KEPT = 1000  # up to which the Hessian of the sample, and an inverse, are worth keeping
_LAST_STEP = 10.0  # times the gradient asked for: so much, or nearly, one more step takes away
_RIDGE = 1e-9  # of the mean diagonal: a preconditioner need not be exact, but must exist


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


def is_expensive(problem: WeightProblem) -> bool:
    """Whether a pass that forms the Hessian costs much, and a sample of the rows much less."""
    M, J = problem.shape
    n = problem.design.n_rows
    return n * float(M * J) ** 2 > _EXPENSIVE and n > 2 * _sample_size(problem)


def _sample_size(problem: WeightProblem) -> int:
    return max(_SAMPLED_ROWS, _ROWS_A_WEIGHT * problem.design.n_columns)


def approach_mode(problem: WeightProblem, tol: float) -> Weights:
    """The mode from a sample of the rows and then, where passes are cheap, from all by BFGS."""
    sample = _draw_sample(problem)
    nothing = np.zeros(problem.shape)
    crude = _KroneckerPreconditioner.from_sample(sample, nothing, sample.targets.total_weight)
    start = _minimise_preconditioned(sample, nothing, crude, tol=1e-4)
    if not problem.design.in_memory:
        return replace(start, converged=False)  # it is where the sample ends, not all rows
    likeness = replace(_thin_sample(sample), prior=problem.prior)
    small = start.W.size <= _MOST_KEPT
    kind = _HessianPreconditioner if small else _KroneckerPreconditioner
    shape = kind.from_sample(likeness, start.W, problem.targets.total_weight)
    return _minimise_preconditioned(problem, start.W, shape, tol=tol)


def may_grow_without_end(problem: WeightProblem, W: Array) -> bool:
    """Whether weights may be growing without end, as far as a sample of the rows can tell.

    Weights that grow for ever leave the latent values of rows that are in doubt as they are. They
    cannot where rows in doubt have values of their own along every direction, for every class.
    """
    t = problem.targets
    if not (problem.prior.is_flat and t.are_classes):
        return False
    sample = _thin_sample(_draw_sample(problem))
    u = sample.targets.mark_undecided(sample.design @ W)
    return any(find_flat_directions(sample.design.gram(in_doubt)).size for in_doubt in u.T)


def _draw_sample(problem: WeightProblem) -> WeightProblem:
    """A sample of the rows, with a prior: it may be separable where all rows are not."""
    n, size = problem.design.n_rows, _sample_size(problem)
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    design, targets = problem.targets.take_rows(problem.design, rows)
    return replace(
        problem,
        design=design,
        targets=targets,
        prior=replace(
            problem.prior, precision=np.maximum(problem.prior.precision, _SAMPLE_PRECISION)
        ),
    )


def _thin_sample(sample: WeightProblem) -> WeightProblem:
    """Half of a sample where that is enough: a Hessian costs as much as several passes."""
    n, M = sample.design.n_rows, sample.design.n_columns
    if n < 2 * _ROWS_A_WEIGHT * M:
        return sample
    design, targets = sample.targets.take_rows(sample.design, np.arange(0, n, 2))
    return replace(sample, design=design, targets=targets)


def _minimise_preconditioned(
    problem: WeightProblem,
    W0: Array,
    shape: _HessianPreconditioner | _KroneckerPreconditioner,
    *,
    tol: float,
) -> Weights:
    """BFGS in coordinates in which what is like the Hessian at W0 is the identity."""
    passes = PosteriorObjective(problem, hessian=False, surely_positive=False)

    def weights(u: Array) -> Array:
        return W0 + shape.weights(u.reshape(problem.shape))

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, g = passes.value_and_gradient(weights(u).reshape(-1))
        return value, shape.gradient(g.reshape(problem.shape)).reshape(-1)

    size = float(np.sqrt(2.0 * tol * max(1.0, problem.targets.total_weight)))
    best = _minimise_in_coordinates(value_and_gradient, np.zeros(W0.size), size)
    g = passes.gradient(weights(best.x).reshape(-1))
    end = _take_last_step(best, _LAST_STEP * size)
    return weights_from_optimum(problem, replace(end, x=weights(end.x).reshape(-1), gradient=g))


def _minimise_in_coordinates(
    value_and_gradient: Callable[[Array], tuple[float, Array]], u: Array, size: float
) -> optimize.Optimum:
    """To a gradient of this size, or near enough for one more step to lead there."""
    if len(u) > _MOST_KEPT:
        return optimize.minimise_lbfgs(
            value_and_gradient, u, max_iter=_MAX_ITER, tol=size, announce=False
        )
    climb = partial(optimize.minimise_bfgs, value_and_gradient, max_iter=_MAX_ITER, announce=False)
    near = climb(u, inverse_hessian=np.eye(len(u)), tol=_LAST_STEP * size)
    if _take_last_step(near, _LAST_STEP * size) is not near:
        return near
    return climb(near.x, inverse_hessian=near.inverse_hessian, tol=size)


def _take_last_step(best: optimize.Optimum, size: float) -> optimize.Optimum:
    """One more step without a pass to look where it led, if it is at most as long as the gradient.

    It is much longer along directions that hardly curve, in which weights may grow without end.
    """
    H = best.inverse_hessian
    if H is None or not best.converged or np.max(np.abs(H @ best.gradient)) > 2.0 * size:
        return best
    step = H @ best.gradient
    gain = 0.5 * float(step @ best.gradient)
    return replace(best, x=best.x - step, value=best.value - gain)


@dataclass(frozen=True)
class _HessianPreconditioner:
    """The Hessian of a sample, scaled to all rows."""

    L: Array  # (M J, M J), its Cholesky factor

    @classmethod
    def from_sample(cls, sample: WeightProblem, W: Array, total: float) -> _HessianPreconditioner:
        def terms(part: designs.Design, t: RowTargets) -> list[Array]:
            return [weighted_gram(part, t.curvature(t.latents(part @ W), surely_positive=True))]

        (H,) = sample.targets.sum_over_parts(sample.design, terms)
        H *= total / sample.targets.total_weight
        return cls(_factorise(sample.prior.add_precision(H)))

    def weights(self, U: Array) -> Array:
        """Return L^-T u, the weights at coordinates u."""
        return linalg.solve_lower_transposed(self.L, U.reshape(-1)).reshape(U.shape)

    def gradient(self, G: Array) -> Array:
        """Return L^-1 g, the gradient in these coordinates."""
        return linalg.solve_lower(self.L, G.reshape(-1)).reshape(G.shape)


@dataclass(frozen=True)
class _KroneckerPreconditioner:
    """A Kronecker product that is like the Hessian of a sample, for many weights."""

    L: Array  # (M, M), of the columns
    C: Array  # (J, J), of the outputs

    @classmethod
    def from_sample(cls, sample: WeightProblem, W: Array, total: float) -> _KroneckerPreconditioner:
        J = sample.targets.n_outputs

        def terms(part: designs.Design, t: RowTargets) -> list[Array]:
            h = t.curvature(t.latents(part @ W), surely_positive=True)
            return [part.gram(np.trace(h, axis1=1, axis2=2) / J), np.sum(h, axis=0)]

        G, V = sample.targets.sum_over_parts(sample.design, terms)
        V *= J / max(float(np.trace(V)), np.finfo(np.float64).tiny)
        G *= total / sample.targets.total_weight
        prior, i = sample.prior, np.arange(len(G))
        own = np.full(len(G), np.mean(prior.precision))
        own[: prior.n_weights] = np.mean(prior.precision_per_weight(J), axis=1)
        G[i, i] += own
        return cls(_factorise(G), _factorise(V))

    def weights(self, U: Array) -> Array:
        """L^-T U C^-1."""
        V = linalg.solve_lower_transposed(self.L, U)
        return linalg.solve_lower_transposed(self.C, V.T).T

    def gradient(self, G: Array) -> Array:
        """L^-1 G C^-T."""
        V = linalg.solve_lower(self.L, G)
        return linalg.solve_lower(self.C, V.T).T


def _factorise(A: Array) -> Array:
    i = np.arange(len(A))
    A[i, i] += _RIDGE * float(np.mean(A[i, i])) + float(np.finfo(np.float64).tiny)
    return linalg.cholesky(A)
