"""The answers of every posterior: latent functions at rows, one row at a time or jointly.

There are C latent functions: one for each output of a regression, one for two classes, one for each
of more. Their values at a row are jointly normal. Where outputs are independent given the rows,
variances say it all, and no array of C x C blocks is made unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posterity.arrays import Array, DeviceArray, like, namespace


@dataclass(frozen=True)
class LatentMarginals:
    """Normal distributions of the C latent values at each of n rows.

    Arrays lie where the posterior lies; variances of outputs that share them may be one column
    broadcast, which is not to be written to.

    Examples
    --------
    >>> alone = LatentMarginals(np.zeros((1, 2)), np.array([[1.0, 4.0]]))
    >>> alone.covariance
    array([[[1., 0.],
            [0., 4.]]])
    >>> covariance = np.array([[[1.0, 0.5], [0.5, 4.0]]])
    >>> LatentMarginals.from_covariance(np.zeros((1, 2)), covariance).variance
    array([[1., 4.]])
    """

    mean: DeviceArray  # (n, C)
    variance: DeviceArray  # (n, C)
    coupling: Array | None = None  # (n, C, C), covariances; None: the values are independent

    @classmethod
    def from_covariance(cls, mean: Array, covariance: Array) -> LatentMarginals:
        """Return the marginals of values that are correlated, of covariance (n, C, C)."""
        return cls(mean, covariance.diagonal(axis1=1, axis2=2), covariance)

    @property
    def covariance(self) -> DeviceArray:
        """Covariances between the C latent values of each row, (n, C, C)."""
        if self.coupling is not None:
            return self.coupling
        v = self.variance
        if v.shape[1] == 1:
            return v[:, :, None]
        return v[:, :, None] * like(v, np.eye(v.shape[1]))

    @property
    def n_latents(self) -> int:
        """The number C of latent functions."""
        return int(self.mean.shape[1])


@dataclass(frozen=True)
class LatentJoint:
    """Normal distributions of each of C latent functions over n rows together.

    Covariances between different functions are not part of it. Functions that share a covariance
    may share its memory, which is not to be written to.
    """

    mean: DeviceArray  # (n, C)
    covariance: DeviceArray  # (C, n, n)


@runtime_checkable
class Posterior(Protocol):
    """A normal belief about C latent functions."""

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distribution of the latent values at each row of X by itself."""

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each latent function over all rows of X."""

    def before_rows(self) -> Posterior:
        """Return the prior, with the parameters of the fit."""


@runtime_checkable
class WeightedPosterior(Posterior, Protocol):
    """A posterior of functions that are linear in columns, with an offset."""

    def before_rows(self) -> WeightedPosterior:
        """Return the prior, with the parameters of the fit."""

    def combine(self, A: Array, b: Array) -> LatentJoint:
        """Return the distribution of A (n, M) times the weights plus b (n,) times the offset.

        Weights and offset are in the units of the columns.
        """


def concatenate_rows(parts: list[LatentMarginals]) -> LatentMarginals:
    """Join the answers for consecutive blocks of rows; all are coupled or none is."""
    xp = namespace(*(part.mean for part in parts))
    mean = xp.concat([part.mean for part in parts])
    couplings = [part.coupling for part in parts if part.coupling is not None]
    if couplings:
        return LatentMarginals.from_covariance(mean, xp.concat(couplings))
    return LatentMarginals(mean, xp.concat([part.variance for part in parts]))


def mix_marginals(found: Sequence[LatentMarginals], weights: Array) -> LatentMarginals:
    """Return mean and covariance of a mixture of normals at each row; weights add up to one."""
    mean = _add_weighted([f.mean for f in found], weights)
    d = [f.mean - mean for f in found]
    if all(f.coupling is None for f in found):
        spread = [f.variance + a * a for f, a in zip(found, d, strict=True)]
        return LatentMarginals(mean, _add_weighted(spread, weights))
    S = [f.covariance + a[:, :, None] * a[:, None, :] for f, a in zip(found, d, strict=True)]
    return LatentMarginals.from_covariance(mean, _add_weighted(S, weights))


def mix_joints(found: Sequence[LatentJoint], weights: Array) -> LatentJoint:
    """Return mean and covariance of each function of a mixture, over all rows together."""
    mean = _add_weighted([f.mean for f in found], weights)
    d = [(f.mean - mean).T for f in found]
    spread = [f.covariance + a[:, :, None] * a[:, None, :] for f, a in zip(found, d, strict=True)]
    return LatentJoint(mean, _add_weighted(spread, weights))


def _add_weighted(values: Sequence[Any], weights: Array) -> Any:
    return sum(float(w) * value for w, value in zip(weights, values, strict=True))
