"""Several outputs of the same rows, each a Gaussian process by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.process.exact import ProcessPosterior
from posterity.inference.process.inducing.bound import InducingPosterior


@dataclass(frozen=True)
class SeparateOutputs:
    """K processes at the same rows, with kernels and noise of their own.

    It answers as a process of K outputs does, but for variances, which have an axis of outputs.
    """

    parts: tuple[ProcessPosterior | InducingPosterior, ...]  # of one output each

    @property
    def log_evidence(self) -> float:
        """log p(Y), or its lower bound."""
        return float(sum(part.log_evidence for part in self.parts))

    @property
    def noise_variance(self) -> Array:
        """Of each output, (K,); of exact processes only."""
        return np.array([p.noise_variance for p in self.parts if isinstance(p, ProcessPosterior)])

    @property
    def gap(self) -> float:
        """By how much the log evidence may lie above its lower bound."""
        return float(sum(part.gap for part in self.parts if isinstance(part, InducingPosterior)))

    def mean(self, X: Any) -> DeviceArray:
        """Of the functions at the rows of X, (n, K)."""
        return _beside([part.mean(X) for part in self.parts])

    def latent(self, X: Any) -> tuple[DeviceArray, DeviceArray]:
        """Means (n, K) and variances (n, K) of the functions, without noise."""
        return _pairs([part.latent(X) for part in self.parts])

    def covariance(self, X: Any) -> DeviceArray:
        """Of each function between the rows of X, (K, n, n), without noise."""
        parts = [part.covariance(X) for part in self.parts]
        return namespace(*parts).stack(parts)

    def leave_one_out(self) -> tuple[DeviceArray, DeviceArray]:
        """Means (N, K) and variances (N, K) of each target given those of all other rows."""
        return _pairs([part.leave_one_out() for part in self.parts])


def _pairs(answers: list[tuple[DeviceArray, DeviceArray]]) -> tuple[DeviceArray, DeviceArray]:
    means, variances = zip(*answers, strict=True)
    return _beside(list(means)), _beside([v[:, None] for v in variances])


def _beside(columns: list[DeviceArray]) -> DeviceArray:
    return namespace(*columns).concat(columns, axis=1)
