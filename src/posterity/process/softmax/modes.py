"""The mode of C coupled latent functions with one kernel, without an (NC) x (NC) matrix.

Newton's method approaches it by products with the kernel matrix. Matrices are factorised only where
that ends, which is the mode but for rounding; where it is not, exact steps go on from there, at a
factorisation each.

Conjugate gradients find a step by products; each iteration multiplies the one kernel matrix with C
vectors. How many it takes depends on how many large eigenvalues that matrix has, so a factor of low
rank takes care of those beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.linalg import products
from posterity.process.latent.density import LatentDensity, Point, Step

_LEAST_GAIN = 1e-18  # of a Newton step, relative to the value: gradients need far more than values
_NEARLY = 1e-10  # gains below this are round-off once they stop shrinking
_STEPS = 100
_ENOUGH = 4.0  # weighted prior variances that may be left to conjugate gradients, all rows together
_MOST_COLUMNS = 600  # of the low-rank factor, for all classes together
_MOST_PRODUCTS = 300  # in a step, beyond which factorisations are cheaper


def step_of(times: Callable[[Array], Array], latents: LatentDensity, slope: Array) -> Step:
    """(K^-1 + W)^-1 slope = K (I - (K + W^-1)^-1 K) slope, (K + W^-1)^-1 given by its products."""
    db = slope - times(latents.times(slope))
    df = latents.times(db)
    return Step(db, df, float(np.sum(slope * df)))


class Solver(Protocol):
    """A way to find Newton's steps."""

    def newton_step(self, latents: LatentDensity, point: Point) -> Step:
        """(K^-1 + W)^-1 slope."""
        ...


S = TypeVar("S", bound=Solver)


@dataclass(frozen=True)
class Mode:
    """The end of Newton's method, and the reason for it."""

    point: Point
    n_iter: int
    stop_reason: str
    converged: bool


def start(latents: LatentDensity, b: Array | None) -> Point:
    """The better of a guess and of no function at all."""
    origin = latents.evaluate_at_prior()
    if b is None:
        return origin
    guess = latents.evaluate_at(b, latents.times(b))
    return guess if guess.value > origin.value else origin


def approach(latents: LatentDensity, begin: Point, solver: Solver) -> tuple[Point, int]:
    """Near to the mode, and in how many steps; as far as they are exact."""
    point, n_iter, length, is_exact = begin, 0, math.inf, True
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
    latents: LatentDensity, begin: Point, first: Solver, factorise: Callable[[Point], S]
) -> tuple[Mode, S]:
    """The mode, and what ``factorise`` made of it, approached by steps that cost less."""
    point, n_iter = approach(latents, begin, first)
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
    if step.length <= _estimate_tolerance(point):
        return True
    short = step.length**2 <= _NEARLY * (1.0 + abs(point.value))
    return short and step.length >= 0.5 * before


def _estimate_tolerance(point: Point) -> float:
    """The length of a Newton step that is worth no more than round-off."""
    return math.sqrt(2.0 * _LEAST_GAIN * (1.0 + abs(point.value)))


def _breakdown(latents: LatentDensity) -> str:
    largest = float(np.max(np.diagonal(latents.K)))
    return (
        "no Newton step leads to the mode of the latent functions, because round-off hides their "
        f"posterior covariance: prior variances are up to {largest:.1e}, and covariances between "
        f"{latents.targets.n_rows} rows nearly singular. Use a kernel of smaller variance"
    )


@dataclass(frozen=True)
class ProductSteps:
    """Steps from iterations that stop after ``most`` products, for they climb all the same."""

    G: Array  # (r, N), G^T G is the kernel matrix but for small eigenvalues
    most: int

    @classmethod
    def precondition(cls, latents: LatentDensity) -> ProductSteps:
        """Make steps with a factor of a rank that pays."""
        n, C = latents.targets.n_rows, latents.likelihood.n_latents
        G = _pivoted_cholesky(latents.K, latents.targets.weights, min(n // 8, _MOST_COLUMNS // C))
        return cls(G, min(n // 4, _MOST_PRODUCTS))

    def newton_step(self, latents: LatentDensity, point: Point) -> Step:
        """(K^-1 + W)^-1 slope = K (slope - Q x), (I + Q^T K Q) x = Q^T K slope, W = Q Q^T.

        The residual bounds the error of the step in the metric of the curvature. Broken off after
        any iteration, the step still climbs.  [GVL 11.5]
        """
        Q, slope = CurvatureRoot.evaluate_at(latents, point), latents.slope(point.f) - point.b
        easy, tolerance = LowRank.factorise(self.G, latents, Q), _estimate_tolerance(point)
        Kr = latents.times(slope)
        Qx, KQx = np.zeros_like(Kr), np.zeros_like(Kr)
        residual = Q.transposed_times(Kr)
        p = easy.solve(residual)
        rho, rise, n = _dot(residual, p), _dot(slope, Kr), 0
        while n < self.most and np.linalg.norm(residual) > _accuracy(rise, tolerance):
            Qp = Q.times(p)
            KQp = latents.times(Qp)
            Bp = p + Q.transposed_times(KQp)
            alpha = rho / _dot(p, Bp)
            Qx, KQx = Qx + alpha * Qp, KQx + alpha * KQp
            residual, rise = residual - alpha * Bp, rise - alpha * rho
            solved = easy.solve(residual)
            rho_next = _dot(residual, solved)
            p, rho, n = solved + (rho_next / rho) * p, rho_next, n + 1
        df = Kr - KQx
        return Step(slope - Qx, df, _dot(slope, df), is_exact=n < self.most)


@dataclass(frozen=True)
class CurvatureRoot:
    """Q of W = Q Q^T: of each row sqrt(w) diag(q) (I - q q^T), q = sqrt(u) of length one."""

    q: Array  # (N, C)
    scale: Array  # (N, C), sqrt(w) q

    @classmethod
    def evaluate_at(cls, latents: LatentDensity, point: Point) -> CurvatureRoot:
        q = np.sqrt(latents.shares(point.f))
        return cls(q, np.sqrt(latents.targets.weights)[:, None] * q)

    def times(self, X: Array) -> Array:
        """Q X, (N, C)."""
        return self.scale * self._across(X)

    def transposed_times(self, X: Array) -> Array:
        """Q^T X, (N, C)."""
        return self._across(self.scale * X)

    def _across(self, X: Array) -> Array:
        """X less what is along q."""
        return X - self.q * np.sum(self.q * X, axis=1, keepdims=True)


@dataclass(frozen=True)
class LowRank:
    """I + Z Z^T, which is I + Q^T K Q but for small eigenvalues; Z = Q^T G_c^T for each class."""

    G: Array  # (r, N), with a row of ones for the offsets
    scale: Array  # (r, C), of the rows of G in each class
    Q: CurvatureRoot
    L: Array  # (C r, C r), L L^T = I + Z^T Z

    @classmethod
    def factorise(cls, G: Array, latents: LatentDensity, Q: CurvatureRoot) -> LowRank:
        offsets = latents.targets.offset_variance
        G_all = np.vstack([G, np.ones(G.shape[1])])
        scale = np.vstack([np.ones((len(G), len(offsets))), np.sqrt(offsets)])
        r, C = scale.shape
        A = np.empty((C, r, C, r))
        for c in range(C):
            for d in range(c + 1):
                W_cd = Q.scale[:, c] * ((c == d) - Q.q[:, c] * Q.q[:, d]) * Q.scale[:, d]
                GWG = products.product(G_all * W_cd, G_all.T)
                A[c, :, d] = scale[:, c, None] * GWG * scale[:, d]
        inner = A.reshape(C * r, C * r)
        inner[range(C * r), range(C * r)] += 1.0
        return cls(G_all, scale, Q, linalg.cholesky_in_place(inner))

    def solve(self, X: Array) -> Array:
        """(I + Z Z^T)^-1 X = X - Z (I + Z^T Z)^-1 Z^T X.  [GVL 2.1.4]"""
        inner = self.scale * products.product(self.G, self.Q.times(X))
        solved = linalg.solve_cholesky(self.L, inner.T.ravel()).reshape(inner.T.shape).T
        return X - self.Q.transposed_times(products.product(self.G.T, self.scale * solved))


def _pivoted_cholesky(K: Array, weights: Array, most: int) -> Array:
    """Rows of a factor of K, each for the largest weighted variance that is left."""
    left = np.diagonal(K).copy()
    G = np.empty((most, len(left)))
    for j in range(most):
        i = int(np.argmax(weights * left))
        if left[i] <= 0.0 or weights @ left <= _ENOUGH:
            return G[:j]
        G[j] = (K[:, i] - G[:j, i] @ G[:j]) / math.sqrt(left[i])
        left = np.maximum(left - G[j] ** 2, 0.0)
        left[i] = 0.0
    return G


def _accuracy(rise: float, tolerance: float) -> float:
    """The accuracy of a step that promises this with which Newton converges quadratically."""
    length = math.sqrt(max(0.0, rise))
    return max(min(0.1, length) * length, 0.1 * tolerance)


def _dot(A: Array, B: Array) -> float:
    return float(np.sum(A * B))
