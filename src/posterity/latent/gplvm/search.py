"""The most probable latent points, with the numbers of every term that judges them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import joblib
import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from scipy import spatial

from posterity import linalg, optimize
from posterity.arrays import Array
from posterity.inference.search import Objective, negate_evidence
from posterity.latent.gplvm.placements import Placement
from posterity.latent.gplvm.terms import Decoder, Term


@dataclass(frozen=True)
class Coordinates:
    """x = origin + (L^-T t, unit t), for the first entries of x and for the others.

    Examples
    --------
    >>> coordinates = Coordinates(np.array([1.0, 5.0]), np.array([[4.0]]), np.array([0.1]))
    >>> coordinates.to_point(np.array([8.0, 2.0]))
    array([3. , 5.2])
    """

    origin: Array  # (P,)
    L: Array  # (K, K), lower factor of the curvature of the first K
    unit: Array  # (P - K,)

    def to_point(self, t: Array) -> Array:
        """The point x that has coordinates t."""
        K = len(self.L)
        step = linalg.solve_lower_transposed(self.L, t[:K])
        return self.origin + np.concatenate([step, self.unit * t[K:]])

    def pull_back(self, dx: Array) -> Array:
        """dL/dt, given dL/dx."""
        K = len(self.L)
        return np.concatenate([linalg.solve_lower(self.L, dx[:K]), self.unit * dx[K:]])

    def wrap_objective(self, objective: Objective) -> Objective:
        """A function of x and its gradient, as those of t."""

        def value_and_gradient(t: Array) -> tuple[float, Array]:
            value, dx = objective(self.to_point(t))
            return value, self.pull_back(dx)

        return value_and_gradient

    def limits(self, limits: Array) -> Array:
        """Those of t, (P, 2), given those of x; the first K have none."""
        K = len(self.L)
        others = (limits[K:] - self.origin[K:, None]) / self.unit[:, None]
        return np.vstack([limits[:K], others])


_ROUND = 25  # iterations, after which curvature is taken anew
_CHARTED = 4000  # coordinates, of which the curvature fits memory and is worth its factor
_PARAMETER_UNIT = 0.5  # times the deviation of a log variance
_POINT_UNIT = 7.0  # likewise, of inducing points
_LARGEST_UNIT = 0.3
_NOISE_STEP = 0.02  # of the log noise variance
_NOT_ENOUGH = "{} L-BFGS iterations were not enough"
_LEAST_GAIN = 1e-6  # nats for each value observed: valleys are long, and their ends say little


@dataclass(frozen=True)
class LatentPointProblem:
    """A sum of terms, as a function of where points are placed and of the terms' own numbers."""

    terms: tuple[Term, ...]
    placement: Placement
    n_values: int  # observed

    def pack(self, X: Array) -> Array:
        """The vector that a search from points X starts from."""
        return np.concatenate([self.placement.start(X), *(term.start for term in self.terms)])

    def unpack(self, x: Array) -> tuple[Array, tuple[Array, ...]]:
        """The latent points, and the own numbers of each term."""
        own, used = [], self.placement.size
        for term in self.terms:
            own.append(x[used : used + len(term.start)])
            used += len(term.start)
        return self.placement.points(x[: self.placement.size]), tuple(own)

    @property
    def limits(self) -> Array:
        """Bounds of all that is searched, (P, 2)."""
        free = np.tile([-np.inf, np.inf], (self.placement.size, 1))
        return np.vstack([free, *(term.limits for term in self.terms)])

    @property
    def names(self) -> list[str]:
        """Names of all that is searched."""
        own = [name for term in self.terms for name in term.names]
        return [f"latent {i}" for i in range(self.placement.size)] + own

    def objective(self) -> Objective:
        """Minus the sum of the terms and its gradient; infinite where a term has no value."""

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            X, own = self.unpack(x)
            answers = [term(X, numbers) for term, numbers in zip(self.terms, own, strict=True)]
            dX = np.sum([answer[1] for answer in answers], axis=0)
            slopes = [self.placement.pull_back(dX), *(answer[2] for answer in answers)]
            return sum(answer[0] for answer in answers), np.concatenate(slopes)

        return negate_evidence(value_and_gradient)

    def coordinates_at(self, x: Array) -> Coordinates:
        """Coordinates about x in which a step goes equally far; of too many points, as they are."""
        if not self._has_curvature:
            return Coordinates(x, np.empty((0, 0)), np.ones_like(x))
        return Coordinates(x, self._factor_curvature(x), self._units())

    def learn_noise(self, x: Array) -> Array:
        """The same point x with the noise variance of the largest Laplace evidence, if it is free.

        The most probable points follow the noise: each takes as much of its row's as it has
        coordinates. Integrated out, they do not: half the log determinant of their curvature is
        what they take.
        """
        if not self._has_curvature or "noise_variance" not in self.names:
            return x
        k = self.names.index("noise_variance")
        objective, low, high = self.objective(), x[k], self.limits[k, 1]

        def loss(log_noise: float) -> float:
            at = np.concatenate([x[:k], [log_noise], x[k + 1 :]])
            log_volume = -0.5 * linalg.log_determinant(self._factor_curvature(at))
            return objective(at)[0] - log_volume  # [PRML 4.137]

        if high - low < _NOISE_STEP:
            return x
        best = scipy.optimize.minimize_scalar(
            loss, bounds=(low, high), method="bounded", options={"xatol": _NOISE_STEP}
        )
        return np.concatenate([x[:k], [best.x], x[k + 1 :]])

    @property
    def _has_curvature(self) -> bool:
        """Whether the curvature fits memory, and a search may go by it."""
        return self.placement.size <= _CHARTED and self.placement.by_curvature

    def _factor_curvature(self, x: Array) -> Array:
        """Lower factor of minus the second derivatives in the points, as far as known."""
        X, own = self.unpack(x)
        H = np.zeros((*X.shape, *X.shape))
        for term, numbers in zip(self.terms, own, strict=True):
            term.add_curvature(H, X, numbers)
        return linalg.cholesky(H.reshape(self.placement.size, -1), overwrite=True)

    def _units(self) -> Array:
        """Units of the terms' own numbers; those without limits are places of inducing points."""
        noise = float(np.sqrt(2.0 / self.n_values))  # the deviation of a log variance
        point = min(_POINT_UNIT * noise, _LARGEST_UNIT)
        parameter = min(_PARAMETER_UNIT * noise, _LARGEST_UNIT)
        limited = np.isfinite(self.limits[self.placement.size :]).all(axis=1)
        return np.where(limited, parameter, point)


@dataclass(frozen=True)
class LearnedPoints:
    """The most probable latent points that were found, and how."""

    X: Array  # (N, Q)
    weights: Array  # of the placement
    own: tuple[Array, ...]  # of each term
    log_posterior: float
    optimum: optimize.Optimum
    ends: Array  # the log posterior that the search from each start reached


def maximise_latent_points(
    problem: LatentPointProblem,
    starts: Sequence[Array],
    *,
    max_iter: int,
    n_jobs: int | None = None,
) -> LearnedPoints:
    """Climb from every start; the highest end counts.

    Warns
    -----
    ConvergenceWarning
        Where the best climb did not end by itself.
    """
    climbs = (joblib.delayed(_climb)(copy.deepcopy(problem), X, max_iter) for X in starts)
    ends = list(joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(climbs))
    best = optimize.optimum.warn_unless_converged(min(ends, key=lambda end: end.value))
    X, own = problem.unpack(best.x)
    heights = -np.array([end.value for end in ends])
    return LearnedPoints(X, best.x[: problem.placement.size], own, -best.value, best, heights)


def _climb(problem: LatentPointProblem, X: Array, max_iter: int) -> optimize.Optimum:
    """From one start, on a copy of the problem: terms keep the memory they work in."""
    x, n_iter = problem.pack(X), 0
    with linalg.limit_threads(len(X)):
        while True:
            coordinates = problem.coordinates_at(x)
            last = max_iter - n_iter
            end = _climb_in_coordinates(
                problem, coordinates, min(_ROUND, last) if len(coordinates.L) else last
            )
            x, n_iter = end.x, n_iter + end.n_iter
            if end.converged or not end.n_iter:
                return replace(end, n_iter=n_iter)
            if n_iter >= max_iter:
                return replace(end, n_iter=n_iter, stop_reason=_NOT_ENOUGH.format(max_iter))


def _climb_in_coordinates(
    problem: LatentPointProblem, coordinates: Coordinates, max_iter: int
) -> optimize.Optimum:
    """One round, in given coordinates."""
    best = optimize.minimise_lbfgs(
        coordinates.wrap_objective(problem.objective()),
        np.zeros_like(coordinates.origin),
        bounds=[(low, high) for low, high in coordinates.limits(problem.limits)],
        names=problem.names,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN * problem.n_values,
        announce=False,
    )
    x = coordinates.to_point(best.x)
    return replace(best, x=x, bounds_reached=_restore_units(best, coordinates, x, problem.names))


def _restore_units(
    best: optimize.Optimum, coordinates: Coordinates, x: Array, names: Sequence[str]
) -> tuple[optimize.ReachedBound, ...]:
    """The bounds that were reached, as parameters have them, at the point x."""
    found = []
    for bound in best.bounds_reached:
        i = names.index(bound.name)
        unit = float(coordinates.unit[i - len(coordinates.L)])
        found.append(replace(bound, value=float(np.exp(x[i])), rise=bound.rise / unit))
    return tuple(found)


@dataclass(frozen=True)
class CandidatePoints:
    """Latent points to start from, ranked for all rows at once by a few products.

    Squares are taken apart: (y - f)^2 / s = y^2 / s - 2 y f / s + f^2 / s.
    """

    X: Array  # (C, Q)
    f: Array  # (C, D), means of the outputs
    w: Array  # (C, D), 1 / s
    noise_variance: Array  # (D,)
    cost: Array  # (C,), -2 log density of the points, but for a constant

    @classmethod
    def from_decoder(cls, decoder: Decoder, X: Array) -> CandidatePoints:
        """Points X (C, Q), standard normal, and what the decoder makes of them."""
        f = decoder.latent(X)
        noise = np.full(f.n_latents, decoder.noise_variance)
        return cls(X, f.mean, 1.0 / (f.variance + noise), noise, np.sum(X * X, axis=1))

    def choose_starts(self, Y: Array, k: int) -> Array:
        """The k best candidates of each row, (n, k, Q).

        Half of them as if the function were known: where the noise is small, only those are near
        a maximum that is high and narrow. Then those of the highest log posterior as it is.
        """
        seen = ~np.isnan(Y)
        y = np.where(seen, Y, 0.0)
        known, uncertain = (
            self._score_known_function(y, seen),
            self._score_uncertain_function(y, seen),
        )
        half = (k + 1) // 2
        first = np.argpartition(known, half - 1, axis=1)[:, :half]
        np.put_along_axis(uncertain, first, -np.inf, axis=1)
        return self.X[np.argpartition(uncertain, k - 1, axis=1)[:, :k]]

    def choose_peaks(self, Y: Array, k: int) -> Array:
        """Candidates of each row from which the hills of its log posterior are found, (n, k, Q).

        First those that are higher than all candidates next to them; half of them as if the
        function were known.
        """
        seen = ~np.isnan(Y)
        y = np.where(seen, Y, 0.0)
        scores = self._score_known_function(y, seen), self._score_uncertain_function(y, seen)
        return np.concatenate([self.X[self._rank_peaks(s)[:, : k // 2]] for s in scores], axis=1)

    def _rank_peaks(self, score: Array) -> NDArray[np.intp]:
        """Candidates of each row (n, C), those first that no neighbour is better than."""
        is_peak = np.all(score[:, :, None] <= score[:, self._neighbours], axis=2)
        return np.lexsort((score, ~is_peak), axis=1)

    @functools.cached_property
    def _neighbours(self) -> NDArray[np.intp]:
        """The candidates next to each, two for each coordinate, (C, 2 Q)."""
        count = min(2 * self.X.shape[1] + 1, len(self.X))
        _, near = spatial.cKDTree(self.X).query(self.X, count)
        return np.asarray(near, dtype=np.intp).reshape(len(self.X), count)

    def _score_known_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant of the row, were f the function; (n, C)."""
        precision = 1.0 / self.noise_variance
        return (seen * precision) @ (self.f**2).T - 2.0 * (y * precision) @ self.f.T + self.cost

    def _score_uncertain_function(self, y: Array, seen: NDArray[np.bool_]) -> Array:
        """-2 log posterior, but for a constant; (n, C)."""
        misfit = (y * y) @ self.w.T - 2.0 * y @ (self.f * self.w).T
        own = seen @ (self.f**2 * self.w - np.log(self.w)).T
        return misfit + own + self.cost
