"""A Gaussian process before any row: the kernel, a constant mean and a normal offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posterity import kernels
from posterity.arrays import Array, DeviceArray, like, namespace
from posterity.inference.posterior import LatentJoint, LatentMarginals


@dataclass(frozen=True)
class ProcessPrior:
    """C independent functions of one kernel, each with a mean and an offset of its own.

    Examples
    --------
    >>> import numpy as np
    >>> prior = ProcessPrior(4.0 * kernels.RBF(1.0), np.array([1.0]), np.array([0.5]))
    >>> prior.latent(np.array([[0.0], [1.0]])).variance
    array([[4.5],
           [4.5]])
    """

    kernel: kernels.Kernel
    shift: Array  # (C,)
    offset_variance: Array  # (C,)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the C functions at each row of X."""
        prior = self.kernel.diag(X)
        shift, offset = (like(prior, a) for a in (self.shift, self.offset_variance))
        return LatentMarginals(0.0 * prior[:, None] + shift, prior[:, None] + offset)

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each function over all rows of X."""
        K = self.kernel(X)
        shift, offset = (like(K, a) for a in (self.shift, self.offset_variance))
        return LatentJoint(0.0 * K[:, :1] + shift, K + offset[:, None, None])

    def before_rows(self) -> ProcessPrior:
        """Return the process itself, which has not seen any rows."""
        return self


def share_variance(mean: DeviceArray, variance: DeviceArray) -> LatentMarginals:
    """Return functions of mean (n, C) that have the same variance (n,), which is not copied."""
    xp = namespace(mean)
    return LatentMarginals(mean, xp.broadcast_to(variance[:, None], mean.shape))


def share_covariance(mean: DeviceArray, covariance: DeviceArray) -> LatentJoint:
    """Return functions of mean (n, C) that have the same covariance (n, n), which is not copied."""
    shape = (mean.shape[1], *covariance.shape)
    return LatentJoint(mean, namespace(mean).broadcast_to(covariance, shape))
