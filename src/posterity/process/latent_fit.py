"""The record of a latent Gaussian process, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions, kernels, likelihoods, linalg
from posterity.arrays import Array
from posterity.inference.averaging import PosteriorMixture
from posterity.inference.posterior import LatentMarginals
from posterity.kernels.mean_prior import Slopes
from posterity.likelihoods import exposed_counts as exposed
from posterity.models.fitted import SearchReport, find_center
from posterity.process import (
    ProjectedPosterior,
    SharedSoftmaxPosterior,
    SitePosterior,
    SoftmaxPosterior,
)


@dataclass(frozen=True)
class LatentFit:
    """A latent process conditioned on rows: what was learned, and what it predicts.

    Predictions take rows that were checked.
    """

    kernel: kernels.Kernel | Slopes
    likelihood: likelihoods.Likelihood | likelihoods.Coupled  # with every parameter set
    posterior: (
        ProjectedPosterior
        | SitePosterior
        | SoftmaxPosterior
        | SharedSoftmaxPosterior
        | PosteriorMixture
    )
    log_evidence: float
    inducing_points: Any  # None without
    X_train: Any
    search: SearchReport
    single_output: bool  # whether the target was one-dimensional
    asked: tuple[Any, ...]  # what a later fit must ask for to start from this one

    def latent(self, rows: Any) -> LatentMarginals:
        """Return the distribution of the latent values at each row."""
        check_host(rows)
        return self.posterior.latent(rows)

    def predict_dist(
        self, rows: Any, noise_variance: ArrayLike | None = None, exposure: Any = None
    ) -> distributions.Univariate:
        """The targets at each row; noise is that of the likelihood."""
        if noise_variance is not None:
            raise ValueError("The likelihood says how targets scatter: noise_variance has no use.")
        if not isinstance(self.posterior, PosteriorMixture) or not self.posterior.likelihoods:
            return self._predict(self.likelihood, self.latent(rows), exposure)
        check_host(rows)
        each = zip(self.posterior.likelihoods, self.posterior.parts, strict=True)
        predicted = [
            self._predict(likelihood, part.latent(rows), exposure) for likelihood, part in each
        ]
        return distributions.Mixture.average(predicted, self.posterior.weights)

    def _predict(self, likelihood: Any, f: LatentMarginals, exposure: Any) -> Any:
        mean = exposed.add_exposure(likelihood, self._shape(f.mean), exposure)
        return likelihood.predict(mean, self._shape(f.variance))

    def predict_latent(self, rows: Any) -> distributions.Normal:
        """The latent function at each row."""
        f = self.latent(rows)
        return distributions.Normal(self._shape(f.mean), self._shape(np.sqrt(f.variance)))

    def predict_joint(
        self, rows: Any, noise_variance: ArrayLike | None = None
    ) -> distributions.MultivariateNormal:
        """The latent function at all rows together; targets are not jointly normal."""
        if noise_variance is None or np.ndim(noise_variance) > 0 or noise_variance != 0.0:
            raise TypeError(
                "Targets of this likelihood are not jointly normal; noise_variance=0.0 asks for "
                "the latent function."
            )
        check_host(rows)
        f = self.posterior.joint(rows)
        C = linalg.symmetrize(f.covariance[0])
        if self.single_output:
            return distributions.MultivariateNormal(f.mean[:, 0], C)
        return distributions.MultivariateNormal(f.mean, C[None])

    def sample_functions(self, rows: Any, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw latent functions at the rows, (n_samples, n) or (n_samples, n, 1)."""
        return self.predict_joint(rows, 0.0).sample(n_samples, rng=rng)

    def predict_mean(self, rows: Any) -> Array:
        """Return the mean at each row, or the median where the mean does not exist."""
        return find_center(self.predict_dist(rows))

    def predict_mean_and_std(self, rows: Any) -> tuple[Array, Array]:
        """Return mean, or median where the mean does not exist, and standard deviation."""
        dist = self.predict_dist(rows)
        return find_center(dist), dist.standard_deviation()

    def leave_one_out(self) -> distributions.Normal:
        """Refuse: a closed form exists for normal noise only."""
        raise TypeError("Leaving one out has a closed form for normal noise only.")

    def with_rows(self, rows: Any, Y: Array) -> LatentFit:
        """Refuse: sites of all rows change with every row."""
        raise TypeError("Rows can be added under normal noise only; fit all rows again.")

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of the target of one row: () or (1,)."""
        return () if self.single_output else (1,)

    def _shape(self, values: Array) -> Array:
        """(n, 1), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self.single_output else values


def check_host(rows: Any) -> None:
    """Refuse rows on a device: only normal noise is worked on there."""
    if not isinstance(rows, list | np.ndarray):
        raise ValueError("Rows on a device are for normal noise only: pass NumPy arrays.")
