"""The most probable latent function of a Gaussian process, given observations of any likelihood.

Newton's method [GPML Alg 3.1], in which one factor serves for several steps while they gain: near
the mode a step by the factor of the one before costs N^2 operations, a new factor N^3 / 3. Of many
rows the mode of some is found first: what these predict for all is a start that saves factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods
from posterity.arrays import Array
from posterity.process.latent.sites import InvertedSites, NotAMaximumError, Sites
from posterity.process.latent.targets import LatentTargets

_CONVERGED = 1e-20  # nats that a further step promises: the error of the evidence is its root
_ROUNDING = 1e-10  # of the log density: a promise so small that is not kept is rounding
_SLOW = 0.2  # of the promise before: above, a new factor pays
_SLOWEST = 0.5  # likewise, where a new factor comes with an inverse
_FACTORS = 200
_STEPS = 30  # by one factor
_MANY_ROWS = 400  # from which the mode of some of them is found first
_ROUGHLY = 1e-4  # of the first gain, at which a start for another problem is near enough
_EVERY = 3  # which row these are: odd, as rows often alternate
_HALVINGS = 40
_SUFFICIENT = 1e-4  # of what the slope promises (Armijo)
_TOO_SMALL = 1e-8  # curvature, of its change over a standard deviation: not to be divided by
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Mode:
    """Where log p(y | f) + log p(f) is largest, and the sites of its curvature there."""

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


@dataclass(frozen=True)
class _Point:
    alpha: Array
    f: Array
    value: float


@dataclass(frozen=True)
class _Trail:
    """Where the steps by one factor led, and what the first of them promised."""

    point: _Point
    n_steps: int
    first: float = np.inf


def find(
    K: Array,
    memory: Array,
    likelihood: likelihoods.Likelihood,
    targets: LatentTargets,
    start: Array | None = None,
) -> Mode:
    """From latent values of a similar problem, or from the prior mean where that is better.

    K is (N, N), symmetric; the sites that are returned live in ``memory``.
    """
    climb = _Climb(K, memory, likelihood, targets)
    return climb.climb(climb._guess() if start is None else start)


def approach(
    K: Array, memory: Array, likelihood: likelihoods.Likelihood, targets: LatentTargets
) -> tuple[Array, Array]:
    """Precision and precision times mean of Laplace's sites: of few rows at the mode, else near it.

    Of many rows that takes one factor.
    """
    climb = _Climb(K, memory, likelihood, targets)
    start = climb._guess()
    f = climb.climb(None).f if start is None else climb._begin(start, _ROUGHLY).point.f
    W = climb._curvature(f)
    return W, W * f + climb._slope(f)


def follow(
    K: Array,
    likelihood: Any,
    targets: LatentTargets,
    sites: Sites | InvertedSites,
    start: tuple[Array, Array],
    share: float,
) -> tuple[Array, Array]:
    """Where steps by one factor lead from (alpha, f), until they promise this share of the first.

    The likelihood needs ``log_prob`` and ``d1`` alone.
    """
    climb = _Climb(K, K, likelihood, targets)
    end = climb._follow(sites, climb._point(*start), share, _SLOWEST).point
    return end.alpha, end.f


@dataclass(frozen=True)
class _Climb:
    K: Array
    memory: Array
    likelihood: likelihoods.Likelihood
    targets: LatentTargets

    def climb(self, start: Array | None) -> Mode:
        """Factorise, step while steps gain, and again, until a fresh factor promises nothing."""
        begun = self._begin(start)
        point, n_iter, first = begun.point, begun.n_steps, np.inf
        for _ in range(_FACTORS):
            sites, obstacle = self._sites(point)
            trail = self._follow(sites, point)
            stuck = trail.n_steps == 0 or _SLOW * first < trail.first <= self._estimate_rounding(
                point
            )
            if stuck and obstacle is None:
                return self._mode(point, sites, n_iter, trail.first)
            if stuck and obstacle is not None:
                trail = _Trail(self._leave(point, obstacle), 1)
            point, first = trail.point, trail.first
            n_iter += trail.n_steps
        return self._mode(point, self._exact_sites(point), n_iter, np.inf)

    def _guess(self) -> Array | None:
        """What some of many rows predict for all; None of few rows, or where modes may be many."""
        if self.targets.n_rows < _MANY_ROWS or not self.likelihood.log_concave:
            return None
        some = np.arange(0, self.targets.n_rows, _EVERY)
        K = np.asfortranarray(self.K[np.ix_(some, some)])
        part = _Climb(K, np.zeros_like(K), self.likelihood, self.targets.select_rows(some))
        return self.K[:, some] @ part.climb(None).alpha

    def _begin(self, start: Array | None, share: float = 0.0) -> _Trail:
        """One step from where another problem ended, and those that follow; or the prior mean."""
        prior = self._point(np.zeros(self.targets.n_rows), np.zeros(self.targets.n_rows))
        if start is None:
            return _Trail(prior, 0)
        W = self._positive(start)
        sites = Sites.factorise(self.K, W, self.memory)
        b = W * start + self._slope(start)
        alpha = b - sites.apply(self.K @ b)  # [GPML 3.18]
        point = self._point(alpha, self.K @ alpha)
        if not point.value > prior.value:
            return _Trail(prior, 0)
        return self._follow(sites, point, share)

    def _sites(self, point: _Point) -> tuple[Sites, NotAMaximumError | None]:
        """Return sites of the curvature where it has a maximum, or else of its positive part.

        Far from the mode of a likelihood that is not log-concave there may be no maximum.
        """
        try:
            return self._exact_sites(point), None
        except NotAMaximumError as error:
            return error.positive, error

    def _exact_sites(self, point: _Point) -> Sites:
        W = self._curvature(point.f)
        few = self._few(point.f, W)
        return Sites.factorise(self.K, W, self.memory, few, self._positive(point.f))

    def _follow(
        self,
        sites: Sites | InvertedSites,
        point: _Point,
        share: float = 0.0,
        slow: float = _SLOW,
    ) -> _Trail:
        """Steps by one factor, while each promises much less than the one before."""
        promises, n = [np.inf], 0
        while n < _STEPS:
            dalpha, df, promise = self._step(sites, point)
            promises.append(promise)
            least = max(_CONVERGED, share * promises[1])
            enough = promise <= least or promise > slow * promises[-2]
            moved = None if enough else self._line(point, dalpha, df, promise)
            if moved is None:
                break
            point, n = moved, n + 1
        return _Trail(point, n, promises[1])

    def _step(self, sites: Sites | InvertedSites, point: _Point) -> tuple[Array, Array, float]:
        """The Newton step in alpha and in f, and what it promises to gain."""
        g = self._slope(point.f) - point.alpha
        dalpha = g - sites.apply(self.K @ g)
        df = self.K @ dalpha
        return dalpha, df, 0.5 * float(g @ df)

    def _line(self, point: _Point, dalpha: Array, df: Array, promise: float) -> _Point | None:
        """The longest of ever shorter steps that climbs enough; None where none does."""
        slack = 10.0 * _EPS * (1.0 + abs(point.value))
        for t in 0.5 ** np.arange(_HALVINGS):
            moved = self._point(point.alpha + t * dalpha, point.f + t * df)
            if moved.value >= point.value + _SUFFICIENT * t * 2.0 * promise - slack:
                return moved
        return None

    def _leave(self, point: _Point, error: NotAMaximumError) -> _Point:
        """A higher point beside a saddle, along the direction that curves upwards."""
        upwards = error.direction()
        df = self.K @ upwards
        for t in 0.5 ** np.arange(-_HALVINGS // 2, _HALVINGS // 2):
            for way in (t, -t):
                moved = self._point(point.alpha + way * upwards, point.f + way * df)
                if moved.value > point.value + _ROUNDING * (1.0 + abs(point.value)):
                    return moved
        raise error

    def _estimate_rounding(self, point: _Point) -> float:
        return _ROUNDING * (1.0 + abs(point.value))

    def _mode(self, point: _Point, sites: Sites, n_iter: int, promise: float) -> Mode:
        if promise <= _CONVERGED:
            reason, converged = f"a Newton step promises to gain less than {_CONVERGED:.0e}", True
        elif promise <= self._estimate_rounding(point):
            reason, converged = "no Newton step gains more than rounding", True
        else:
            reason = f"{n_iter} Newton steps did not reach the most probable latent values"
            converged = False
        f, alpha = point.f, self._slope(point.f)  # known even where K is singular  [GPML 3.17]
        return Mode(f, alpha, point.value, sites, n_iter, reason, converged)

    def _point(self, alpha: Array, f: Array) -> _Point:
        t = self.targets
        log_p = self.likelihood.log_prob(*t.measure_from_shift(self.likelihood, f))
        return _Point(alpha, f, float(t.weights @ log_p - 0.5 * alpha @ f))

    def _slope(self, f: Array) -> Array:
        t = self.targets
        return t.weights * self.likelihood.d1(*t.measure_from_shift(self.likelihood, f))

    def _curvature(self, f: Array) -> Array:
        t = self.targets
        return -t.weights * self.likelihood.d2(*t.measure_from_shift(self.likelihood, f))

    def _positive(self, f: Array) -> Array:
        """The curvature, or where that is negative one whose step climbs nevertheless."""
        t = self.targets
        if self.likelihood.log_concave:
            return self._curvature(f)
        W = self._curvature(f)
        positive = self.likelihood.step_curvature(*t.measure_from_shift(self.likelihood, f))
        return np.where(W < 0.0, t.weights * positive, W)

    def _few(self, f: Array, W: Array) -> NDArray[np.intp]:
        """Rows of negative curvature, or of too little to divide by."""
        t = self.targets
        y, a = t.measure_from_shift(self.likelihood, f)
        scale = np.sqrt(np.maximum(np.diagonal(self.K), 0.0))
        moves = np.abs(self.likelihood.d3(y, a)) * scale
        slopes = self.likelihood.parameter_derivatives(y, a)[2]
        change = t.weights * (moves + np.sum(np.abs(slopes), axis=0))
        return np.flatnonzero((W < 0.0) | (_TOO_SMALL * change > W))
