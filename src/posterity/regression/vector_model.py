"""Predictions from the weights of relevance vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, designs, distributions, models
from posterity.arrays import Array
from posterity.inference.conjugate import WeightPosterior
from posterity.inference.posterior import LatentMarginals
from posterity.inference.sparse_bayes import Chosen, QueryColumn
from posterity.regression.base import DISTRIBUTION, PREDICTION
from posterity.regression.kernel_model import KernelRegressor
from posterity.regression.sparse_noise import Noise


class VectorModel(models.RelevanceModel, KernelRegressor):
    """A regressor that predicts from a posterior of the weights of its relevance vectors."""

    posterior_: WeightPosterior
    dual_coef_: Array
    intercept_: Any
    _query: QueryColumn | None

    def _conclude(
        self, statistics: designs.Statistics, chosen: Chosen, noise: Noise, *, by_row: bool
    ) -> None:
        """Set the weights of the chosen columns, whose statistics these are, and what they say.

        Where noise is known row by row, predictions have its average.
        """
        posterior, self.log_evidence_ = noise.posterior(
            statistics, chosen, fit_intercept=self.fit_intercept
        )
        self.posterior_, self._query = posterior, None
        self.precision_ = chosen.precision
        self.dual_coef_ = self._per_output(np.ascontiguousarray(posterior.coef.T))
        self.intercept_ = self._per_output(posterior.intercept) if self.fit_intercept else 0.0
        average = np.full(len(posterior.noise_variance), statistics.noise_sum / statistics.count)
        self.noise_variance_ = self._per_output(average if by_row else posterior.noise_variance)

    def _keep_query(self, training: models.Training, columns: Array) -> None:
        """Give each query a column of its own, beside those of the vectors at the rows."""
        self._query = QueryColumn.of_normal(
            self.kernel_,
            training.rows,
            columns,
            training.Y,
            training.importance,
            self.posterior_,
            centred=self.fit_intercept,
        )

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: Any, *, noise_variance: ArrayLike | None = None
    ) -> distributions.Normal:
        """The predictive distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n, D), or a sequence of n objects
            Query rows.
        noise_variance : float or array-like of shape (n,), optional
            Variance of the noise of the new targets. None: that of the training rows (their
            average where it was known row by row). 0: the noise-free function.
        """
        f = self._latent(X)
        total = f.variance + self._noise_at(noise_variance, len(f.mean))
        return distributions.Normal(self._per_row(f.mean), np.sqrt(self._per_row(total)))

    @models.answer_lazily(PREDICTION)
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        answer = super().predict(X, return_std, return_cov)
        if self._takes_objects or not models.is_on_device(X):
            return answer
        if isinstance(answer, tuple):
            return tuple(arrays.like(X, part) for part in answer)
        return arrays.like(X, answer)

    predict.__doc__ = KernelRegressor.predict.__doc__

    @models.refuse_partitions
    def predict_cov(self, X: Any) -> Array:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        C = self._joint().joint(self._columns_at(self._queries(X))).covariance
        i = np.arange(C.shape[1])
        C[:, i, i] += np.atleast_1d(self.noise_variance_)[:, None]
        return C[0] if self._single_output else C

    @models.refuse_partitions
    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions drawn from the posterior, at the rows of X.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        coef, intercept = self._joint().sample(n_samples, arrays.generator(random_state))
        values = self._columns_at(self._queries(X)) @ coef + intercept[:, None, :]
        return values[..., 0] if self._single_output else values

    def _joint(self) -> WeightPosterior:
        """The posterior, where it is one for all queries."""
        check_is_fitted(self)
        if self._query is not None:
            raise TypeError(
                "With query_column=True each query has a model of its own, and there is no joint "
                "distribution over rows: use return_std=True, or fit with query_column=False."
            )
        return self.posterior_

    def _predict_mean(self, X: Any) -> Array:
        check_is_fitted(self)
        if self._query is not None:
            return self._per_row(self._latent(X).mean)
        return self._columns_at(self._queries(X)) @ self.dual_coef_.T + self.intercept_

    def _latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the noise-free functions."""
        check_is_fitted(self)
        rows = self._queries(X)
        Z = self._columns_at(rows)
        f = self.posterior_.latent(Z)
        if self._query is None:
            return f
        p = self.posterior_.problem
        more, doubt = self._query.changes(rows, (Z - p.center) / p.scale)
        variance = f.variance + doubt[:, 0, :] * self.posterior_.noise_variance
        return LatentMarginals(f.mean + more[:, 0, :], variance)
