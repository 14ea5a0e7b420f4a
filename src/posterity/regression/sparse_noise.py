"""What is known of the noise, as sparse models take it, and the posterior of their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import designs
from posterity.arrays import Array
from posterity.inference.conjugate import (
    WeightPosterior,
    compute_log_evidence,
    maximise_noise,
    reduce_statistics,
)
from posterity.inference.sparse_bayes import Chosen, NormalOutputs

TOL = 1e-3
"""Nats of each output that a step must gain."""


@dataclass(frozen=True)
class Noise:
    """Rows of known noise are divided by its deviation, which leaves a variance of one.

    Precisions are in units of the noise. Rows of different noise have one all the same: what each
    would have for them to know as much together.
    """

    variance: float | None  # None: learned
    unit: float  # in which precisions are, where it is known row by row; else 1

    @classmethod
    def of(cls, given: float | None, *, by_row: bool, count: float, total: float) -> Noise:
        """For ``count`` rows whose weights over known variances add up to ``total``."""
        return cls(1.0, count / total) if by_row else cls(given, 1.0)

    def outputs(self, Y: Array, weights: Array) -> NormalOutputs:
        """Outputs of rows of these weights, in units in which their squares are doubles."""
        size = np.max(np.abs(Y), axis=0, initial=0.0)
        units = np.where(size > 0.0, size, 1.0)
        noise = None if self.variance is None else self.variance * self.unit / units**2
        return NormalOutputs(Y / units, self.unit * weights, noise)

    def posterior(
        self, statistics: designs.Statistics, chosen: Chosen, *, fit_intercept: bool
    ) -> tuple[WeightPosterior, float]:
        """Of the weights of the chosen columns, whose statistics these are; their log evidence."""
        problem = reduce_statistics(
            statistics,
            fit_intercept=fit_intercept,
            standardize=False,
            scale=chosen.raw_scale / np.sqrt(self.unit),
        )
        one = np.ones(len(problem.residual))
        # Columns are scaled so that every weight has the variance of the noise.
        noise = maximise_noise(problem, one) if self.variance is None else self.variance * one
        posterior = WeightPosterior(problem, noise, noise)
        return posterior, float(compute_log_evidence(problem, noise, noise).sum())
