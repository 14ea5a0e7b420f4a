"""What every regressor answers, all of it derived from one predictive distribution."""

from __future__ import annotations

import abc
import functools
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags

from posterity import arrays, distributions, kernels, models, validation
from posterity.arrays import Array, DeviceArray


def _target_shape(model: Any) -> tuple[int, ...]:
    return model._target_shape


def _n_answers(question: models.PartitionQuestion) -> int:
    """Means only, or standard deviations with them."""
    return 2 if question.given.get("return_std") else 1


def _refuse_pairs(question: models.PartitionQuestion) -> None:
    if question.given.get("return_cov"):
        models.Refusal("with return_cov=True answers of all pairs of rows").answer_lazily(question)


def find_quantiles(
    dist: distributions.Univariate | distributions.Partitioned, quantiles: ArrayLike
) -> Any:
    """Quantiles of predictions, one more axis at the end."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"Quantiles lie strictly between 0 and 1; got {levels.tolist()}.")
    if isinstance(dist, distributions.Partitioned):
        shape = (*dist.outputs, len(levels))
        return dist.map(functools.partial(_stack_quantiles, levels=levels), shape)
    return _stack_quantiles(dist, levels)


def _stack_quantiles(dist: distributions.Univariate, levels: Array) -> Array:
    return np.stack([dist.icdf(level) for level in levels], axis=-1)


PREDICTION = models.ArrayAnswer(_target_shape, count=_n_answers, check=_refuse_pairs)
DISTRIBUTION = models.DistributionAnswer(_target_shape)


class Regressor(RegressorMixin, BaseEstimator, abc.ABC):
    """A scikit-learn regressor whose prediction is a distribution.

    A subclass writes ``fit`` and ``predict_dist``; means, standard deviations, intervals and
    quantiles follow from the distribution. Of Dask arrays and data frames all of these are lazy:
    Dask arrays, and for ``predict_dist`` a :class:`posterity.distributions.Partitioned`.
    """

    noise_variance_: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        validation.protect_fits(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a likelihood by nested name: ``likelihood__shape=2.0``.

        A likelihood is a value and is replaced, never changed.
        """
        names = ["likelihood"] if hasattr(self, "likelihood") else []
        own, inner = models.split_nested_params(params, names)
        super().set_params(**own)
        for name, changes in inner.items():
            value = getattr(self, name)
            if value is None:
                raise ValueError(f"{name}=None has no parameters; set {name} to a value first.")
            setattr(self, name, value.with_params(**changes))
        return self

    @abc.abstractmethod
    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """The predictive distribution of the target at each row of X."""

    @models.refuse_partitions
    def predict_cov(self, X: ArrayLike) -> Array:
        """Covariance of the targets between rows, (n, n); (K, n, n) for K outputs."""
        raise TypeError(
            f"{type(self).__name__} has no joint distribution over rows; "
            "use return_std=True, or a Bayesian estimator."
        )

    @models.answer_lazily(PREDICTION)
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean prediction, with standard deviation or covariance where asked for.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        return_std : bool, default=False
            Also return the standard deviation of the target at each row.
        return_cov : bool, default=False
            Also return the covariance of the targets between rows.

        Returns
        -------
        mean : array of shape (n,) or (n, K)
            The median where no mean exists: Student-t noise of one degree of freedom or fewer.
        std : array of the shape of ``mean``, if ``return_std``
            Infinite where no variance exists: Student-t noise of two degrees of freedom or fewer.
        cov : array of shape (n, n) or (K, n, n), if ``return_cov``
        """
        if return_std and return_cov:
            raise ValueError(
                "Ask for return_std or return_cov, not both: the diagonal of the "
                "covariance is the squared standard deviation."
            )
        if return_std:
            return self._predict_mean_and_std(X)
        if return_cov:
            return self._predict_mean(X), self.predict_cov(X)
        return self._predict_mean(X)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends of the central interval that holds the target with this chance.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        coverage : float, default=0.9
            Probability that the target lies inside, between 0 and 1.
        """
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95)
    ) -> Array:
        """Quantiles of the target, one more axis at the end: (n, Q) or (n, K, Q)."""
        return find_quantiles(self.predict_dist(X), quantiles)

    @models.score_lazily
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2 of the mean prediction."""
        return super().score(X, y, sample_weight)

    @property
    def _target_shape(self) -> tuple[int, ...]:
        """Shape of the target of one row: () or (K,), as the noise variances have it."""
        if getattr(self, "noise_variance_", None) is not None:
            return np.shape(self.noise_variance_)
        return () if getattr(self, "_single_output", True) else (1,)

    def _predict_mean(self, X: ArrayLike) -> Array:
        """The means; the medians of predictions that have none."""
        return models.find_center(self.predict_dist(X))

    def _predict_mean_and_std(self, X: ArrayLike) -> tuple[Array, Array]:
        """The means, or medians where means do not exist, and the standard deviations."""
        dist = self.predict_dist(X)
        return models.find_center(dist), dist.standard_deviation()

    def _make_query_noise(self, noise_variance: ArrayLike | None, n: int) -> Array:
        """Noise variances at n queries, (n, K)."""
        return models.make_query_noise(self.noise_variance_, noise_variance, n)


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


class KernelRegressor(models.KernelModel, Regressor):
    """A regressor with a kernel, of one output or several."""

    _single_output: bool

    def _check_training(self, X: Any, y: Any, *, reset: bool, min_rows: int) -> tuple[Any, Array]:
        """Rows where they are to be worked on, and targets on the host, (N,) or (N, K)."""
        if not self._takes_objects and not models.is_on_device(X):
            rows, targets = validation.check_X_y(self, X, y, reset=reset, min_rows=min_rows)
            return self._place_rows(rows), targets
        validation.refuse_collection(X, type(self).__name__, learned=reset)
        places = np.arange(kernels.rows.count_rows(X), dtype=np.float64)[:, None]
        host_y = arrays.to_numpy(y) if models.is_on_device(y) else y
        _, targets = validation.check_X_y(BaseEstimator(), places, host_y, min_rows=min_rows)
        return self._check_rows(X, reset=reset), targets

    def _per_output(self, values: Array) -> Any:
        """One value an output, or the value itself where the target was one-dimensional."""
        if not self._single_output:
            return values
        return float(values[0]) if values.ndim == 1 else values[0]

    def _per_row(self, values: DeviceArray) -> Any:
        """(n, K), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self._single_output else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
