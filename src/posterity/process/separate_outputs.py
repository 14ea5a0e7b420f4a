"""Several outputs of the same rows, each a Gaussian process by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.averaging import PosteriorMixture, split_mixture
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.process.exact import ProcessPosterior
from posterity.process.inducing.bound import InducingPosterior


@dataclass(frozen=True)
class SeparateOutputs:
    """K processes at the same rows, with kernels and noise of their own."""

    parts: tuple[ProcessPosterior | InducingPosterior | PosteriorMixture, ...]  # of one output each

    @property
    def log_evidence(self) -> float:
        """log p(Y), or its lower bound."""
        return float(sum(part.log_evidence for part in self.parts))

    @property
    def noise_variance(self) -> Array:
        """Noise variance of each output, (K,), for exact processes only."""
        exact = (p for p in self.parts if not isinstance(p, InducingPosterior))
        return np.array([part.noise_variance for part in exact])

    @property
    def gap(self) -> float:
        """The most by which the log evidence may lie above its lower bound."""
        return float(sum(part.gap for part in self.parts if isinstance(part, InducingPosterior)))

    def split(self) -> tuple[tuple[SeparateOutputs, ...], Array]:
        """Return the parts of mixtures, and their weights (K, number of parts)."""
        each = [split_mixture(part) for part in self.parts]
        n = max(len(parts) for parts, _ in each)
        if n == 1:
            return (self,), np.ones(1)
        weights = [np.append(w, np.zeros(n - len(w))) for _, w in each]
        taken = (tuple(parts[min(i, len(parts) - 1)] for parts, _ in each) for i in range(n))
        return tuple(map(SeparateOutputs, taken)), np.array(weights)

    def mean(self, X: Any) -> DeviceArray:
        """Return the mean of the functions at the rows of X, (n, K)."""
        return _stack_columns([part.mean(X) for part in self.parts])

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the K functions, without noise."""
        return _stack_outputs([part.latent(X) for part in self.parts])

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each function over all rows of X."""
        return _stack_joints([part.joint(X) for part in self.parts])

    def before_rows(self) -> SeparateOutputs:
        """Return the processes before they saw their rows."""
        priors: Any = tuple(part.before_rows() for part in self.parts)
        return SeparateOutputs(priors)

    def leave_one_out(self) -> LatentMarginals:
        """Return the distributions of each target given those of all other rows."""
        return _stack_outputs([part.leave_one_out() for part in self.parts])


def _stack_outputs(parts: list[LatentMarginals]) -> LatentMarginals:
    return LatentMarginals(
        _stack_columns([p.mean for p in parts]), _stack_columns([p.variance for p in parts])
    )


def _stack_joints(parts: list[LatentJoint]) -> LatentJoint:
    covariances = [part.covariance for part in parts]
    covariance = namespace(*covariances).concat(covariances)
    return LatentJoint(_stack_columns([part.mean for part in parts]), covariance)


def _stack_columns(columns: list[DeviceArray]) -> DeviceArray:
    return namespace(*columns).concat(columns, axis=1)
