"""Predictions of a linear model from the normal posterior of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, designs, distributions, models
from posterity.arrays import Array
from posterity.inference.conjugate import WeightPosterior, maximise_evidence, reduce_statistics
from posterity.inference.posterior import WeightedPosterior
from posterity.regression.linear_model import LinearModel


class PosteriorModel(models.WeightedModel, LinearModel):
    """A linear model that predicts by averaging over a :class:`WeightPosterior`."""

    prior_variance: float | None
    noise_variance: float | None
    posterior_: WeightPosterior

    def _learn(self, statistics: designs.Statistics, *, standardize: bool) -> None:
        """The posterior at the variances given, or at those of the largest evidence."""
        problem = reduce_statistics(
            statistics, fit_intercept=self.fit_intercept, standardize=standardize
        )
        noise = models.check_variance(self.noise_variance, "noise_variance")
        learned = maximise_evidence(
            problem,
            prior_variance=models.check_variance(self.prior_variance, "prior_variance"),
            # Rows of known noise were divided by its deviation, which leaves a variance of one.
            noise_variance=1.0 if self._known_noise else noise,
        )
        posterior = WeightPosterior(problem, learned.noise_variance, learned.prior_variance)
        self._adopt(posterior, statistics)
        self.log_evidence_ = float(learned.log_evidence.sum())
        self.stop_reason_ = learned.stop_reason
        self.at_bounds_ = models.report_weight_bounds(learned)

    def _adopt(self, posterior: WeightPosterior, statistics: designs.Statistics) -> None:
        """Set what prediction needs; noise known row by row is reported by its average."""
        self.posterior_ = posterior
        self._publish(posterior.coef, posterior.intercept)
        noise = posterior.noise_variance
        if self._known_noise:
            noise = np.full_like(noise, statistics.noise_sum / statistics.count)
        self.noise_variance_ = self._per_output(noise)
        self.prior_variance_ = self._per_output(posterior.prior_variance)

    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        f = self.posterior_.latent(Z)
        total = f.variance + self._make_query_noise(noise_variance, len(Z))
        return distributions.Normal(self._per_row(f.mean), np.sqrt(self._per_row(total)))

    @models.refuse_partitions
    def predict_cov(self, X: ArrayLike) -> Array:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        Z = self._queries(X)
        C = self._posterior().joint(Z).covariance
        i = np.arange(len(Z))
        C[:, i, i] += np.atleast_1d(self.noise_variance_)[:, None]
        return C[0] if self._single_output else C

    def sample_weights(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draws from the posterior of the weights and of the offset, in the units of the data.

        Returns
        -------
        coef : array of shape (n_samples, M) or (n_samples, K, M)
        intercept : array of shape (n_samples,) or (n_samples, K)
        """
        rng = arrays.generator(random_state)
        coef, intercept = self._split(*self._posterior().sample(n_samples, rng))
        by_output = np.moveaxis(coef, 1, 2)
        if self._single_output:
            return by_output[:, 0], intercept[:, 0]
        return by_output, intercept

    @models.refuse_partitions
    def sample_functions(self, X: ArrayLike, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions drawn from the posterior, at the rows of X.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        Z = self._queries(X)
        coef, intercept = self._posterior().sample(n_samples, arrays.generator(random_state))
        values = Z @ coef + intercept[:, None, :]
        return values[..., 0] if self._single_output else values

    def _weight_posterior(self) -> WeightedPosterior:
        return self._posterior()

    def _output_names(self) -> range:
        return range(len(self.posterior_.noise_variance))

    def _posterior(self) -> WeightPosterior:
        check_is_fitted(self)
        return self.posterior_

    def _split(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights (..., M, K) and offset (..., K) of the features, from those of the design."""
        return coef, intercept

    def _publish(self, coef: Array, intercept: Array) -> None:
        super()._publish(*self._split(coef, intercept))
