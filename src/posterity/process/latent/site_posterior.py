"""The latent function at any rows, given N rows whose observations have become normal sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

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
        mean, variance = predict_rows(self, self.kernel, self.alpha, X)
        return LatentMarginals(self.shift + mean[:, None], variance[:, None])

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


class SitedRows(Protocol):
    """Rows and the sites that stand for their observations."""

    @property
    def X(self) -> Any:
        """The rows that were observed."""

    @property
    def sites(self) -> Sites:
        """The sites of these rows."""


def predict_rows(
    told: SitedRows, kernel: kernels.Kernel, alpha: Array, X: Any
) -> tuple[Array, Array]:
    """Means k^T alpha, (n,) or (n, C), and variances (n,) at the rows of X.  [GPML 3.21, 3.24]"""
    pivots = np.diagonal(told.sites.L)
    ratio = float(np.max(pivots) / np.min(pivots))
    # Conditioning of the factor makes the round-off of variances larger.
    loss = max(1.0, _ROUND_OFF * len(alpha) * ratio**2)

    def predict(x: Any) -> tuple[Array, Array]:
        k, prior = kernel_blocks.fill_between(kernel, told.X, x), kernel.diag(x)
        left = prior - told.sites.reduction(k)
        return k.T @ alpha, linalg.nonnegative(left, prior * loss)

    size = _QUERY_VALUES // len(alpha) if kernel.takes_vectors else kernels.rows.count_rows(X)
    means, variances = zip(*kernel_blocks.map_pieces(predict, kernel, X, max(1, size)), strict=True)
    return np.concatenate(means), np.concatenate(variances)
