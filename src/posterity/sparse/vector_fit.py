"""What a fit of relevance vectors leaves, and the latent values it predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays, distributions, kernels
from posterity.arrays import Array
from posterity.inference.averaging import PosteriorMixture, transform_parts
from posterity.inference.conjugate import AveragedPosterior, ConjugatePosterior
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights import LaplaceFit
from posterity.likelihoods import exposed_counts as exposed
from posterity.models.fitted import find_center
from posterity.models.training import make_query_noise
from posterity.sparse import Chosen, LearnedVectors, QueryColumn, SparsePosterior
from posterity.sparse.class_normals import ClassNormals


@dataclass(frozen=True)
class FoundVectors:
    """Vectors that were chosen, by their numbers among the rows as given, in increasing order."""

    kernel: kernels.Kernel  # in the units of the rows as given
    at_bounds: tuple[str, ...]  # of the search for the kernel
    learned: LearnedVectors
    numbers: NDArray[np.intp]  # (m,)
    rows: Any  # (m, D), or m objects
    order: NDArray[np.intp]  # (m,), of the chosen columns

    @property
    def chosen(self) -> Chosen:
        """The columns in this order."""
        return self.learned.chosen.reorder(self.order)

    @property
    def fit(self) -> LaplaceFit | ClassNormals:
        """Laplace's approximation, in the order of the search."""
        assert self.learned.fit is not None
        return self.learned.fit


@dataclass(frozen=True)
class VectorFit:
    """Relevance vectors with the posterior of their weights: what was learned, and predictions.

    Predictions take rows that were checked.
    """

    kernel: Any
    relevance: Any  # (m,), numbers of the rows, or of candidates
    relevance_vectors: Any  # (m, D), or m objects
    posterior: ConjugatePosterior | SparsePosterior | PosteriorMixture
    dual_coef: Any
    intercept: Any
    precision: Any
    log_evidence: float
    n_iter: int
    stop_reason: str
    at_bounds: Any = ()
    query: QueryColumn | None = None
    X_train: Any = None  # with a column for each query only
    noise_variance: Any = None  # in normal noise only
    likelihood: Any = None  # that was given and learned, where there is one
    single_output: bool = True

    @classmethod
    def from_posterior(
        cls,
        found: FoundVectors,
        posterior: SparsePosterior,
        search: tuple[int, str],
        *,
        kept: Any = None,
        single: bool | None = None,
    ) -> VectorFit:
        """Describe a fit of latent values; ``single`` says how a regressor's target was shaped.

        Rows are kept where each query has a column of its own.
        """
        coef, intercept = posterior.original_units()
        dual_coef = np.ascontiguousarray(coef.T)
        fit, query = posterior.fit, None
        if kept is not None:
            A = fit.problem.design.rows(0, fit.problem.design.n_rows)
            query = QueryColumn.from_fit(found.kernel, kept, A, fit, centred=posterior.offset)
        if single is not None:
            intercept = intercept if posterior.offset else np.zeros(1)
        return cls(
            found.kernel,
            found.numbers,
            found.rows,
            posterior.without_rows(),
            dual_coef if single is None else shape_outputs(dual_coef, single),
            intercept if single is None else shape_outputs(intercept, single),
            posterior.precision,
            posterior.log_evidence,
            *search,
            at_bounds=found.at_bounds,
            query=query,
            X_train=kept,
            likelihood=None if single is None else fit.problem.targets.likelihood,
            single_output=single is not False,
        )

    def with_average(self, mixture: PosteriorMixture) -> VectorFit:
        """The same with the posterior averaged over subsets of the vectors, for prediction only."""
        units = [part.original_units() for part in mixture.parts]
        coef, intercept = (
            np.tensordot(mixture.weights, part, axes=1) for part in zip(*units, strict=True)
        )
        return replace(
            self,
            posterior=transform_parts(mixture, SparsePosterior.without_rows),
            dual_coef=np.ascontiguousarray(coef.T),
            intercept=intercept,
        )

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of the target of one row: () or (K,)."""
        return () if self.single_output else (np.shape(self.dual_coef)[0],)

    def columns_at(self, rows: Any) -> Array:
        """The columns of the vectors at rows, (n, m), on the host."""
        if not len(self.relevance):
            return np.empty((kernels.rows.count_rows(rows), 0))
        K = self.kernel(rows, self.relevance_vectors)
        return np.asarray(arrays.to_numpy(K), dtype=np.float64)

    def latent(self, rows: Any) -> LatentMarginals:
        """Return the distributions of the latent functions at each row."""
        Z = self.columns_at(rows)
        f = self.posterior.latent(Z)
        if self.query is None:
            return f
        if isinstance(self.posterior, SparsePosterior):
            Q = self.posterior.contrasts
            step, spread = self.query.changes(rows, self.posterior.rows(Z))
            mean = f.mean + step[:, :, 0] @ Q.T
            return LatentMarginals.from_covariance(mean, f.covariance + Q @ spread @ Q.T)
        normal: Any = self.posterior
        p = normal.at_maximum.problem
        more, doubt = self.query.changes(rows, (Z - p.center) / p.scale)
        variance = f.variance + doubt[:, 0, :] * self._mean_noise_variance
        return LatentMarginals(f.mean + more[:, 0, :], variance)

    def joint(self, rows: Any) -> LatentJoint:
        """Return the distribution of the latent functions over all rows."""
        self._refuse_query_column()
        joint: LatentJoint = self.posterior.joint(self.columns_at(rows))
        return joint

    def mean(self, rows: Any) -> Array:
        """The means of the latent functions, (n, K)."""
        if self.query is not None:
            return self.latent(rows).mean
        coef, intercept = np.atleast_2d(self.dual_coef), np.atleast_1d(self.intercept)
        return self.columns_at(rows) @ coef.T + intercept

    def predict_mean(self, rows: Any) -> Array:
        """The mean of the targets at each row, or the median where the mean does not exist."""
        if self.likelihood is not None:
            return find_center(self.predict_dist(rows))
        return self.shape_rows(self.mean(rows))

    def predict_latent(self, rows: Any) -> distributions.Univariate:
        """The latent function at each row."""
        f = self.latent(rows)
        return self._predict_values(self.shape_rows(f.mean), self.shape_rows(f.variance))

    def predict_dist(
        self, rows: Any, noise_variance: ArrayLike | None = None, exposure: Any = None
    ) -> distributions.Univariate:
        """The targets at each row."""
        f = self.latent(rows)
        mean, variance = self.shape_rows(f.mean), self.shape_rows(f.variance)
        mean = exposed.add_exposure(self.likelihood, mean, exposure)
        if self.likelihood is None:
            learned = self._mean_noise_variance if noise_variance is None else self.noise_variance
            noise = self.shape_rows(make_query_noise(learned, noise_variance, len(f.mean)))
            if noise_variance is None:
                return self._predict_values(mean, variance + noise)
            return self._predict_values(mean, variance, noise)
        if noise_variance is not None:
            raise ValueError("The likelihood says how targets scatter: noise_variance has no use.")
        predicted: distributions.Univariate = self.likelihood.predict(mean, variance)
        return predicted

    def predict_cov(self, rows: Any) -> Array:
        """Covariance of the targets between rows, (n, n) or (K, n, n)."""
        if self.likelihood is not None:
            raise TypeError(
                "Targets of this likelihood are not jointly normal: use return_std=True, or "
                "sample_functions for the latent function."
            )
        C = self.joint(rows).covariance
        i = np.arange(C.shape[1])
        C[:, i, i] += self._mean_noise_variance[:, None]
        return C[0] if self.single_output else C

    def sample_functions(self, rows: Any, n_samples: int, rng: np.random.Generator) -> Array:
        """Latent functions drawn from the posterior, (n_samples, n, K) or (n_samples, n)."""
        self._refuse_query_column()
        Z = self.columns_at(rows)
        posterior: Any = self.posterior
        coef, intercept = posterior.sample(n_samples, rng)
        values = Z @ coef + intercept[:, None, :]
        return values[..., 0] if self.single_output else values

    def shape_rows(self, values: Array) -> Array:
        """Shape values as the targets were, (n, K) or (n,)."""
        return values[:, 0] if self.single_output else values

    @property
    def _mean_noise_variance(self) -> Array:
        """The noise variance of predictions, (K,): its mean where it is averaged over."""
        if isinstance(self.posterior, AveragedPosterior):
            return self.posterior.mean_noise_variance
        return np.atleast_1d(self.noise_variance)

    def _predict_values(
        self, mean: Array, variance: Array, known_noise: Array | float = 0.0
    ) -> distributions.Univariate:
        """Values of this variance, normal or Student-t, with known noise beside it."""
        if not isinstance(self.posterior, AveragedPosterior):
            return distributions.Normal(mean, np.sqrt(variance + known_noise))
        nu = self.posterior.degrees_of_freedom
        scale = np.sqrt(variance * (nu - 2.0) / nu)
        if not np.any(known_noise):
            return distributions.StudentT(mean, scale, nu)
        return distributions.StudentTPlusNormal(mean, scale, nu, np.sqrt(known_noise))

    def _refuse_query_column(self) -> None:
        if self.query is not None:
            raise TypeError(
                "With query_column=True each query has a model of its own, and no joint "
                "distribution over rows exists: use return_std=True, or fit with "
                "query_column=False."
            )


def shape_outputs(values: Array, single: bool) -> Any:
    """One value an output, or the value itself where the target was one-dimensional."""
    if not single:
        return values
    return float(values[0]) if values.ndim == 1 else values[0]
