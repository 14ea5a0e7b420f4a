"""The evidence of a latent process as a function of its parameters, by sites that converge."""

from __future__ import annotations

import abc
from typing import Any, Protocol

import numpy as np

from posterity import kernels, likelihoods
from posterity.arrays import Array
from posterity.process.latent import sites
from posterity.process.latent.sites import InvertedSites
from posterity.process.latent.targets import LatentTargets

Memory = tuple[Array, Array]


class ConvergedSites(Protocol):
    """Sites that agree with the rows, and the evidence that follows from them."""

    @property
    def log_evidence(self) -> float:
        """Log p(y), or a lower bound of it."""

    @property
    def sites(self) -> Array:
        """The sites, from which another search can start."""

    @property
    def alpha(self) -> Array:
        """K^-1 times the posterior mean, (N,)."""

    @property
    def R(self) -> InvertedSites:
        """The inverse of the covariance of the sites' targets."""

    def slopes(self, likelihood: likelihoods.Likelihood, targets: LatentTargets) -> Array:
        """Derivatives of the log evidence in the parameters of the likelihood."""


class SiteEvidence(abc.ABC):
    """A log evidence with its gradient, as a function of kernel and likelihood.

    The memory of the matrices is kept from one call to the next, and so are the sites of the
    largest evidence, from which the next call starts.

    Parameters
    ----------
    X : array (N, D), or a sequence of N objects
        The rows.
    targets : LatentTargets
    """

    def __init__(self, X: Any, targets: LatentTargets) -> None:
        sites.check_room(targets.n_rows)
        self.X, self.targets = X, targets
        self._memory: Memory | None = None
        self._sites: Array | None = None
        self._largest = -np.inf

    @abc.abstractmethod
    def _converge(
        self, memory: Memory, likelihood: likelihoods.Likelihood, start: Array | None
    ) -> ConvergedSites:
        """Find the sites, from those given or from none, for the covariance in memory."""

    def __call__(
        self, kernel: kernels.Kernel, likelihood: likelihoods.Likelihood
    ) -> tuple[float, Array]:
        """The log evidence and its gradient in [kernel.theta, likelihood.theta]."""
        if self._memory is None:
            self._memory = sites.allocate(self.targets.n_rows)
        total = sites.fill_covariance(self._memory, kernel, self.X, self.targets)
        found = self._converge(self._memory, likelihood, self._sites)
        if found.log_evidence > self._largest:  # not of a step that a search takes back
            self._sites, self._largest = found.sites, found.log_evidence
        a = found.alpha[:, None]
        theta = found.R.pullback(total, self.X, a, a)  # [GPML 5.27]
        return found.log_evidence, np.append(theta, found.slopes(likelihood, self.targets))
