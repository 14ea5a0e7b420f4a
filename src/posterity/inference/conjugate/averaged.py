"""The posterior of a linear model, averaged over its variances and over subsets of its columns.

Columns that were chosen for the rows at hand explain too much of them. The average is over subsets
of the chosen columns, each with its variances averaged over. Columns are left out one by one, each
time the one without which the rest is most probable. Of interest are all subsets on the way and
those they were compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from posterity import designs, distributions, page_forms
from posterity.arrays import Array
from posterity.inference.averaging import PosteriorMixture, is_worthwhile
from posterity.inference.conjugate.linear import LinearProblem, WeightPosterior, reduce_statistics
from posterity.inference.conjugate.variances import VariancePoints, find_variance_points
from posterity.inference.posterior import LatentJoint, LatentMarginals, WeightedPosterior
from posterity.page_forms import Form

_ALIKE = 1e-4  # of the noise variance: by less than that, points do not differ


@dataclass(frozen=True)
class AveragedPosterior:
    """A mixture of posteriors of weights and offset over G points of the two variances.

    With finite degrees of freedom the noise variance is integrated out at each point: posteriors
    there are multivariate t, of the scale that is kept, and the offset is flat. Otherwise they are
    normal, and the offset has the prior of the problem.
    """

    at_maximum: WeightPosterior  # at the variances of the largest evidence
    noise_variance: Array  # (K, G)
    prior_variance: Array  # (K, G)
    log_weights: Array  # (K, G)
    degrees_of_freedom: float  # inf: normal
    is_noise_known: bool

    @classmethod
    def of_points(cls, at_maximum: WeightPosterior, points: VariancePoints) -> AveragedPosterior:
        """Return the average over these points, or over their centre where they are alike."""
        parts = (points.noise_variance.T, points.prior_variance.T, points.log_weights.T)
        found = cls(at_maximum, *parts, points.degrees_of_freedom, points.is_noise_known)
        return found if found.n_points == 1 or found._disagreement() > _ALIKE else found._centre()

    @property
    def n_points(self) -> int:
        """The number G of points."""
        return int(self.log_weights.shape[1])

    @property
    def coef(self) -> Array:
        """Posterior mean of the weights in the original units, shape (M, K)."""
        return self._average(self.points.coef)

    @property
    def intercept(self) -> Array:
        """Posterior mean of the offset in the original units, shape (K,)."""
        return self._average(self.points.intercept)

    @property
    def mean_noise_variance(self) -> Array:
        """Posterior mean of the noise variance, shape (K,)."""
        return self._mean_noise_ratio * self._average(self.points.noise_variance)

    def latent(self, Z: Array) -> LatentMarginals:
        """Return means and variances of the K noise-free functions at the queries."""
        f = self.points.latent(Z)
        mean = self._average(f.mean)
        apart = f.mean - np.repeat(mean, self.n_points, axis=1)
        return LatentMarginals(mean, self._average(self._mean_noise_ratio * f.variance + apart**2))

    def predict(
        self, Z: Array, noise_variance: Array | None, outputs: tuple[int, ...]
    ) -> distributions.Continuous:
        """Return the predictive distributions of the targets at the queries, (n, *outputs).

        ``noise_variance`` (n, K) is that of the new targets; None: that of the rows, averaged.
        ``outputs`` is (K,), or () of a single one.
        """
        G = () if self.n_points == 1 else (self.n_points,)
        f, shape = self.points.latent(Z), (len(Z), *outputs, *G)
        mean, variance, own = f.mean.reshape(shape), f.variance.reshape(shape), np.zeros(())
        if noise_variance is None:
            variance = variance + self.noise_variance.reshape((*outputs, *G))
        else:
            own = noise_variance.reshape(len(Z), *outputs, *(1 for _ in G))
        parts = self._predict_points(mean, variance, own)
        return (
            distributions.Mixture(parts, self.log_weights.reshape((*outputs, *G))) if G else parts
        )

    def joint(self, Z: Array) -> LatentJoint:
        """Return mean and covariance of each noise-free function over all queries."""
        return self.combine(Z, np.ones(len(Z)))

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return mean and covariance of A (n, M) times the weights plus b (n,) times the offset."""
        self._require_covariance()
        w = np.exp(self.log_weights)
        second = np.zeros((len(w), len(A), len(A)))
        center = A @ self.coef + np.outer(b, self.intercept)
        for g in range(self.n_points):
            f = self._posterior_at(g).combine(A, b)
            apart = (f.mean - center).T  # (K, n)
            own = self._mean_noise_ratio * f.covariance + apart[:, :, None] * apart[:, None, :]
            second += w[:, g, None, None] * own
        return LatentJoint(center, second)

    def before_rows(self) -> WeightPosterior:
        """Return the prior of weights and offset, at the variances of the largest evidence."""
        return self.at_maximum.before_rows()

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws of the weights (size, M, K) and of the offset (size, K)."""
        K, G = self.log_weights.shape
        chosen = np.argmax(self.log_weights + rng.gumbel(size=(size, K, G)), axis=2)
        column = chosen + G * np.arange(K)  # (size, K), of the points
        nu = self.degrees_of_freedom
        stretch = (
            np.sqrt(nu / rng.chisquare(nu, (size, K))) if np.isfinite(nu) else np.ones((size, K))
        )
        coef, intercept = self.points.sample(size, rng)
        draw = np.arange(size)[:, None]
        w, b = self.points.coef.T[column], self.points.intercept[column]
        w = w + stretch[..., None] * (coef[draw, :, column] - w)  # (size, K, M)
        return np.moveaxis(w, 1, 2), b + stretch * (intercept[draw, column] - b)

    def _predict_points(
        self, mean: Array, variance: Array, noise: Array
    ) -> distributions.Continuous:
        """The distribution at each point, of a function of this variance and known noise."""
        nu = self.degrees_of_freedom
        if not np.isfinite(nu):
            return distributions.Normal(mean, np.sqrt(variance + noise))
        if not np.any(noise):
            return distributions.StudentT(mean, np.sqrt(variance), nu)
        return distributions.StudentTPlusNormal(mean, np.sqrt(variance), nu, np.sqrt(noise))

    @cached_property
    def points(self) -> WeightPosterior:
        """The posteriors at all points as one of K G outputs, those of an output together."""
        p, G = self._problem, self.n_points
        repeated = replace(
            p,
            T=np.repeat(p.T, G, axis=1),
            target_center=np.repeat(p.target_center, G),
            offset_variance=np.repeat(p.offset_variance, G),
        )
        return WeightPosterior(repeated, self.noise_variance.ravel(), self.prior_variance.ravel())

    def page_regression(self, columns: Form, coef: Any, intercept: Any, noise: float) -> Form:
        """Return the form of a regression, with a latent value of its own for each point."""
        del coef, intercept
        at, nu = self.points, self.degrees_of_freedom
        own = np.full_like(at.noise_variance, noise) if self.is_noise_known else at.noise_variance
        answer = {
            "kind": "average",
            "freedom": nu if np.isfinite(nu) else None,
            "noise": own.ravel().tolist(),
            "weights": np.exp(self.log_weights).ravel().tolist(),
        }
        latent = page_forms.form_weights(at.coef.T, at.intercept, at.page_form())
        return page_forms.form_linear(columns, latent, answer)

    def _posterior_at(self, g: int) -> WeightPosterior:
        """The posterior at one point."""
        return WeightPosterior(self._problem, self.noise_variance[:, g], self.prior_variance[:, g])

    @property
    def _problem(self) -> LinearProblem:
        """The problem, its offset flat where the noise variance is integrated out."""
        p = self.at_maximum.problem
        if not np.isfinite(self.degrees_of_freedom):
            return p
        return replace(p, offset_variance=np.where(p.offset_variance > 0.0, np.inf, 0.0))

    @property
    def _mean_noise_ratio(self) -> float:
        """The mean of the noise variance at a point over its scale; infinite where it has none."""
        nu = self.degrees_of_freedom
        if not np.isfinite(nu):
            return 1.0
        return nu / (nu - 2.0) if nu > 2.0 else np.inf

    def _require_covariance(self) -> None:
        if self.degrees_of_freedom <= 2.0:
            raise ValueError(
                "Predictions from three rows or fewer have no covariance when the noise variance "
                "is averaged over. Use more rows, or hyperparameters='maximise'."
            )

    def _average(self, values: Array) -> Array:
        """The mean over points of values (..., K G), shape (..., K)."""
        w = np.exp(self.log_weights)
        return np.einsum("...kg,kg->...k", values.reshape(*values.shape[:-1], *w.shape), w)

    def _disagreement(self) -> float:
        """Variance between points of predictions at the rows, relative, of the worst output."""
        p, f = self.at_maximum.problem, self.points
        s2 = p.s[:, None] ** 2 / p.total
        log_spread = np.log(f.noise_variance + np.sum(s2 * f.variance, axis=0))
        shift = np.sum(s2 * self._variance_between(f.mean), axis=0)
        relative = shift / self._average(f.noise_variance) + self._variance_between(log_spread)
        return float(relative.max())

    def _variance_between(self, values: Array) -> Array:
        """The variance over points of values (..., K G), shape (..., K)."""
        apart = values - np.repeat(self._average(values), self.n_points, axis=-1)
        return self._average(apart**2)

    def _centre(self) -> AveragedPosterior:
        """The same at one point, the geometric mean of all."""
        noise, prior = (
            np.exp(self._average(np.log(v.ravel())))[:, None]
            for v in (self.noise_variance, self.prior_variance)
        )
        return replace(
            self, noise_variance=noise, prior_variance=prior, log_weights=np.zeros_like(noise)
        )


def average_points(
    at_maximum: WeightPosterior, points: VariancePoints | None
) -> WeightPosterior | AveragedPosterior:
    """Return the average over points, or the posterior itself without points."""
    return at_maximum if points is None else AveragedPosterior.of_points(at_maximum, points)


_N_POINTS = 3  # of the variances of a subset: subsets differ by more than these
_FEWEST_ROWS = 4  # with which predictions that are averaged have a variance


ConjugatePosterior: TypeAlias = WeightPosterior | AveragedPosterior | PosteriorMixture


_NEGLIGIBLE = 7.0  # nats below the best subset: a weight of a thousandth
_HOPELESS = 12.0  # nats below the best subset, from which fewer columns would not recover
_MOST_LEFT_OUT = 8  # columns, the weakest: 37 subsets at most

Mask = NDArray[np.bool_]


class ScoredSubset(Protocol):
    """Some of M columns."""

    @property
    def kept(self) -> Mask:
        """Mask of the columns that are kept, (M,)."""

    @property
    def log_probability(self) -> float:
        """Log probability of the rows and the subset, up to a constant that subsets share."""


T = TypeVar("T", bound=ScoredSubset)


def explore_subsets(
    evaluate: Callable[[Mask], T], posterior: WeightedPosterior, n_columns: int, *, fewest: int = 0
) -> Iterator[T]:
    """All columns, and subsets with ever fewer of the weakest, while these are probable.

    The weakest are those of whose weights the posterior knows least that they differ from zero.
    """
    weakest = _find_weakest(posterior, n_columns)
    current = evaluate(np.ones(n_columns, dtype=np.bool_))
    best = current.log_probability
    yield current
    while current.log_probability >= best - _HOPELESS and np.sum(current.kept) > fewest:
        level = [evaluate(_leave_out(current.kept, i)) for i in weakest if current.kept[i]]
        if not level:
            return
        yield from level
        current = max(level, key=lambda one: one.log_probability)
        best = max(best, current.log_probability)


def _find_weakest(posterior: WeightedPosterior, n_columns: int) -> NDArray[np.intp]:
    f = posterior.combine(np.eye(n_columns), np.zeros(n_columns))
    variance = np.maximum(f.covariance.diagonal(axis1=1, axis2=2).T, np.finfo(np.float64).tiny)
    return np.argsort(np.sum(f.mean**2 / variance, axis=1), kind="stable")[:_MOST_LEFT_OUT]


def _leave_out(kept: Mask, i: int) -> Mask:
    fewer = kept.copy()
    fewer[i] = False
    return fewer


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

    def average(self, at_maximum: WeightPosterior) -> PosteriorMixture | WeightPosterior:
        """Return the average, or the posterior at the maximum where rows are many or too few.

        A column that a subset lacks has an infinite scale in its problem: its weight is zero.
        """
        count, M = self.statistics.count, len(self.scale)
        # Each column has a weight, and may be in or out; noise and prior have a variance.
        if count < _FEWEST_ROWS or not is_worthwhile(count, 2 * M + 2):
            return at_maximum
        subsets = list(explore_subsets(self._evaluate, at_maximum, M))
        log_w = np.array([one.log_probability for one in subsets])
        kept = np.flatnonzero(log_w >= np.max(log_w) - _NEGLIGIBLE)
        parts = tuple(self._average_points(subsets[i]) for i in kept)
        return PosteriorMixture(at_maximum, parts, np.exp(log_w[kept] - logsumexp(log_w[kept])))

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
