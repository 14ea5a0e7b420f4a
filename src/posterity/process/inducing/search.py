"""Kernel parameters, noise and inducing points of a Gaussian process, by the largest bound.

A climb on a thousand rows without inducing points brings the parameters close. Points are then
chosen greedily, and everything climbs together, a few steps at a time: while a fresh choice of
points, made by the kernel as it has become, beats the points as they have moved, it replaces them.

Of very many rows a sample in memory tells where they lie and how large values are. Only the bound
is of all of them, and may be summed wherever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import arrays, kernels, linalg, optimize
from posterity.arrays import Array, to_numpy
from posterity.inference.observations import HeldRows, ObservedRows
from posterity.inference.search import maximise_evidence
from posterity.process import search as process_search
from posterity.process.inducing import bound as inducing
from posterity.process.inducing import selection

_COARSE_ROWS = 1000
_ROUND = 10  # iterations before points are chosen again
_LEAST_GAIN = 1e-2  # nats
_SAMPLE = 64  # rows from which the reach of a kernel is measured
_STEP = 1e-2  # of a column's spread, to measure it
_LONGEST = 10.0  # of a column's spread


def maximise_inducing_bound(
    problem: process_search.ProcessProblem,
    points: int | Any,
    observed: ObservedRows | None = None,
    *,
    optimise_points: bool = True,
    starts: Sequence[Array] = (),
    max_iter: int = 100,
    n_jobs: int | None = None,
    rng: np.random.Generator,
) -> process_search.LearnedProcess:
    """Tune what the problem leaves free, and the inducing points.

    The optimum is that of the last climb, its ``x`` the log parameters without the points.

    Parameters
    ----------
    problem : ProcessProblem
        Rows, observations, kernel and noise, and between what they may be tuned.
    points : int, or like the rows
        How many to choose at most, or the inducing points to start from.
    observed : ObservedRows, optional
        The rows that the bound is of, where those of the problem are but a sample of them.
    optimise_points : bool, default=True
        Whether they move; points of kernels that take objects never do.
    starts : sequence of array (P,)
        Log parameters to start from, beside those of the problem.
    max_iter : int, default=100
        Iterations on all rows. This is a budget: points still move a little when it is spent,
        and no warning is given.
    n_jobs : int, optional
        Climbs at a time on the first thousand rows.
    rng : Generator
        Draws those rows.
    """
    n = problem.observations.n_rows
    few = np.sort(rng.permutation(n)[:_COARSE_ROWS])
    coarse = maximise_evidence(
        problem.select_rows(few),
        starts=starts,
        max_iter=max_iter,
        n_jobs=n_jobs,
        rng=rng,
        announce=False,
    )
    moving = optimise_points and problem.kernel.takes_vectors
    search = _Search(problem, observed or HeldRows(problem.X, problem.observations), moving)
    if isinstance(points, int | np.integer):
        theta, Z, best = search.with_choice(coarse.optimum.x, int(points), max_iter)
    else:
        start, _ = search.lift_noise(coarse.optimum.x, points)
        theta, Z, best = search.climb(start, points, max_iter)
    kernel, noise = problem.unpack_parameters(theta)
    return process_search.LearnedProcess(kernel, noise, best, coarse.probes, Z)


@dataclass(frozen=True)
class _Search:
    """Climbs of the bound over log parameters and, where they move, inducing points."""

    problem: process_search.ProcessProblem
    observed: ObservedRows
    moving: bool

    def with_choice(
        self, theta: Array, n_points: int, max_iter: int
    ) -> tuple[Array, Any, optimize.Optimum]:
        """Climb in rounds, each from the better of fresh points and those that have moved."""
        Z = self.choose_points(theta, n_points)
        theta, _ = self.lift_noise(theta, Z)
        left = max_iter
        while left > _ROUND:
            theta, Z, best = self.climb(theta, Z, _ROUND)
            left -= _ROUND
            fresh = self.choose_points(theta, n_points)
            lifted, value = self.lift_noise(theta, fresh)
            if value <= -best.value:
                if best.converged:
                    return theta, Z, best
                break
            theta, Z = lifted, fresh
        return self.climb(theta, Z, left)

    def choose_points(self, theta: Array, n_points: int) -> Any:
        """Rows that the kernel at theta finds hardest to tell from others."""
        X, (kernel, _) = self.problem.X, self.problem.unpack_parameters(theta)
        total = self.problem.add_mean_prior(kernel)
        indices = selection.select_greedily(total, X, n_points)
        return kernels.rows.select_rows(X, indices)

    def lift_noise(self, theta: Array, Z: Any) -> tuple[Array, float]:
        """Theta with noise no smaller than the variance that Z leaves; the bound, with the prior.

        What points do not carry is noise to the bound, which falls as the inverse of a smaller one.
        Noise that was learned without points may be smaller by orders of magnitude, and a climb
        that starts there does not find its way out.
        """
        p = self.problem
        kernel, noise = p.unpack_parameters(theta)
        terms = inducing.sum_terms(p.add_mean_prior(kernel), noise, self.observed, Z)
        if p.noise_bounds is not None and terms.left_variance > noise:
            lifted = min(terms.left_variance, p.noise_bounds[1])
            terms, theta = terms.with_noise(lifted), np.append(theta[:-1], np.log(lifted))
        return theta, terms.log_bound() + p.log_prior(theta)[0]

    def climb(self, theta: Array, Z: Any, max_iter: int) -> tuple[Array, Any, optimize.Optimum]:
        """L-BFGS from there."""
        P, p = len(theta), self.problem
        reach = (
            _reach(p.add_mean_prior(p.unpack_parameters(theta)[0]), p.X) if self.moving else None
        )
        bound = _Bound(p, self.observed, Z, P, reach)
        if not bound.n_variables:
            given = optimize.Optimum(theta, bound(theta)[0], theta, 0, "everything was given", True)
            return theta, Z, given
        n_moves = bound.n_variables - P
        best = optimize.minimise_lbfgs(
            bound,
            np.append(theta, np.zeros(n_moves)),
            bounds=[*map(tuple, p.limits), *[(-np.inf, np.inf)] * n_moves],
            names=p.names + ["point"] * n_moves,
            max_iter=max_iter,
            least_gain=_LEAST_GAIN,
            announce=False,  # that iterations ran out is no news where they are a budget
        )
        found = replace(best, x=best.x[:P], gradient=best.gradient[:P])
        return found.x, bound.points(best.x), found


@dataclass(frozen=True)
class _Bound:
    """Minus the bound, as a function of log parameters and of how far points are from Z.

    Points move in units of how far the kernel reaches. Along a column that has no slope, such as
    one of categories, they stay where they were to the last bit.
    """

    problem: process_search.ProcessProblem
    observed: ObservedRows
    Z: Any
    n_parameters: int
    reach: Array | None  # (D,); None: points stay

    @property
    def n_variables(self) -> int:
        """Number of variables of the search: parameters, and coordinates of points that move."""
        moves = 0 if self.reach is None else self.Z.shape[0] * self.Z.shape[1]
        return self.n_parameters + moves

    def points(self, x: Array) -> Any:
        """The inducing points at x."""
        if self.reach is None:
            return self.Z
        moves = x[self.n_parameters :].reshape(self.Z.shape) * self.reach
        return self.Z + arrays.like(self.Z, moves)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value and its gradient; infinite where K_uu is not positive definite."""
        p, P = self.problem, self.n_parameters
        kernel, noise = p.unpack_parameters(x[:P])
        try:
            value, gradient, slopes = inducing.compute_bound(
                p.add_mean_prior(kernel), noise, self.observed, self.points(x)
            )
        except linalg.NotPositiveDefiniteError:
            return np.inf, np.zeros_like(x)
        log_prior, slope = p.log_prior(x[:P])
        moves = [] if self.reach is None else [(to_numpy(slopes) * self.reach).ravel()]
        return -value - log_prior, -np.concatenate([gradient[:P] + slope, *moves])


def _reach(kernel: kernels.Kernel, X: Any) -> Array:
    """Distance along each column at which values differ by as much as they vary, (D,).

    From how much they differ, E (f(x + h) - f(x))^2, at a small distance h: the length scale of a
    smooth stationary kernel.
    """
    rows = X[:: max(1, X.shape[0] // _SAMPLE)]
    h = _STEP * kernels.scales.column_deviations(X)
    variance = float(np.mean(to_numpy(kernel.diag(rows))))
    reaches = np.empty(len(h))
    for d, step in enumerate(np.diag(h)):
        moved = rows + arrays.like(X, step)
        here, there, across = (
            np.trace(to_numpy(kernel(A, B))) / len(rows)
            for A, B in ((rows, rows), (moved, moved), (rows, moved))
        )
        differ = (here + there - 2.0 * across) / variance
        reaches[d] = h[d] / np.sqrt(max(differ, (_STEP / _LONGEST) ** 2))
    return reaches
