"""Relevance vectors of two classes, averaged over which of them have a weight, and how large.

Few rows of classes say little about either. The weights of the vectors in use share a variance,
whose root is half-Cauchy; a vector pays what it would earn in noise, as in the choice of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from posterity.arrays import Array
from posterity.inference.averaging import PosteriorMixture, is_worthwhile
from posterity.inference.conjugate.averaged import Mask, explore_subsets
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.sparse import vector_prices
from posterity.sparse.posterior import SparsePosterior

_STEP = 1.5  # in logs: the evidence varies over e-folds
_LOG_VARIANCES = np.arange(-4.0, 5.5, _STEP)  # of latent values, for columns of unit variance
_NEGLIGIBLE = 0.01  # of the largest weight


@dataclass(frozen=True)
class VectorSubset:
    """Some of the vectors, at several prior variances of their weights."""

    kept: Mask  # (m,)
    fits: tuple[LaplaceFit, ...]
    log_weights: Array  # of each, with the evidence of the rows

    @property
    def log_probability(self) -> float:
        """Log probability of the rows and the subset."""
        return float(logsumexp(self.log_weights))


@dataclass(frozen=True)
class VectorSubsets:
    """Vectors that were chosen, of which some may have no weight."""

    best: SparsePosterior  # of one latent value, with its rows
    prices: Array  # (m,), nats for each vector in use

    @classmethod
    def from_posterior(cls, best: SparsePosterior) -> VectorSubsets:
        """Price the vectors of a posterior."""
        p = best.fit.problem
        named = vector_prices.price_columns(p.design, p.targets, len(best.scale))
        return cls(best, vector_prices.NOISE_EARNS + named)

    def evaluate(self, kept: Mask) -> VectorSubset:
        """Fit a subset at all prior variances; a single fit where no vector is in use."""
        m = int(np.sum(kept))
        fits: list[LaplaceFit] = []
        variances = _LOG_VARIANCES if m else np.zeros(1)
        for log_variance in variances:
            start = fits[-1].weights.W if fits else None
            fits.append(self._fit(np.where(kept, max(m, 1) * np.exp(-log_variance), np.inf), start))
        log_prior = -np.sum(self.prices[kept])
        if m:
            log_prior = (
                log_prior + np.log(_STEP / np.pi) - np.logaddexp(0.5 * variances, -0.5 * variances)
            )
        evidence = np.array([fit.log_evidence for fit in fits])
        return VectorSubset(kept, tuple(fits), evidence + log_prior)

    def _fit(self, precision: Array, start: Array | None) -> LaplaceFit:
        p = self.best.fit.problem
        prior = replace(p.prior, precision=precision[:, None])
        return LaplaceFit.from_problem(replace(p, prior=prior), start)

    def make_part(self, fit: LaplaceFit) -> SparsePosterior:
        """The posterior of a fit, the nearest normal."""
        precision = np.asarray(fit.problem.prior.precision)[:, 0]
        return replace(self.best, precision=precision, fit=variational.find_nearest_normal(fit))


def average_vectors(best: SparsePosterior) -> PosteriorMixture | None:
    """The mixture over subsets of vectors and their prior variance; None where rows are many.

    Parameters
    ----------
    best : SparsePosterior
        Of two classes, at the precisions of the largest evidence, with its rows.
    """
    m, total = len(best.scale), best.fit.problem.targets.total_weight
    # Each vector has a weight, and may be in or out; the weights have a variance.
    if not m or not is_worthwhile(total, 2 * m + 1):
        return None
    subsets = VectorSubsets.from_posterior(best)
    found = list(explore_subsets(subsets.evaluate, best, m, fewest=0 if best.offset else 1))
    fits = [fit for one in found for fit in one.fits]
    log_w = np.concatenate([one.log_weights for one in found])
    w = np.exp(log_w - np.max(log_w))
    kept = np.flatnonzero(w >= _NEGLIGIBLE)
    parts = tuple(subsets.make_part(fits[i]) for i in kept)
    return PosteriorMixture(best, parts, w[kept] / np.sum(w[kept]))
