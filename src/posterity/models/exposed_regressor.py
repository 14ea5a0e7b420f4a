"""What regressors of counts answer where each count has an exposure."""

from __future__ import annotations

import abc
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import r2_score

from posterity import distributions, models
from posterity.arrays import Array
from posterity.models.regressor import PREDICTION, Regressor, find_quantiles


class ExposedRegressor(Regressor):
    """A regressor whose targets may be counts, each over a known exposure.

    What is learned is then the rate of events in a unit of exposure. A subclass takes ``exposure``
    in ``fit`` and in ``predict_dist``.
    """

    @abc.abstractmethod
    def predict_dist(
        self, X: ArrayLike, *, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The predictive distribution of the target at each row of X."""

    @models.answer_lazily(PREDICTION)
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        exposure: ArrayLike | None = None,
    ) -> Any:
        """The mean prediction, with standard deviation or covariance where asked for.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        return_std : bool, default=False
            Also return the standard deviation of the target at each row.
        return_cov : bool, default=False
            Also return the covariance of the targets between rows.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count, such as hours. None: one, so that counts are rates. Only
            with a likelihood of counts.

        Returns
        -------
        mean : array of shape (n,) or (n, K)
            The median where no mean exists: Student-t noise of one degree of freedom or fewer.
        std : array of the shape of ``mean``, if ``return_std``
            Infinite where no variance exists: Student-t noise of two degrees of freedom or fewer.
        cov : array of shape (n, n) or (K, n, n), if ``return_cov``
        """
        if exposure is None or return_cov:
            return super().predict(X, return_std, return_cov)
        dist = self.predict_dist(X, exposure=exposure)
        mean = models.find_center(dist)
        return (mean, dist.standard_deviation()) if return_std else mean

    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.9, *, exposure: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Lower and upper ends of the central interval that holds the target with this chance.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        coverage : float, default=0.9
            Probability that the target lies inside, between 0 and 1.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one.
        """
        return self.predict_dist(X, exposure=exposure).interval(coverage)

    def predict_quantiles(
        self,
        X: ArrayLike,
        quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        *,
        exposure: ArrayLike | None = None,
    ) -> Array:
        """Quantiles of the target, one more axis at the end: (n, Q) or (n, K, Q)."""
        return find_quantiles(self.predict_dist(X, exposure=exposure), quantiles)

    @models.score_lazily
    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, exposure: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination R^2 of the mean prediction."""
        predicted = self.predict(X, exposure=exposure)
        return float(r2_score(y, predicted, sample_weight=sample_weight))
