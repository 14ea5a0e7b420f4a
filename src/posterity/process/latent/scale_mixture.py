"""A Gaussian process under noise that is normal given a hidden precision, as Student's t is.

A normal of the latent values and independent precisions of the rows are the factors of the
posterior, each the best given the others: their bound of the log evidence only rises. As long as
latent values are sought from those before, the bound as a function of kernel and likelihood has no
jumps downwards and no poles, which Laplace's evidence has wherever a mode vanishes.

With E the expected square of a residual, the best precisions make of a row's part of the bound the
log density of the noise at a residual of sqrt(E), and of its site what iterated least squares would
take there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.process.latent import sites
from posterity.process.latent.site_evidence import Memory, SiteEvidence
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.latent.sites import InvertedSites, Sites
from posterity.process.latent.targets import LatentTargets

_GAIN = 1e-10  # nats of the bound, below which precisions are as good as any
_SWEEPS = 500
_LONGER = 1.5  # after a step that gained, of the logs of precisions


class ScaleMixtureEvidence(SiteEvidence):
    """A lower bound of log p(y), with its gradient."""

    def _converge(
        self, memory: Memory, likelihood: likelihoods.Likelihood, start: Array | None
    ) -> _Factors:
        return _converge(_MixtureRows(likelihood, self.targets), memory, start)


class ScaleMixturePosterior(SitePosterior):
    """The latent function at any rows, given N observations with outliers, by the best factors.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [0.0], [1.0]]), np.array([0.1, -0.1, 9.0, 0.3])
    >>> likelihood = likelihoods.StudentT(scale=0.2, degrees_of_freedom=3.0)
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(4), likelihood, offset=False)
    >>> posterior = ScaleMixturePosterior.condition(kernels.RBF(1.0), likelihood, X, targets)
    >>> f = posterior.latent(np.array([[0.0], [9.0]]))
    >>> f.mean[:, 0].round(2), f.variance[:, 0].round(2)
    (array([-0.01,  0.  ]), array([0.1, 1. ]))
    """

    @classmethod
    def condition(
        cls,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Likelihood,
        X: Any,
        targets: LatentTargets,
        start: Array | None = None,
    ) -> Self:
        """Alternate until the bound no longer rises.

        Warns with ``optimize.ConvergenceWarning`` where it still does.
        """
        memory = sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total = sites.fill_covariance(memory, kernel, X, targets)
            found = _converge(_MixtureRows(likelihood, targets), memory, start)
            factor = Sites.factorise(memory[0], found.sites, memory[1])
        if not found.converged:
            callers.warn_caller(found.stop_reason, optimize.ConvergenceWarning)
        shift = float(targets.shift[0])
        record = found.log_evidence, found.n_iter, found.stop_reason
        return cls(total, X, shift, found.alpha, factor, *record)


@dataclass(frozen=True)
class _MixtureRows:
    """What rows make of the expected squares of their residuals, E (N,)."""

    likelihood: likelihoods.Likelihood
    targets: LatentTargets

    @property
    def shifted_targets(self) -> Array:
        """Targets from the shift on, as latent values are."""
        return self.targets.measure_from_shift(self.likelihood, np.zeros(self.targets.n_rows))[0]

    def log_density(self, E: Array) -> float:
        """Their part of the bound."""
        return float(self.targets.weights @ self.likelihood.log_prob(np.sqrt(E), 0.0))

    def precisions(self, E: Array) -> Array:
        """Return the precisions of the best sites."""
        return self.targets.weights * self.likelihood.step_curvature(np.sqrt(E), 0.0)


@dataclass(frozen=True)
class _Factors:
    """The normal under sites of precision W, and the bound with the precisions best for it."""

    sites: Array  # (N,), W
    alpha: Array  # (N,), K^-1 mean
    R: InvertedSites
    E: Array  # (N,), expected squares of residuals
    log_evidence: float  # the bound
    n_iter: int = 0
    stop_reason: str = ""
    converged: bool = False

    @classmethod
    def under(cls, rows: _MixtureRows, memory: Memory, W: Array) -> _Factors:
        K, y = memory[0], rows.shifted_targets
        factor = Sites.factorise(K, W, memory[1])
        nu = W * y
        alpha = nu - factor.apply(K @ nu)
        mean, log_det = K @ alpha, factor.log_determinant
        R = factor.invert(K)
        E = (y - mean) ** 2 + R.variances
        divergence = 0.5 * (log_det - float(W @ R.variances) + float(mean @ alpha))
        return cls(W, alpha, R, E, rows.log_density(E) - divergence)

    def slopes(self, likelihood: likelihoods.Likelihood, targets: LatentTargets) -> Array:
        """The factors are the best, and do not count."""
        return (
            likelihood.parameter_derivatives(np.sqrt(self.E), np.zeros_like(self.E))[0]
            @ targets.weights
        )


def _converge(rows: _MixtureRows, memory: Memory, start: Array | None) -> _Factors:
    """Alternate, with longer steps while they gain, until the bound rises no more."""
    y = rows.shifted_targets
    first = rows.precisions(y * y) if start is None else start
    now, pace, gain = _Factors.under(rows, memory, first), 1.0, np.inf
    for n in range(1, _SWEEPS + 1):
        wanted = np.log(rows.precisions(now.E)) - np.log(now.sites)
        trial = _Factors.under(rows, memory, now.sites * np.exp(pace * wanted))
        gain = trial.log_evidence - now.log_evidence
        if gain <= _GAIN and pace == 1.0:
            reason = f"a further step gains less than {_GAIN:.0e} nats"
            return replace(trial, n_iter=n, stop_reason=reason, converged=True)
        if gain > 0.0:
            now = trial
        pace = _LONGER * pace if gain > _GAIN else 1.0  # at a pace of one a step gains surely
    reason = f"the latent values still move after {_SWEEPS} steps, by {gain:.0e} nats in the last"
    return replace(_Factors.under(rows, memory, now.sites), n_iter=_SWEEPS, stop_reason=reason)
