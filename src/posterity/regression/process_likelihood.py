"""A Gaussian process whose observations are not normal: counts, outliers, positive amounts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, likelihoods, linalg, models
from posterity.arrays import Array
from posterity.models import latent_process
from posterity.regression.base import Regressor
from posterity.regression.process_learning import LearningProcess, Rows

# What a fit without a likelihood leaves.
_OF_NORMAL_NOISE = (
    "noise_variance_",
    "jitter_",
    "evidence_gap_",
    "inducing_points_",
    "_targets",
    "_learned_noise",
)


class LikelihoodProcess(LearningProcess):
    """A process with a ``likelihood``: None for normal noise, which needs no approximation."""

    likelihood: Any
    likelihood_: likelihoods.Likelihood

    def _settle(self, training: Rows) -> None:
        if self.likelihood is None:
            self.__dict__.pop("likelihood_", None)  # of an earlier fit
            super()._settle(training)
            return
        assert isinstance(training, models.Training)  # others were refused
        if self.noise_variance is not None or training.known_noise is not None:
            raise ValueError("noise_variance is that of normal noise: give it to the likelihood.")
        asked = self._asked
        warm = self.warm_start and self.__dict__.get("_learned_for") == asked
        process = latent_process.LatentProcess(
            self.likelihood,
            offset=self.mean == "constant",
            approximation="nearest",
            n_restarts=self.n_restarts,
            max_iter=self.max_iter or 200,
            n_jobs=self.n_jobs,
            inducing_points=None if self.inducing_points is None else self._points(),
            earlier=self.likelihood_ if warm else None,
        )
        kernel = self.kernel_ if warm else asked[0]
        rng = arrays.generator(self.random_state)
        self.posterior_, learned = process.learn(training, kernel, rng)
        for name in _OF_NORMAL_NOISE:
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.inducing_points is not None:
            self.inducing_points_ = self.posterior_.points
        self._training, self.X_train_ = training, training.rows
        self.likelihood_, self.log_evidence_ = learned.likelihood, self.posterior_.log_evidence
        self._report([learned], [float(np.var(self._latent(self.X_train_)[0])) or 1.0])

    @property
    def _asked(self) -> tuple[Any, ...]:
        return (*super()._asked, self.likelihood)

    def _check_training(self, X: Any, y: Any, *, reset: bool, min_rows: int) -> tuple[Any, Array]:
        rows, targets = super()._check_training(X, y, reset=reset, min_rows=min_rows)
        if self.likelihood is not None:
            self._check_likelihood(targets)
        return rows, targets

    def _check_likelihood(self, y: Array) -> None:
        """Refuse what only normal noise can do."""
        if not isinstance(self.likelihood, likelihoods.Likelihood):
            raise TypeError(
                f"likelihood={self.likelihood!r} must be a likelihood of one latent value, such "
                "as posterity.likelihoods.StudentT(), or None for normal noise."
            )
        if any(np.ndim(value) > 0 for value in vars(self.likelihood).values()):
            raise ValueError(
                f"The parameters of {type(self.likelihood).__name__} must be one number for all "
                "rows. Where the noise of each is known, pass noise_variance to fit instead."
            )
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError("A likelihood takes one output; fit each by itself.")
        if self.normalize_y or self.mean not in ("constant", "zero"):
            raise ValueError(
                "With a likelihood use normalize_y=False, and mean='constant' or mean='zero'."
            )
        self.likelihood.check(y.reshape(-1))

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
            average where it was known row by row). 0: the noise-free function. Only where no
            likelihood was given.
        """
        if self.has_normal_noise:
            return super().predict_dist(X, noise_variance=noise_variance)
        if noise_variance is not None:
            raise ValueError("The likelihood says how targets scatter: noise_variance has no use.")
        mean, variance = self._latent(self._check_rows(X, beside=self.X_train_))
        predicted: distributions.Univariate = self.likelihood_.predict(
            self._per_row(mean[:, None]), self._per_row(variance[:, None])
        )
        return predicted

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        if self.has_normal_noise:
            return super().predict(X, return_std, return_cov)
        return Regressor.predict(self, X, return_std, return_cov)

    predict.__doc__ = Regressor.predict.__doc__

    def predict_latent(self, X: Any) -> distributions.Normal:
        """The latent function at each row; without a likelihood, the noise-free one."""
        if self.has_normal_noise:
            return self._normal_at(X, 0.0)
        mean, variance = self._latent(self._check_rows(X, beside=self.X_train_))
        std = np.sqrt(variance)[:, None]
        return distributions.Normal(self._per_row(mean[:, None]), self._per_row(std))

    def predict_joint(
        self, X: Any, *, noise_variance: ArrayLike | None = None
    ) -> distributions.MultivariateNormal:
        """The joint predictive distribution of all rows; ``noise_variance`` as in predict_dist.

        With a likelihood, only that of the latent function: ``noise_variance=0.0``.
        """
        if self.has_normal_noise:
            return super().predict_joint(X, noise_variance=noise_variance)
        if noise_variance is None or np.ndim(noise_variance) > 0 or noise_variance != 0.0:
            raise TypeError(
                "Targets of this likelihood are not jointly normal; noise_variance=0.0 asks for "
                "the latent function."
            )
        rows = self._check_rows(X, beside=self.X_train_)
        latent_process.check_host(rows)
        f = self.posterior_.joint(rows)
        C = linalg.symmetrize(f.covariance[0])
        if self._single_output:
            return distributions.MultivariateNormal(f.mean[:, 0], C)
        return distributions.MultivariateNormal(f.mean, C[None])

    def leave_one_out(self) -> distributions.Normal:
        """Each training target as predicted by all other rows, the parameters kept.

        Rows of weight zero are absent; of a row that counts several times, one is left out. Only
        where no likelihood was given.
        """
        if self.has_normal_noise:
            return super().leave_one_out()
        raise TypeError("Leaving one out has a closed form for normal noise only.")

    @property
    def has_normal_noise(self) -> bool:
        """Whether the fit was one without a likelihood."""
        return "likelihood_" not in self.__dict__

    def _predict_mean(self, X: Any) -> Any:
        if self.has_normal_noise:
            return super()._predict_mean(X)
        return Regressor._predict_mean(self, X)

    def _latent(self, rows: Any) -> tuple[Array, Array]:
        latent_process.check_host(rows)
        f = self.posterior_.latent(rows)
        return f.mean[:, 0], f.variance[:, 0]
