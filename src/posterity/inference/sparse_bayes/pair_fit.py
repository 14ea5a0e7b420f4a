"""Laplace's approximation where each of C latent functions has columns of its own.

A pair is a column and a class, and has one weight. The prior holds what the softmax of the latent
values leaves free (erratum of [P9 9.61]); the C offsets are independent, each with one row's worth
of information, which says of their differences just what weights of contrasts are told.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights.targets import RowTargets

_TOL = 1e-12


@dataclass(frozen=True)
class PairProblem:
    """Columns, which of them each class uses, and the precision of every weight."""

    Z: Array  # (N, m), the offset's ones, where there is one, last
    used: NDArray[np.bool_]  # (m, C)
    precision: Array  # (m, C); read where a pair is used
    targets: RowTargets

    @property
    def likelihood(self) -> likelihoods.Coupled:
        """Of one of C classes."""
        likelihood = self.targets.likelihood
        assert isinstance(likelihood, likelihoods.Coupled)
        return likelihood

    @property
    def parts(self) -> list[Array]:
        """The columns of each class."""
        return [self.Z[:, in_use] for in_use in self.used.T]

    @property
    def row_weights(self) -> Array:
        """(N, 1)."""
        w = self.targets.weights
        return (np.ones(len(self.Z)) if w is None else w)[:, None]

    def packed(self, W: Array) -> Array:
        """One number of each pair in use, class after class, of W (m, C)."""
        return W.T[self.used.T]

    def unpacked(self, x: Array) -> Array:
        """The same, as (m, C), zero where a pair is not in use."""
        W = np.zeros(self.used.shape)
        W.T[self.used.T] = x
        return W

    def latents(self, x: Array) -> Array:
        """(N, C)."""
        return self.targets.shift + self.Z @ self.unpacked(x)


@dataclass(frozen=True)
class PairNormal:
    """Weights of all pairs in use ~ N(coef, H^-1), class after class."""

    problem: PairProblem
    coef: Array  # (m, C), the offsets, where there are any, last; zero where a pair is not in use
    L: Array  # (P, P), L L^T = H

    @cached_property
    def covariance(self) -> Array:
        """Of the weights in use, (P, P)."""
        return linalg.inverse_from_cholesky(self.L)

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values at rows of the design."""
        used = self.problem.used
        C, spans = used.shape[1], spans_of(used.sum(axis=0))
        parts = [Z[:, in_use] for in_use in used.T]
        S = np.empty((len(Z), C, C))
        for c in range(C):
            for d in range(c + 1):
                block = parts[c] @ self.covariance[spans[c], spans[d]]
                S[:, c, d] = np.einsum("nm,nm->n", block, parts[d])
                S[:, d, c] = S[:, c, d]
        return LatentMarginals.coupled(self._mean(Z), S)

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each latent value over all rows of the design."""
        used, covariances = self.problem.used, []
        for in_use, span in zip(used.T, spans_of(used.sum(axis=0)), strict=True):
            part = Z[:, in_use]
            covariances.append(part @ self.covariance[span, span] @ part.T)
        return LatentJoint(self._mean(Z), np.stack(covariances))

    def _mean(self, Z: Array) -> Array:
        """Mean of the latent values at rows of the design, (n, C)."""
        return self.problem.targets.shift + Z @ self.coef

    def before_rows(self) -> Self:
        """Return the prior of the weights, about zero, in place of the posterior."""
        L = np.diag(np.sqrt(self.problem.packed(self.problem.precision)))
        return replace(self, coef=np.zeros_like(self.coef), L=L)


@dataclass(frozen=True)
class PairFit(PairNormal):
    """The normal at the mode."""

    log_likelihood: float
    converged: bool

    @classmethod
    def of(cls, problem: PairProblem, start: Array | None = None) -> PairFit:
        """Find the mode, from weights (m, C) where they are given, and factorise there."""
        zero = np.zeros(problem.used.shape)
        passes = _Passes(problem)
        best = passes.mode(zero if start is None else start)
        if start is not None and not best.converged:
            best = passes.mode(zero)  # from a start so far away that no row curves any more
        W = problem.unpacked(best.x)
        return cls(problem, W, passes.factor(best.x), passes.log_likelihood, best.converged)

    @property
    def log_evidence(self) -> float:
        """log p(y), all constants included, to Laplace's approximation.  [P9 9.29]"""
        h, x = self.problem.packed(self.problem.precision), self.problem.packed(self.coef)
        log_prior = 0.5 * float(np.sum(np.log(h)) - np.sum(h * x * x))
        return self.log_likelihood + log_prior - 0.5 * linalg.log_determinant(self.L)

    def lean(self) -> Array:
        """By how much the posterior mean lies beyond the mode, (P,), to first order."""
        p = self.problem
        f = self.latent(p.Z)
        pulled = p.likelihood.curvature_pullback(p.targets.y, f.mean, f.covariance)
        c = -0.5 * p.row_weights * pulled
        return linalg.solve_cholesky(self.L, p.packed(p.Z.T @ c))


def pair_gram(parts: list[Array], u: Array, weights: Array) -> Array:
    """The Hessian of minus the log likelihood in the weights of each class's columns.

    ``u`` (N, C) are the rows' curvatures diag(u) - u u^T, which count by ``weights`` (N, 1).
    """
    R = np.hstack([u[:, c, None] * Z for c, Z in enumerate(parts)]) * np.sqrt(weights)
    H = -(R.T @ R)
    for c, (span, Z) in enumerate(zip(spans_of([Z.shape[1] for Z in parts]), parts, strict=True)):
        own = np.sqrt(u[:, c, None] * weights) * Z
        H[span, span] += own.T @ own
    return H


def spans_of(sizes: list[int] | NDArray[np.intp]) -> list[slice]:
    """Where each class stands among all pairs."""
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]


class _Passes:
    """Minus the log posterior of the pairs' weights; the last point is kept."""

    def __init__(self, problem: PairProblem) -> None:
        self.problem = problem
        self._h, self._parts = problem.packed(problem.precision), problem.parts
        self._x: Array | None = None

    def mode(self, W: Array) -> optimize.Optimum:
        """By Newton's method, from weights (m, C)."""
        x = self.problem.packed(W)
        with warnings.catch_warnings():
            # Whether to speak of it is for the caller to say, who knows what the search was for.
            warnings.simplefilter("ignore", optimize.ConvergenceWarning)
            return optimize.minimise_newton(self.value, self.gradient, self.solve, x, tol=_TOL)

    def value(self, x: Array) -> float:
        """Minus the log posterior, up to the prior's constants."""
        self._visit(x)
        return 0.5 * float(np.sum(self._h * x * x)) - self.log_likelihood

    def gradient(self, x: Array) -> Array:
        """Its gradient, (P,)."""
        self._visit(x)
        return self._h * x - self.problem.packed(self.problem.Z.T @ self._slope)

    def solve(self, x: Array, g: Array, shift: float) -> Array:
        """(H + shift * its mean diagonal)^-1 g."""
        return linalg.solve_cholesky(self.factor(x, shift), g)

    def factor(self, x: Array, shift: float = 0.0) -> Array:
        """The Cholesky factor of the Hessian."""
        self._visit(x)
        p = self.problem
        H = pair_gram(self._parts, p.likelihood.curvature(p.targets.y, self._A), p.row_weights)
        i = np.arange(len(H))
        H[i, i] += self._h
        if len(H):
            H[i, i] += shift * float(np.mean(H[i, i]))
        return linalg.cholesky(H, max_jitter=0.0)

    def _visit(self, x: Array) -> None:
        if self._x is not None and np.array_equal(self._x, x):
            return
        p = self.problem
        self._A = p.latents(x)
        log_p, d1 = p.likelihood.value_and_slope(p.targets.y, self._A)
        self.log_likelihood = p.targets.summed(log_p)
        self._slope, self._x = p.row_weights * d1, x.copy()
