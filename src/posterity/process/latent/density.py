"""Targets of any likelihood, and the posterior density of the latent functions that they tell of.

A process of one latent function and one of C coupled ones climb the same density; they differ in
how they find a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods
from posterity.arrays import Array
from posterity.linalg import products

_HALVINGS = 50
_SUFFICIENT = 1e-4  # of what the slope promises (Armijo)
_ROUND_OFF = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LatentTargets:
    """N observations, how often each counts, and the prior of the offset of the latent function.

    The latent function is ``shift`` + offset + process: the offset is normal of variance
    ``offset_variance``, and joins the kernel as a constant. Each has one entry for each latent
    function: one, or C where the likelihood couples C of them.
    """

    y: Array  # (N,)
    weights: Array  # (N,), above zero
    shift: Array  # (C,)
    offset_variance: Array  # (C,)

    @classmethod
    def with_offset_prior(
        cls,
        y: Array,
        weights: Array,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
        *,
        offset: bool,
    ) -> LatentTargets:
        """Make targets with an offset's prior worth one row, or without an offset."""
        if not offset:
            none = np.zeros(likelihood.n_latents)
            return cls(y, weights, none, none)
        shift, variance = likelihood.fit_constant(y, weights)
        return cls(y, weights, np.atleast_1d(shift), np.atleast_1d(variance))

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return len(self.y)

    def measure_from_shift(
        self, likelihood: likelihoods.Likelihood | likelihoods.Coupled, f: Array
    ) -> tuple[Array, Array]:
        """Observations and latent values where the latent functions, but for their shift, are f.

        Both are measured from the shift if the likelihood sees their difference only: that of two
        large numbers would be rounding.
        """
        if likelihood.depends_on_difference:
            return self.y - self.shift[0], f
        return self.y, self.shift + f

    def select_rows(self, chosen: NDArray[np.intp]) -> LatentTargets:
        """The rows of these numbers alone."""
        return replace(self, y=self.y[chosen], weights=self.weights[chosen])


@dataclass(frozen=True)
class Point:
    """Latent functions f = K b, both (N,) or (N, C), and their log posterior density."""

    b: Array
    f: Array
    value: float  # log p(y | f) - f^T K^-1 f / 2


@dataclass(frozen=True)
class Step:
    """A direction in f = K b, and the rise it promises."""

    b: Array  # (N,) or (N, C)
    f: Array
    rise: float  # slope^T f, the squared length in the metric of the curvature
    is_exact: bool = True  # as good as it was asked for

    @property
    def length(self) -> float:
        """In the metric of the curvature; rounding may have made the rise a fall."""
        return math.sqrt(abs(self.rise))


@dataclass(frozen=True)
class LatentDensity:
    """The log posterior density of one latent function at N rows, or of C with one kernel.

    The offset of one function is part of K; those of several are not.
    """

    K: Array  # (N, N), symmetric in full, Fortran order
    likelihood: Any  # of one latent value or of C
    targets: LatentTargets

    def times(self, V: Array) -> Array:
        """The prior covariance of each class, offset included, times its column of V (N, C)."""
        KV = products.product(self.K, np.asfortranarray(V))
        KV += self.targets.offset_variance * np.sum(V, axis=0)
        return KV

    def evaluate_at(self, b: Array, f: Array) -> Point:
        """The density of latent functions f = K b.  [GPML Sec3.5]"""
        t = self.targets
        log_p = self.likelihood.log_prob(*t.measure_from_shift(self.likelihood, f))
        return Point(b, f, float(t.weights @ log_p - 0.5 * np.sum(b * f)))

    def evaluate_at_prior(self) -> Point:
        """The density of no function at all."""
        n, C = self.targets.n_rows, len(self.targets.shift)
        nothing = np.zeros((n, C) if C > 1 else n)
        return self.evaluate_at(nothing, nothing)

    def slope(self, f: Array) -> Array:
        """The gradient of log p(y | f), like f."""
        t = self.targets
        d1 = self.likelihood.d1(*t.measure_from_shift(self.likelihood, f))
        return (t.weights * d1.T).T

    def shares(self, f: Array) -> Array:
        """u (N, C) of classes, with minus the Hessian of row n equal to diag(u_n) - u_n u_n^T."""
        u: Array = self.likelihood.curvature_shares(self.targets.y, self.targets.shift + f)
        return u

    def take_step(self, point: Point, step: Step, fraction: float) -> Point:
        """Return the point some of a step away."""
        return self.evaluate_at(point.b + fraction * step.b, point.f + fraction * step.f)

    def climb_along(self, point: Point, step: Step) -> Point | None:
        """After the first of 1, 1/2, 1/4, ... steps that climbs enough; None where none does."""
        slack = _ROUND_OFF * (1.0 + abs(point.value))
        for fraction in 0.5 ** np.arange(_HALVINGS if step.rise > 0.0 else 0):
            there = self.take_step(point, step, float(fraction))
            if there.value >= point.value + _SUFFICIENT * fraction * step.rise - slack:
                return there
        return None
