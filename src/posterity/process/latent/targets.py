"""Targets of any likelihood, as function-space inference sees them: what it may know of y."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from posterity import likelihoods
from posterity.arrays import Array


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
        """With the offset's prior of one row's worth of information, or without an offset."""
        if not offset:
            C = likelihood.n_latents if isinstance(likelihood, likelihoods.Coupled) else 1
            return cls(y, weights, np.zeros(C), np.zeros(C))
        shift, variance = likelihood.fit_constant(y, weights)
        return cls(y, weights, np.atleast_1d(shift), np.atleast_1d(variance))

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return len(self.y)

    def measure_from_shift(
        self, likelihood: likelihoods.Likelihood, f: Array
    ) -> tuple[Array, Array]:
        """Observations and latent values where the one latent function, but for its shift, is f.

        Both are measured from the shift if the likelihood sees their difference only: that of two
        large numbers would be rounding.
        """
        if likelihood.depends_on_difference:
            return self.y - self.shift[0], f
        return self.y, self.shift[0] + f

    def select_rows(self, chosen: NDArray[np.intp]) -> LatentTargets:
        """The rows of these numbers alone."""
        return replace(self, y=self.y[chosen], weights=self.weights[chosen])
