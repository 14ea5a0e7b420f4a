"""Noise and likelihood of sparse regressors, and what their rows state about columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import designs, kernels, likelihoods, linalg, models, priors, sparse
from posterity.arrays import Array
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.conjugate import (
    ColumnSubsets,
    ConjugatePosterior,
    WeightPosterior,
    average_points,
    compute_log_evidence,
    integrate_noise,
    maximise_noise,
    reduce_statistics,
)
from posterity.linalg import symmetric
from posterity.sparse import Chosen, NormalOutputs, QueryColumn

INFERENCES = ("auto", "laplace")
_EPS = float(np.finfo(np.float64).eps)
TOL = 1e-3
"""Nats of each output that a step must gain."""
_CHOSEN = 3  # numbers for each column: its weight, its precision, and which it is
_FEWEST_ROWS = 4  # with which a prediction averaged over the noise has a variance
_VALUES = 1 << 22  # of a kernel matrix, 32 MiB, that are in memory at a time
_TALL = 2  # times as many rows as columns, at least, where a factor of them is merged


@dataclass(frozen=True)
class SparseNoise:
    """Rows of known noise are divided by its deviation, which leaves a variance of one.

    Precisions are in units of the noise. Rows of different noise have one all the same: what each
    would have for them to know as much together.
    """

    variance: float | None  # None: learned
    unit: float  # in which precisions are, where it is known row by row; else 1
    by_row: bool = False

    @classmethod
    def from_variance(
        cls, given: float | None, *, by_row: bool, count: float, total: float
    ) -> SparseNoise:
        """Noise of ``count`` rows whose weights over known variances add up to ``total``."""
        return cls(1.0, count / total, by_row=True) if by_row else cls(given, 1.0)

    @classmethod
    def from_training(cls, given: float | None, training: models.Training) -> SparseNoise:
        """Build from rows in memory."""
        count, total = float(np.sum(training.weights)), float(np.sum(training.importance))
        by_row = training.known_noise is not None
        return cls.from_variance(given, by_row=by_row, count=count, total=total)

    def outputs(self, Y: Array, weights: Array) -> NormalOutputs:
        """Outputs of rows of these weights, in units in which their squares are doubles."""
        size = np.max(np.abs(Y), axis=0, initial=0.0)
        units = np.where(size > 0.0, size, 1.0)
        noise = None if self.variance is None else self.variance * self.unit / units**2
        return NormalOutputs(Y / units, self.unit * weights, noise)

    def outputs_of(self, training: models.Training, *, centred: bool) -> NormalOutputs:
        """Outputs of rows in memory, about the first of them where they are centred."""
        about = training.Y - training.Y[0] if centred else training.Y
        return self.outputs(about, training.importance)

    def posterior(
        self,
        statistics: designs.Statistics,
        chosen: Chosen,
        *,
        fit_intercept: bool,
        average: bool = False,
    ) -> tuple[ConjugatePosterior, float]:
        """Return the posterior of the chosen columns' weights, and their log evidence.

        Averaged over noise that is learned: with each column its weight, its precision and itself
        were chosen for these rows.
        """
        problem = reduce_statistics(
            statistics,
            fit_intercept=fit_intercept,
            standardize=False,
            scale=chosen.raw_scale / np.sqrt(self.unit),
        )
        one = np.ones(len(problem.residual))
        # Columns are scaled so that every weight has the variance of the noise.
        noise = maximise_noise(problem, one) if self.variance is None else self.variance * one
        points = None
        if average and self.variance is None and problem.count >= _FEWEST_ROWS:
            points = integrate_noise(problem, one[None], n_chosen=_CHOSEN * len(chosen.places))
        posterior = average_points(WeightPosterior(problem, noise, noise), points)
        return posterior, float(compute_log_evidence(problem, noise, noise).sum())

    def average_columns(
        self,
        at_maximum: WeightPosterior,
        statistics: designs.Statistics,
        chosen: Chosen,
        prior: priors.Sparse,
        *,
        fit_intercept: bool,
    ) -> ConjugatePosterior:
        """The posterior averaged over which of the chosen columns have a weight.

        Weights of columns of unit variance then share their variance, which is averaged over too.
        """
        subsets = ColumnSubsets(
            statistics, chosen.scale, fit_intercept, self.variance, prior.choice
        )
        return subsets.average(at_maximum)


def describe_vectors(
    found: sparse.FoundVectors,
    statistics: designs.Statistics,
    noise: SparseNoise,
    *,
    max_iter: int,
    offset: bool,
    single: bool,
    hyperparameters: str,
    kept: models.Training | None,
) -> sparse.VectorFit:
    """What a fit of vectors leaves, of columns that have these statistics.

    Where noise is known row by row, predictions have its average. Rows are kept where each query
    has a column of its own.
    """
    chosen = found.chosen
    search = sparse.report_choice(chosen, "vector", max_iter)
    average = check_hyperparameters(hyperparameters)
    posterior, log_evidence = noise.posterior(
        statistics, chosen, fit_intercept=offset, average=average
    )
    best = posterior.at_maximum
    mean = np.full(len(best.noise_variance), statistics.noise_sum / statistics.count)
    variance = mean if noise.by_row else best.noise_variance
    fit = sparse.VectorFit(
        found.kernel,
        found.numbers,
        found.rows,
        posterior,
        sparse.shape_outputs(np.ascontiguousarray(posterior.coef.T), single),
        sparse.shape_outputs(posterior.intercept, single) if offset else 0.0,
        chosen.precision,
        log_evidence,
        *search,
        at_bounds=found.at_bounds,
        noise_variance=sparse.shape_outputs(variance, single),
        single_output=single,
    )
    if kept is None:
        return fit
    K, rows = fit.columns_at(kept.rows), (kept.Y, kept.importance)
    query = QueryColumn.from_normal(found.kernel, kept.rows, K, *rows, best, centred=offset)
    return replace(fit, query=query, X_train=kept.rows)


def check_likelihood(
    model: Any, y: Array, known_noise: Array | None
) -> likelihoods.Likelihood | None:
    """The likelihood of a sparse regressor, if it suits its settings; None: normal noise."""
    likelihood = model.likelihood
    if model.inference not in INFERENCES:
        raise ValueError(f"inference={model.inference!r} must be one of {INFERENCES}.")
    if likelihood is None:
        return None
    if not isinstance(likelihood, likelihoods.Likelihood):
        raise TypeError(
            f"likelihood={likelihood!r} must be a likelihood of one latent value, such as "
            "posterity.likelihoods.Poisson(), or None for normal noise."
        )
    if likelihood.varies_by_row:
        raise ValueError(
            f"The parameters of {type(likelihood).__name__} must be one number for all rows."
        )
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError("A likelihood takes one output; fit each by itself.")
    if model.noise_variance is not None or known_noise is not None:
        raise ValueError("noise_variance is that of normal noise: give it to the likelihood.")
    if getattr(model, "query_column", False) and not likelihood.log_concave:
        raise ValueError(
            f"query_column=True needs a log-concave likelihood, which {type(likelihood).__name__} "
            "is not: fit with query_column=False."
        )
    likelihood.check(y.reshape(-1))
    return likelihood


def wants_nearest(model: Any, likelihood: likelihoods.Likelihood) -> bool:
    """Whether a fit ends with the normal nearest to the posterior, as of counts and amounts."""
    return model.inference == "auto" and isinstance(likelihood, likelihoods.Averaged)


@dataclass(frozen=True)
class BlockStatistics:
    """Function from a block of rows to the statistics of its columns and targets."""

    columns: sparse.CentredColumns
    shift: bool

    def __call__(self, block: designs.RowBlock) -> designs.Statistics:
        """Return the statistics of one block, whose targets were asked for before."""
        assert block.y is not None
        Y = block.y.reshape(len(block), -1)
        return self.of_rows(block.X, Y, block.sample_weight)

    def of_training(self, training: models.Training) -> designs.Statistics:
        """Return the statistics of rows in memory."""
        t = training
        return self.of_rows(t.rows, t.Y, t.weights, t.known_noise)

    def of_rows(
        self, rows: Any, Y: Array, weights: Array | None, known_noise: Array | None = None
    ) -> designs.Statistics:
        """A few rows at a time: their kernel matrix is much larger than they are."""
        M = max(1, kernels.rows.count_rows(self.columns.centres))
        step = max(_TALL * M, _VALUES // M)
        total: designs.Statistics | None = None
        for i in range(0, len(Y), step):
            few = slice(i, i + step)
            part = designs.Statistics.from_rows(
                self.columns(kernels.rows.slice_rows(rows, i, i + step)),
                Y[few],
                sample_weight=None if weights is None else weights[few],
                noise_variance=None if known_noise is None else known_noise[few],
                shift=self.shift,
            )
            total = part if total is None else total.merge(part)
        assert total is not None  # blocks have rows
        return total


@dataclass(frozen=True)
class EqualVarianceRows:
    """Few rows of equal weight, with the means and the products of all rows.

    A sparse model sees its rows by these only. Means are zero where there is an intercept.
    """

    Z: Array  # (r, M)
    Y: Array  # (r, K)
    total: float  # what their weights add up to

    @classmethod
    def from_statistics(cls, statistics: designs.Statistics, *, centred: bool) -> EqualVarianceRows:
        """Turn a factor of the products so that its rows share the intercept evenly."""
        B, mean, total = (
            statistics.compute_centred_factor()
            if centred
            else statistics.compute_uncentred_factor()
        )
        spread = linalg.column_norms(B) / np.sqrt(total)
        B = np.where(spread > 4.0 * _EPS * np.abs(mean), B, 0.0)
        rows = _without_mean(B) if centred else B
        rows *= np.sqrt(len(rows) / total)
        return cls(rows[:, : statistics.n_features], rows[:, statistics.n_features :], total)

    @property
    def weights(self) -> Array:
        """Return one value per row, (r,)."""
        return np.full(len(self.Z), self.total / len(self.Z))


def _without_mean(B: Array) -> Array:
    """One row more, with the same products, and columns that add up to zero.

    The reflection swaps the first axis, along which there is nothing, and the vector of ones.
    """
    padded = np.concatenate([np.zeros((1, B.shape[1])), B])
    return symmetric.Reflection.to_first_axis(np.ones(len(padded))).apply(padded)
