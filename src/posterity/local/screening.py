"""The start of a stage: the best of many random units, by one Newton step of their weights.

A unit z beside a constant gains about q^2 / 2s, where q is the slope of the log-likelihood in its
weight and s the curvature, both with the constant fitted again. That costs one pass over the rows
for all candidates together, which are looked at a block of rows at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity import features
from posterity.arrays import Array
from posterity.inference import learned_features

_CROWDS = (1, 2, 4, 8, 16, 32)  # of units as wide as so many would be that fill the data
_BLOCK = 1 << 18  # numbers: entries of the candidates' columns held at a time
_FRACTIONS = (1.0, 0.5, 0.25, 0.125)


@dataclass(frozen=True)
class CandidateScreen:
    """A local quadratic of the log posterior in the weight of one more unit, and in the offset."""

    problem: learned_features.LearnedFeatureProblem  # of one unit
    offset: Array  # (C,), as it stands: the middle of its prior
    G: Array  # (N, C), slopes of the log-likelihood in the latent values
    H: Array  # (N, C), minus their curvatures, those between classes left out
    share: float  # of the step that takes what was left out into account

    @classmethod
    def from_problem(cls, problem: learned_features.LearnedFeatureProblem) -> CandidateScreen:
        """Expand about the latent values of the problem where its unit has no weight."""
        likelihood, y, counts = problem.likelihood, problem.y, problem.counts[:, None]
        A = problem.latents(np.zeros_like(problem.mean))
        offset, a = problem.mean[-A.shape[1] :], likelihood.shape_latents(A)
        G = counts * likelihood.d1(y, a).reshape(A.shape)
        H = counts * np.diagonal(likelihood.curvature(y, a), axis1=1, axis2=2)
        C = likelihood.n_latents
        return cls(problem, offset, G, H, (C - 1.0) / C if likelihood.is_coupled else 1.0)

    def choose_start(self, rng: np.random.Generator) -> Array:
        """The candidate that promises most, as a start of the problem's search."""
        crowd, thetas = self.draw_candidates(rng)
        W, b, gains = self.take_newton_steps(crowd, thetas.ravel())
        best = int(np.argmax(gains))
        return self._shorten_step(thetas[best], W[best], b[best])

    def draw_candidates(self, rng: np.random.Generator) -> tuple[features.LearnedFeatures, Array]:
        """Draw units of several widths about random rows: the space, and parameters (B, P)."""
        units, counts = self.problem.units, self.problem.counts
        some = rng.choice(len(counts), sum(_CROWDS), p=counts / np.sum(counts))
        places = np.split(self.problem.U[some], np.cumsum(_CROWDS)[:-1])
        thetas = [
            copy_with_units(units, len(U)).draw_start(U, None, rng).reshape(len(U), -1)
            for U in places
        ]
        return copy_with_units(units, sum(_CROWDS)), np.concatenate(thetas)

    def take_newton_steps(
        self, crowd: features.LearnedFeatures, theta: Array
    ) -> tuple[Array, Array, Array]:
        """Weights and offsets (B, C) after one step, and what it promises to gain, (B,)."""
        of_weight, of_offset = self._prior_information()
        B = crowd.n_units
        q, cross, s = (np.zeros((B, len(self.offset))) for _ in range(3))
        for Z, G, H in self._iterate_blocks(crowd, theta):
            q += Z.T @ G
            cross += Z.T @ H
            s += (Z * Z).T @ H
        q_offset, s_offset = np.sum(self.G, axis=0), np.sum(self.H, axis=0) + of_offset
        mean = cross / s_offset  # of each candidate over the rows, by curvature
        # of a unit that is constant over the rows rounding alone would be left: the prior is more
        left = np.maximum(s - mean * cross, 0.0) + of_weight
        q -= mean * q_offset
        W = self.share * q / left
        offsets = self.offset + self.share * q_offset / s_offset - mean * W
        return W, offsets, 0.5 * np.sum(W * q, axis=1)

    def _iterate_blocks(
        self, crowd: features.LearnedFeatures, theta: Array
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Columns of the candidates, slopes and curvatures, a block of rows at a time."""
        U, n = self.problem.U, max(_BLOCK // crowd.n_units, 1)
        for i in range(0, len(U), n):
            rows = slice(i, i + n)
            yield crowd.evaluate_columns(U[rows], theta), self.G[rows], self.H[rows]

    def _prior_information(self) -> tuple[Array, Array]:
        """Information of the prior on a weight and on the offset, (C,) each."""
        precision = 1.0 / np.square(self.problem.spread[len(self.problem.units.theta_) :])
        of_weight, of_offset = precision.reshape(2, -1)
        if self.problem.likelihood.is_coupled:
            # a prior of independent weights, as the curvature that rows worth it would have
            return of_weight * (1.0 - of_offset), of_offset * (1.0 - of_offset)
        return of_weight, of_offset

    def _shorten_step(self, theta: Array, w: Array, b: Array) -> Array:
        """The step, shortened until it gains; where no fraction does, the unit without weight."""
        step = np.stack([w, b]) - self._without_unit
        before = self.problem(self.problem.join(theta, self._without_unit))[0]
        for fraction in _FRACTIONS:
            x = self.problem.join(theta, self._without_unit + fraction * step)
            if self.problem(x)[0] < before:
                return x
        return self.problem.join(theta, self._without_unit)

    @property
    def _without_unit(self) -> Array:
        """Zero weight and the current offset, (2, C)."""
        return np.stack([np.zeros_like(self.offset), self.offset])


def copy_with_units(units: features.LearnedFeatures, n_units: int) -> features.LearnedFeatures:
    """A copy with this number of units on the same scale of columns, without parameters."""
    other = copy.copy(units)
    other.n_units = n_units
    return other
