"""The latent function at any rows, given N rows whose observations have become normal sites."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import kernels, linalg, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.latent import condensed
from posterity.process.latent.sites import Sites
from posterity.process.prior import ProcessPrior

_ROUND_OFF = 1e10 * float(np.finfo(np.float64).eps)  # of a variance, in units of its tolerance
_QUERY_VALUES = 1 << 22  # cross-covariances held at a time while predicting: 32 MiB


@dataclass(frozen=True)
class SitePosterior:
    """shift + f(x), with f a Gaussian process that N normal sites have told of.

    ``kernel`` is that of process and offset together.
    """

    kernel: kernels.Kernel
    X: Any  # (N, D) rows, or N objects
    shift: float
    alpha: Array  # (N,), K^-1 times the posterior mean of f
    sites: Sites
    log_evidence: float  # log p(y), all constants included
    n_iter: int
    stop_reason: str

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the latent function at the rows of X.  [GPML 3.21, 3.24]"""

        def predict(x: Any) -> tuple[Array, Array]:
            k, prior = kernel_blocks.fill_between(self.kernel, self.X, x), self.kernel.diag(x)
            left = prior - self.sites.reduction(k)
            mean = self.shift + k.T @ self.alpha
            return mean, linalg.nonnegative(left, prior * self._loss)

        n = kernels.rows.count_rows(X)
        size = _QUERY_VALUES // len(self.alpha) if self.kernel.takes_vectors else n
        answers = kernel_blocks.map_pieces(predict, self.kernel, X, max(1, size))
        mean, variance = (np.concatenate(part) for part in zip(*answers, strict=True))
        return LatentMarginals(mean[:, None], variance[:, None])

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of the latent function over all rows of X."""
        k = kernel_blocks.fill_between(self.kernel, self.X, X)
        mean = self.shift + k.T @ self.alpha
        covariance = self.kernel(X) - self.sites.reduction_matrix(k)
        return LatentJoint(mean[:, None], covariance[None])

    def before_rows(self) -> ProcessPrior:
        """Return the process before it saw its rows; its kernel includes the offset."""
        return ProcessPrior(self.kernel, np.array([self.shift]), np.zeros(1))

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function.

        A process of many rows is approximated by few, with an error that is small beside the noise.
        """
        return condensed.form_exact_process(self, noise_variance)

    def form_all_rows(self) -> Form:
        """Return the form with the covariances of all rows."""
        weights, shift = self.mean_weights()
        return {
            **self.kernel.form_columns(self.X),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.sites.L),
            "roots": self.sites.s,
            "back": list(self.sites.T.T),
            "mean": {"of": "covariances", "weights": weights, "shift": shift},
        }

    def mean_weights(self) -> tuple[Array, float]:
        """Return the weights of the rows' covariances in the mean, and the constant added to it."""
        return self.alpha, float(self.shift)

    def reduction_matrix(self, k: Array) -> Array:
        """Return the covariance (M, M) that the sites take away, given covariances k (N, M)."""
        return self.sites.reduction_matrix(k)

    @functools.cached_property
    def _loss(self) -> float:
        """By what factor the conditioning of the factor makes the round-off of variances larger."""
        pivots = np.diagonal(self.sites.L)
        ratio = float(np.max(pivots) / np.min(pivots))
        return max(1.0, _ROUND_OFF * len(self.alpha) * ratio**2)
