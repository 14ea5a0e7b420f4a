"""Laplace's approximation of a Gaussian process under any elementwise likelihood.

The posterior of the latent function is the normal at its mode with the curvature there. Two N x N
matrices are all the memory it takes: K, and a factor that becomes its inverse. The mode is found by
Newton's method [GPML Alg 3.1], in which one factor serves for several steps while they gain: near
the mode a step by the factor of the one before costs N^2 operations, a new factor N^3 / 3. Of many
rows the mode of some is found first: what these predict for all is a start that saves factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, likelihoods
from posterity.arrays import Array
from posterity.process.latent.density import LatentDensity, LatentTargets, Point, Step
from posterity.process.latent.sites import InvertedSites, Memory, NotAMaximumError, Sites

_CONVERGED = 1e-20  # nats that a further step promises: the error of the evidence is its root
_ROUNDING = 1e-10  # of the log density: a promise so small that is not kept is rounding
_SLOW = 0.2  # of the promise before: above, a new factor pays
_SLOWEST = 0.5  # likewise, where a new factor comes with an inverse
_FACTORS = 200
_STEPS = 30  # by one factor
_MANY_ROWS = 400  # from which the mode of some of them is found first
_ROUGHLY = 1e-4  # of the first gain, at which a start for another problem is near enough
_EVERY = 3  # which row these are: odd, as rows often alternate
_REACH = 20  # doublings and halvings of a step away from a saddle
_TOO_SMALL = 1e-8  # curvature, of its change over a standard deviation: not to be divided by


@dataclass(frozen=True)
class Mode:
    """The maximum of log p(y | f) + log p(f), and the sites of its curvature there."""

    f: Array  # (N,), without the shift
    alpha: Array  # (N,), K^-1 f
    log_density: float  # log p(y | f) - f^T K^-1 f / 2
    sites: Sites
    n_iter: int
    stop_reason: str
    converged: bool

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of log p(y).  [GPML 3.32]"""
        return self.log_density - 0.5 * self.sites.log_determinant

    @property
    def start(self) -> Array:
        """The latent values, from which a search for another mode can start."""
        return self.f

    def factorise(self, memory: Memory) -> Sites:
        """Return the sites, which are factorised in the second matrix already."""
        del memory
        return self.sites

    def differentiate(
        self,
        K: Array,
        kernel: kernels.Kernel,
        X: Any,
        likelihood: likelihoods.Likelihood,
        targets: LatentTargets,
    ) -> Array:
        """As parameters change, with what the mode does then; the sites are spent.  [GPML 5.21]"""
        t = targets
        y, a = t.measure_from_shift(likelihood, self.f)
        in_log_p, in_slope, in_curvature = (
            t.weights * s for s in likelihood.parameter_derivatives(y, a)
        )
        d3 = t.weights * likelihood.d3(y, a)
        R = self.sites.invert(K)
        slope = 0.5 * R.variances * d3  # d log evidence / d f, through the curvature  [GPML 5.23]
        u = slope - R.apply(K @ slope)
        left = np.column_stack([self.alpha + u, self.alpha])
        theta = R.pullback(kernel, X, left, np.column_stack([self.alpha, u]))
        explicit = np.sum(in_log_p, axis=1) + 0.5 * (in_curvature @ R.variances)
        return np.append(theta, explicit + in_slope @ (K @ u))


@dataclass(frozen=True)
class _Trail:
    """The end of the steps by one factor, and what the first of them promised."""

    point: Point
    n_steps: int
    first: float = np.inf


def find_mode(
    memory: Memory,
    likelihood: likelihoods.Likelihood,
    targets: LatentTargets,
    start: Array | None = None,
) -> Mode:
    """Climb from latent values of a similar problem, or the prior mean where that is better.

    The sites that are returned live in the second matrix.
    """
    climb = _Climb(LatentDensity(memory[0], likelihood, targets), memory[1])
    return climb.climb(climb._guess() if start is None else start)


def approach(
    memory: Memory, likelihood: likelihoods.Likelihood, targets: LatentTargets
) -> tuple[Array, Array]:
    """Precision and precision times mean of Laplace's sites: of few rows at the mode, else near it.

    Of many rows that takes one factor.
    """
    climb = _Climb(LatentDensity(memory[0], likelihood, targets), memory[1])
    start = climb._guess()
    f = climb.climb(None).f if start is None else climb._begin(start, _ROUGHLY).point.f
    W = climb._curvature(f)
    return W, W * f + climb.density.slope(f)


def follow(
    K: Array,
    likelihood: Any,
    targets: LatentTargets,
    sites: Sites | InvertedSites,
    start: tuple[Array, Array],
    share: float,
) -> tuple[Array, Array]:
    """Take steps by one factor from (alpha, f), until they promise this share of the first.

    The likelihood needs ``log_prob`` and ``d1`` alone.
    """
    climb = _Climb(LatentDensity(K, likelihood, targets), K)
    end = climb._follow(sites, climb.density.evaluate_at(*start), share, _SLOWEST).point
    return end.b, end.f


@dataclass(frozen=True)
class _Climb:
    density: LatentDensity
    memory: Array

    def climb(self, start: Array | None) -> Mode:
        """Factorise, step while steps gain, and again, until a fresh factor promises nothing."""
        begun = self._begin(start)
        point, n_iter, first = begun.point, begun.n_steps, np.inf
        for _ in range(_FACTORS):
            sites, obstacle = self._sites(point)
            trail = self._follow(sites, point)
            rounding = _estimate_rounding(point)
            stuck = trail.n_steps == 0 or _SLOW * first < trail.first <= rounding
            if stuck and obstacle is None:
                return self._mode(point, sites, n_iter, trail.first)
            if stuck and obstacle is not None:
                trail = _Trail(self._leave(point, obstacle), 1)
            point, first = trail.point, trail.first
            n_iter += trail.n_steps
        return self._mode(point, self._exact_sites(point), n_iter, np.inf)

    def _guess(self) -> Array | None:
        """Predict all rows by the mode of some; None of few rows, or where modes may be many."""
        density, n = self.density, self.density.targets.n_rows
        if n < _MANY_ROWS or not density.likelihood.log_concave:
            return None
        some = np.arange(0, n, _EVERY)
        K = np.asfortranarray(density.K[np.ix_(some, some)])
        part = replace(density, K=K, targets=density.targets.select_rows(some))
        return density.K[:, some] @ _Climb(part, np.zeros_like(K)).climb(None).alpha

    def _begin(self, start: Array | None, share: float = 0.0) -> _Trail:
        """One step from where another problem ended, and those that follow; or the prior mean."""
        density, K = self.density, self.density.K
        prior = density.evaluate_at_prior()
        if start is None:
            return _Trail(prior, 0)
        W = self._positive(start)
        sites = Sites.factorise(K, W, self.memory)
        b = W * start + density.slope(start)
        alpha = b - sites.apply(K @ b)  # [GPML 3.18]
        point = density.evaluate_at(alpha, K @ alpha)
        if not point.value > prior.value:
            return _Trail(prior, 0)
        return self._follow(sites, point, share)

    def _sites(self, point: Point) -> tuple[Sites, NotAMaximumError | None]:
        """Return sites of the curvature where it has a maximum, or else of its positive part.

        Far from the mode of a likelihood that is not log-concave there may be no maximum.
        """
        try:
            return self._exact_sites(point), None
        except NotAMaximumError as error:
            return error.positive, error

    def _exact_sites(self, point: Point) -> Sites:
        W, K = self._curvature(point.f), self.density.K
        few = self._few(point.f, W)
        return Sites.factorise(K, W, self.memory, few, self._positive(point.f))

    def _follow(
        self,
        sites: Sites | InvertedSites,
        point: Point,
        share: float = 0.0,
        slow: float = _SLOW,
    ) -> _Trail:
        """Steps by one factor, while each promises much less than the one before."""
        promises, n = [np.inf], 0
        while n < _STEPS:
            step = self._step(sites, point)
            promises.append(0.5 * step.rise)
            least = max(_CONVERGED, share * promises[1])
            enough = promises[-1] <= least or promises[-1] > slow * promises[-2]
            moved = None if enough else self.density.climb_along(point, step)
            if moved is None:
                break
            point, n = moved, n + 1
        return _Trail(point, n, promises[1])

    def _step(self, sites: Sites | InvertedSites, point: Point) -> Step:
        """The Newton step, which promises to gain half of its rise."""
        K, g = self.density.K, self.density.slope(point.f) - point.b
        dalpha = g - sites.apply(K @ g)
        df = K @ dalpha
        return Step(dalpha, df, float(g @ df))

    def _leave(self, point: Point, error: NotAMaximumError) -> Point:
        """A higher point beside a saddle, along the direction that curves upwards."""
        upwards = error.direction()
        step = Step(upwards, self.density.K @ upwards, np.nan)
        for t in 0.5 ** np.arange(-_REACH, _REACH):
            for way in (t, -t):
                moved = self.density.take_step(point, step, way)
                if moved.value > point.value + _estimate_rounding(point):
                    return moved
        raise error

    def _mode(self, point: Point, sites: Sites, n_iter: int, promise: float) -> Mode:
        if promise <= _CONVERGED:
            reason, converged = f"a Newton step promises to gain less than {_CONVERGED:.0e}", True
        elif promise <= _estimate_rounding(point):
            reason, converged = "no Newton step gains more than rounding", True
        else:
            reason = f"{n_iter} Newton steps did not reach the most probable latent values"
            converged = False
        f = point.f
        alpha = self.density.slope(f)  # known even where K is singular  [GPML 3.17]
        return Mode(f, alpha, point.value, sites, n_iter, reason, converged)

    def _curvature(self, f: Array) -> Array:
        t, likelihood = self.density.targets, self.density.likelihood
        return np.asarray(-t.weights * likelihood.d2(*t.measure_from_shift(likelihood, f)))

    def _positive(self, f: Array) -> Array:
        """The curvature, or where that is negative one whose step climbs nevertheless."""
        t, likelihood = self.density.targets, self.density.likelihood
        W = self._curvature(f)
        if likelihood.log_concave:
            return W
        positive = likelihood.step_curvature(*t.measure_from_shift(likelihood, f))
        return np.where(W < 0.0, t.weights * positive, W)

    def _few(self, f: Array, W: Array) -> NDArray[np.intp]:
        """Rows of negative curvature, or of too little to divide by."""
        t, likelihood = self.density.targets, self.density.likelihood
        y, a = t.measure_from_shift(likelihood, f)
        scale = np.sqrt(np.maximum(np.diagonal(self.density.K), 0.0))
        moves = np.abs(likelihood.d3(y, a)) * scale
        slopes = likelihood.parameter_derivatives(y, a)[2]
        change = t.weights * (moves + np.sum(np.abs(slopes), axis=0))
        return np.flatnonzero((W < 0.0) | (_TOO_SMALL * change > W))


def _estimate_rounding(point: Point) -> float:
    return _ROUNDING * (1.0 + abs(point.value))
