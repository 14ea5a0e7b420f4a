"""The mode of C coupled latent functions with one kernel, without an (NC) x (NC) matrix.

Newton's method approaches it by products with the kernel matrix. Matrices are factorised only where
that ends, which is the mode but for rounding; where it is not, exact steps go on from there, at a
factorisation each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from posterity import likelihoods, linalg
from posterity.arrays import Array
from posterity.linalg import products
from posterity.process.latent.targets import LatentTargets

_LEAST_GAIN = 1e-18  # of a Newton step, relative to the value: gradients need far more than values
_NEARLY = 1e-10  # gains below this are round-off once they stop shrinking
_STEPS = 100
_HALVINGS = 50
_SUFFICIENT_INCREASE = 1e-4  # of what the slope promises (Armijo)
_ROUND_OFF = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Point:
    """Latent functions f = K b, and what Newton's method needs to know there; all (N, C)."""

    b: Array
    f: Array
    value: float  # log p(y | f) - f^T K^-1 f / 2
    slope: Array  # its gradient in f
    u: Array  # minus the Hessian of row n of log p(y | f) is diag(u_n) - u_n u_n^T

    @property
    def tolerance(self) -> float:
        """The length of a Newton step that is worth no more than round-off."""
        return math.sqrt(2.0 * _LEAST_GAIN * (1.0 + abs(self.value)))


@dataclass(frozen=True)
class Step:
    """A direction in f = K b, and the rise it promises."""

    b: Array  # (N, C)
    f: Array  # (N, C)
    rise: float  # slope^T f, the squared length in the metric of the curvature
    is_exact: bool = True  # as good as it was asked for

    @property
    def length(self) -> float:
        """In the metric of the curvature; rounding may have made the rise a fall."""
        return math.sqrt(abs(self.rise))


def step_of(times: Callable[[Array], Array], latents: LatentDensity, point: Point) -> Step:
    """(K^-1 + W)^-1 slope = K (I - (K + W^-1)^-1 K) slope, (K + W^-1)^-1 given by its products."""
    db = point.slope - times(latents.times(point.slope))
    df = latents.times(db)
    return Step(db, df, float(np.sum(point.slope * df)))


class Solver(Protocol):
    """A way to find Newton's steps."""

    def newton_step(self, latents: LatentDensity, point: Point) -> Step:
        """(K^-1 + W)^-1 slope."""
        ...


S = TypeVar("S", bound=Solver)


@dataclass(frozen=True)
class Mode:
    """Where Newton's method ended, and why."""

    point: Point
    n_iter: int
    stop_reason: str
    converged: bool


@dataclass(frozen=True)
class LatentDensity:
    """The log posterior density of C latent functions at N rows."""

    K: Array  # (N, N), symmetric in full, Fortran order
    likelihood: likelihoods.Coupled
    targets: LatentTargets

    def times(self, V: Array) -> Array:
        """The prior covariance of each class, offset included, times its column of V (N, C)."""
        KV = products.product(self.K, np.asfortranarray(V))
        KV += self.targets.offset_variance * np.sum(V, axis=0)
        return KV

    def evaluate_at(self, b: Array, f: Array) -> Point:
        """The density, its gradient and its curvature.  [GPML Sec3.5]"""
        t, a = self.targets, self.targets.shift + f
        log_p = np.sum(t.weights * self.likelihood.log_prob(t.y, a))
        slope = t.weights[:, None] * self.likelihood.d1(t.y, a) - b
        value = float(log_p - 0.5 * np.sum(b * f))
        return Point(b, f, value, slope, self.likelihood.curvature_shares(t.y, a))

    def start(self, b: Array | None) -> Point:
        """The better of a guess and of no function at all."""
        nothing = np.zeros((self.targets.n_rows, self.likelihood.n_latents))
        origin = self.evaluate_at(nothing, nothing)
        if b is None:
            return origin
        guess = self.evaluate_at(b, self.times(b))
        return guess if guess.value > origin.value else origin

    def take_step(self, point: Point, step: Step, fraction: float) -> Point:
        """Some of a step away."""
        return self.evaluate_at(point.b + fraction * step.b, point.f + fraction * step.f)

    def climb_along(self, point: Point, step: Step) -> Point | None:
        """After the first of 1, 1/2, 1/4, ... steps that climbs enough; None where none does."""
        slack = _ROUND_OFF * (1.0 + abs(point.value))
        for fraction in 0.5 ** np.arange(_HALVINGS if step.rise > 0.0 else 0):
            there = self.take_step(point, step, float(fraction))
            if there.value >= point.value + _SUFFICIENT_INCREASE * fraction * step.rise - slack:
                return there
        return None


def approach(latents: LatentDensity, start: Point, solver: Solver) -> tuple[Point, int]:
    """Near to the mode, and in how many steps; as far as they are exact."""
    point, n_iter, length, is_exact = start, 0, math.inf, True
    while n_iter < _STEPS and is_exact:
        step = solver.newton_step(latents, point)
        is_last = _is_last(step, length, point)
        there = latents.take_step(point, step, 1.0) if is_last else latents.climb_along(point, step)
        if there is None:
            break
        point, length, is_exact, n_iter = there, step.length, step.is_exact, n_iter + 1
        if is_last:
            break
    return latents.evaluate_at(
        point.b, latents.times(point.b)
    ), n_iter  # without what rounding added up


def find(
    latents: LatentDensity, start: Point, first: Solver, factorise: Callable[[Point], S]
) -> tuple[Mode, S]:
    """The mode, and what ``factorise`` made of it, approached by steps that cost less."""
    point, n_iter = approach(latents, start, first)
    length, most = math.inf, n_iter + _STEPS
    while True:
        solver = factorise(point)
        step = solver.newton_step(latents, point)
        if _is_last(step, length, point):
            reason = "a further Newton step gains no more than round-off"
            return Mode(point, n_iter, reason, converged=True), solver
        if n_iter == most:
            reason = f"{_STEPS} exact Newton steps were not enough"
            return Mode(point, n_iter, reason, converged=False), solver
        there = latents.climb_along(point, step)
        if there is None:
            raise linalg.NotPositiveDefiniteError(_breakdown(latents))
        point, length, n_iter = there, step.length, n_iter + 1


def _is_last(step: Step, before: float, point: Point) -> bool:
    """Whether a step is round-off: as short as one can be told, or short and no shorter."""
    if step.length <= point.tolerance:
        return True
    short = step.length**2 <= _NEARLY * (1.0 + abs(point.value))
    return short and step.length >= 0.5 * before


def _breakdown(latents: LatentDensity) -> str:
    largest = float(np.max(np.diagonal(latents.K)))
    return (
        "no Newton step leads to the mode of the latent functions, because round-off hides their "
        f"posterior covariance: prior variances are up to {largest:.1e}, and covariances between "
        f"{latents.targets.n_rows} rows nearly singular. Use a kernel of smaller variance"
    )
