"""Predictions of a conditioned Gaussian process, in the units of the targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions, linalg, models, validation
from posterity.arrays import Array, DeviceArray, namespace
from posterity.regression.kernel_model import KernelRegressor

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Targets:
    """What was learned of the targets before the process sees them."""

    center: Array  # (K,)
    scale: Array  # (K,)
    variance: float  # of the centred and scaled targets, averaged over outputs

    @classmethod
    def of(cls, moments: models.ColumnMoments, *, centred: bool, scaled: bool) -> Targets:
        """Centre, scale and variance of targets with these moments."""
        mean = moments.mean
        center = mean if centred else np.zeros_like(mean)
        deviation = np.maximum(np.abs(moments.low - center), np.abs(moments.high - center))
        validation.check_spread(deviation, "targets")
        # What does not vary at all is known to rounding, not better.
        floor = (_EPS * np.where(mean == 0.0, 1.0, mean)) ** 2
        spread2 = np.maximum(moments.variance, floor)
        scale = np.sqrt(spread2) if scaled else np.ones_like(mean)
        about = np.maximum(moments.variance + (mean - center) ** 2, floor)
        return cls(center, scale, float(np.mean(about / scale**2)))


class ProcessModel(KernelRegressor):
    """A regressor that predicts from a process conditioned on its rows."""

    X_train_: Any
    posterior_: Any
    _targets: Targets
    _training: models.Training | None  # None where the rows stayed on the workers of Dask

    @property
    def target_center_(self) -> Array:
        """What was taken off each target before the process saw it, (K,)."""
        return self._targets.center

    @property
    def target_scale_(self) -> Array:
        """What each target was then divided by, (K,)."""
        return self._targets.scale

    def predict_dist(
        self, X: Any, *, noise_variance: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The predictive distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n, D), or a sequence of n objects
            Query rows.
        noise_variance : float or array-like of shape (n,), optional
            Variance of the noise of the new targets. None: that of the training rows (their
            average where it was known row by row). 0: the noise-free function.
        """
        return self._normal_at(X, noise_variance)

    def _normal_at(self, X: Any, noise_variance: ArrayLike | None) -> distributions.Normal:
        mean, variance = (arrays.to_numpy(a) for a in self._moments(X, noise_variance))
        return distributions.Normal(self._per_row(mean), np.sqrt(self._per_row(variance)))

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        if not return_std or return_cov:
            return super().predict(X, return_std, return_cov)
        mean, variance = self._moments(X, None)
        std = namespace(variance).sqrt(variance)
        return tuple(self._returned(self._per_row(a), X) for a in (mean, std))

    predict.__doc__ = KernelRegressor.predict.__doc__

    def predict_cov(self, X: Any) -> Any:
        """Covariance of the targets between rows, noise on the diagonal: (n, n) or (K, n, n)."""
        return self.predict_joint(X).covariance.copy()

    def leave_one_out(self) -> distributions.Normal:
        """Each training target as predicted by all other rows, the parameters kept.

        Rows of weight zero are absent; of a row that counts several times, one is left out.
        """
        f = self._fitted().posterior_.leave_one_out()
        mean, variance = arrays.to_numpy(f.mean), arrays.to_numpy(f.variance)
        assert self._training is not None  # a process that answers this has its rows
        t, places = self._targets, self._training.places
        std = np.sqrt(variance)[places] * t.scale
        mean_given = mean[places] * t.scale + t.center
        return distributions.Normal(self._per_row(mean_given), self._per_row(std))

    def sample_functions(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Noise-free functions at the rows of X: of the posterior, or before a fit of the prior.

        Returns
        -------
        values : array of shape (n_samples, n) or (n_samples, n, K)
        """
        rng = arrays.generator(random_state)
        if "posterior_" not in self.__dict__:
            return self._prior(X).sample(n_samples, rng=rng)
        return self.predict_joint(X, noise_variance=0.0).sample(n_samples, rng=rng)

    def predict_joint(
        self, X: Any, *, noise_variance: ArrayLike | None = None
    ) -> distributions.MultivariateNormal:
        """The joint predictive distribution of all rows; ``noise_variance`` as in predict_dist."""
        rows, t = self._fitted()._check_rows(X, beside=self.X_train_), self._targets
        f = self.posterior_.joint(rows)
        mean = arrays.to_numpy(f.mean) * t.scale + t.center
        C = arrays.to_numpy(f.covariance) * (t.scale**2)[:, None, None]
        i = np.arange(len(mean))
        C[:, i, i] += self._noise_at(noise_variance, len(mean)).T
        return distributions.MultivariateNormal(
            self._per_row(mean), C[0] if self._single_output else C
        )

    def _prior(self, X: Any) -> distributions.MultivariateNormal:
        """The process before any row, its kernel started from the rows it is asked at."""
        unfitted = clone(self)  # which may take note of the columns
        rows = unfitted._check_rows(X, reset=True)
        K = arrays.to_numpy(unfitted._bound_kernel().start(rows)(rows))
        return distributions.MultivariateNormal(np.zeros(len(K)), linalg.symmetrize(K))

    def _moments(self, X: Any, noise_variance: ArrayLike | None) -> tuple[DeviceArray, DeviceArray]:
        """Mean and variance of the targets, each (n, K), where the process lives."""
        f = self._fitted().posterior_.latent(self._check_rows(X, beside=self.X_train_))
        t = self._targets
        scale, center = (arrays.like(f.mean, a) for a in (t.scale, t.center))
        noise = arrays.like(f.mean, self._noise_at(noise_variance, f.mean.shape[0]))
        return f.mean * scale + center, f.variance * scale**2 + noise

    def _predict_mean(self, X: Any) -> Any:
        mean = self._fitted().posterior_.mean(self._check_rows(X, beside=self.X_train_))
        t = self._targets
        scale, center = (arrays.like(mean, a) for a in (t.scale, t.center))
        return self._returned(self._per_row(mean * scale + center), X)

    def _fitted(self) -> Self:
        check_is_fitted(self, "posterior_")
        return self
