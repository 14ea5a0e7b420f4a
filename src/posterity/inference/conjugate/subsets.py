"""The posterior of a linear model, averaged over which of its columns have a weight.

Columns that were chosen for the rows at hand explain too much of them. The average is over subsets
of the chosen columns, each with its variances averaged over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp

from posterity import designs, distributions, page_forms
from posterity.arrays import Array
from posterity.inference.averaging import is_worthwhile
from posterity.inference.conjugate.averaged import AveragedPosterior
from posterity.inference.conjugate.linear import LinearProblem, WeightPosterior, reduce_statistics
from posterity.inference.conjugate.variance_points import VariancePoints, find_variance_points
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.subsets import NEGLIGIBLE, Mask, explore_subsets
from posterity.page_forms import Form

_N_POINTS = 3  # of the variances of a subset: subsets differ by more than these
_FEWEST_ROWS = 4  # with which predictions that are averaged have a variance


@dataclass(frozen=True)
class SubsetAverage:
    """A mixture over S subsets of the columns of posteriors averaged over variances.

    A column that a subset lacks has an infinite scale in its problem, so that its weight is zero.
    """

    at_maximum: WeightPosterior  # of all columns
    parts: tuple[AveragedPosterior, ...]
    log_weights: Array  # (S,)

    @property
    def noise_variance(self) -> Array:
        """That of the largest evidence, shape (K,)."""
        return self.at_maximum.noise_variance

    @property
    def mean_noise_variance(self) -> Array:
        """Posterior mean of the noise variance, shape (K,)."""
        return self._average([part.mean_noise_variance for part in self.parts])

    @property
    def is_noise_known(self) -> bool:
        """Whether the noise variance was given."""
        return self.parts[0].is_noise_known

    @property
    def coef(self) -> Array:
        """Posterior mean of the weights in the original units, shape (M, K)."""
        return self._average([part.coef for part in self.parts])

    @property
    def intercept(self) -> Array:
        """Posterior mean of the offset in the original units, shape (K,)."""
        return self._average([part.intercept for part in self.parts])

    def latent(self, Z: Array) -> LatentMarginals:
        """Return means and variances of the K noise-free functions at the queries."""
        found = [part.latent(Z) for part in self.parts]
        mean = self._average([f.mean for f in found])
        return LatentMarginals(
            mean, self._average([f.variance + (f.mean - mean) ** 2 for f in found])
        )

    def predict(
        self, Z: Array, noise_variance: Array | None, outputs: tuple[int, ...]
    ) -> distributions.Continuous:
        """Return the predictive distributions of the targets, as ``AveragedPosterior`` does."""
        members = [part.predict(Z, noise_variance, outputs) for part in self.parts]
        if len(members) == 1:
            return members[0]
        return distributions.Mixture.average(members, np.exp(self.log_weights))

    def joint(self, Z: Array) -> LatentJoint:
        """Return mean and covariance of each noise-free function over all queries."""
        return self.combine(Z, np.ones(len(Z)))

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return mean and covariance of A (n, M) times the weights plus b (n,) times the offset."""
        found = [part.combine(A, b) for part in self.parts]
        mean = self._average([f.mean for f in found])
        apart = [(f.mean - mean).T for f in found]  # (K, n)
        second = [
            f.covariance + d[:, :, None] * d[:, None, :] for f, d in zip(found, apart, strict=True)
        ]
        return LatentJoint(mean, self._average(second))

    def before_rows(self) -> WeightPosterior:
        """Return the prior of weights and offset, at the variances of the largest evidence."""
        return self.at_maximum.before_rows()

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the weights (size, M, K) and of the offset (size, K); outputs share subsets."""
        chosen = rng.choice(len(self.parts), size=size, p=np.exp(self.log_weights))
        (M, _), K = self.at_maximum.problem.V.shape, len(self.noise_variance)
        coef, intercept = np.empty((size, M, K)), np.empty((size, K))
        for i in np.unique(chosen):
            own = chosen == i
            coef[own], intercept[own] = self.parts[i].sample(int(np.sum(own)), rng)
        return coef, intercept

    def page_regression(self, columns: Form, coef: Any, intercept: Any, noise: float) -> Form:
        """Return the form of a regression that is averaged over the subsets."""
        forms = [part.page_regression(columns, coef, intercept, noise) for part in self.parts]
        return page_forms.form_mixture(forms, np.exp(self.log_weights).tolist())

    def _average(self, values: list[Array]) -> Array:
        return np.tensordot(np.exp(self.log_weights), np.stack(values), axes=1)


ConjugatePosterior: TypeAlias = WeightPosterior | AveragedPosterior | SubsetAverage


@dataclass(frozen=True)
class Subset:
    """Some of the columns, with points of the variances of their weights and of the noise."""

    kept: Mask  # (M,)
    problem: LinearProblem
    points: VariancePoints
    log_probability: float  # of the rows and the subset, up to a constant that subsets share


@dataclass(frozen=True)
class ColumnSubsets:
    """Columns that were chosen, of which some may have no weight."""

    statistics: designs.Statistics
    scale: Array  # (M,), spreads of the columns
    fit_intercept: bool
    noise_variance: float | None  # None: learned
    log_prior: Callable[[int], float]  # of a subset of so many columns

    def average(self, at_maximum: WeightPosterior) -> SubsetAverage | WeightPosterior:
        """Return the average, or the posterior at the maximum where rows are many or too few."""
        count, M = self.statistics.count, len(self.scale)
        # Each column has a weight, and may be in or out; noise and prior have a variance.
        if count < _FEWEST_ROWS or not is_worthwhile(count, 2 * M + 2):
            return at_maximum
        subsets = list(explore_subsets(self._evaluate, at_maximum, M))
        log_w = np.array([one.log_probability for one in subsets])
        kept = np.flatnonzero(log_w >= np.max(log_w) - NEGLIGIBLE)
        parts = tuple(self._average_points(subsets[i]) for i in kept)
        return SubsetAverage(at_maximum, parts, log_w[kept] - logsumexp(log_w[kept]))

    def _evaluate(self, kept: Mask) -> Subset:
        m = int(np.sum(kept))
        problem = reduce_statistics(
            self.statistics,
            fit_intercept=self.fit_intercept,
            standardize=False,
            scale=np.where(kept, self.scale, np.inf),
        )
        points = find_variance_points(
            problem,
            noise_variance=self.noise_variance,
            prior_variance=None,
            n_chosen=m,  # with each column, itself was chosen for these rows
            n_points=_N_POINTS,
        )
        assert points is not None  # of variances that are not given, and rows enough
        log_probability = float(np.sum(points.log_evidence)) + self.log_prior(m)
        return Subset(kept, problem, points, log_probability)

    def _average_points(self, subset: Subset) -> AveragedPosterior:
        noise, prior = subset.points.noise_variance[0], subset.points.prior_variance[0]
        return AveragedPosterior.of_points(
            WeightPosterior(subset.problem, noise, prior), subset.points
        )
