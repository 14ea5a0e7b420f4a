"""The normal that is nearest to the posterior of the weights of a classifier.

Laplace's normal sits at the mode and has the curvature of the mode. Where classes hardly overlap
the rows are sure there and hardly curve: the normal is far too wide, and what is averaged over it
too near to even. The normal q that is nearest in the sense of Kullback and Leibler has
precision x mean = Z^T E_q[slope] and a Hessian of precision + Z^T E_q[curvature] Z, both averaged
over itself [OA 2.10]. It is found from Laplace's by damped replacement of both sides, along which
the lower bound of the evidence rises: a step is one pass over the rows, as one of Newton's is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from posterity import designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.laplace import LaplaceFit
from posterity.inference.weight_normal import WeightNormal
from posterity.inference.weight_problem import Weights, weighted_gram

TOLERANCE = 1e-3  # nats a row
_MAX_STEPS = 60
_FASTER, _SLOWER = 1.25, 0.5  # of the pace, after a step that gained and one that did not
_SETTLED = 2  # steps in a row that make no difference: one may have gone too far by just so much


@dataclass(frozen=True)
class NearestNormal(WeightNormal):
    """W ~ N(mean, H^-1), nearest to the posterior in the sense of Kullback and Leibler."""

    log_evidence: float  # log p(y) to Laplace's approximation, as where the search began
    bound: float  # never above log p(y), to the error of averages over latent values


def nearest(
    laplace: LaplaceFit, *, tol: float = TOLERANCE, max_steps: int = _MAX_STEPS
) -> LaplaceFit | NearestNormal:
    """The nearest normal; Laplace's itself where rows are many for each weight.

    Parameters
    ----------
    laplace : LaplaceFit
        Of classes, under a prior that is not flat.
    tol : float
        Nats a row that make no difference. No step is taken where predictions at the mode lose no
        more than that to those at the mean, to first order; no further one where steps have
        changed the bound by less.
    max_steps : int
        Warns with ``optimize.ConvergenceWarning`` where these do not suffice.
    """
    least = tol * laplace.problem.targets.total_weight
    if not laplace.L.size or _loss(laplace) < least:
        return laplace
    with linalg.limited(len(laplace.L)):
        return _climbed(laplace, least, max_steps)


def _loss(laplace: LaplaceFit) -> float:
    """Nats, over all rows, that predictions at the mode lose to those at the mean."""
    v = laplace.lean.reshape(-1)
    return 0.5 * float(np.sum((v @ np.tril(laplace.L)) ** 2))


def _climbed(laplace: LaplaceFit, least: float, max_steps: int) -> NearestNormal:
    """Step after step, at the pace at which the bound rises."""
    L = np.tril(laplace.L)
    at, pace, gain, n_steps, settled = _Place.of(laplace, L @ L.T), 1.0, np.inf, 0, 0
    while settled < _SETTLED and n_steps < max_steps:
        trial = at.moved(pace)
        gain = trial.bound - at.bound
        settled = settled + 1 if abs(gain) < least else 0
        at, pace = (trial, min(1.0, _FASTER * pace)) if gain > 0.0 else (at, _SLOWER * pace)
        n_steps += 1
    converged = settled == _SETTLED
    reason = f"the last of {n_steps} steps changed the bound by {gain:.1g} nats"
    if not converged:
        message = f"the nearest normal was not found: {reason}; a smaller prior_variance may help"
        warnings.warn(message, optimize.ConvergenceWarning, stacklevel=4)
    largest, W = float(np.max(np.abs(at.slope))), at.normal.weights.W
    mean = Weights(W, np.nan, largest, n_steps, reason, converged)
    return NearestNormal(laplace.problem, mean, at.normal.L, laplace.log_evidence, at.bound)


@dataclass(frozen=True)
class _Place:
    """A normal, its bound, and the slope and the Hessian that averages over it ask for."""

    normal: WeightNormal
    H: Array  # (M J, M J), its own
    bound: float
    slope: Array  # (M J,), in its mean
    asked: Array  # (M J, M J)

    @classmethod
    def of(cls, normal: WeightNormal, H: Array) -> _Place:
        """One pass over the rows."""
        p, W, S = normal.problem, normal.weights.W, normal.covariance

        def terms(rows: slice, part: designs.Design) -> list[Array | float]:
            t = p.targets
            spread = normal.spread(part.rows(0, part.n_rows))
            log_p, slope, h = t.expected(rows, t.latents(part @ W), spread)
            return [t.summed(rows, log_p), part.rmatvec(slope), weighted_gram(part, h)]

        value, slope, gram = p.design.total(terms)
        J = p.shape[1]
        log_ratio = p.prior.log_determinant(J) - linalg.log_determinant(normal.L)
        distance = 2.0 * p.quadratic(W) + p.prior.trace_with(S) - W.size - log_ratio
        bound = float(value) - 0.5 * distance
        return cls(normal, H, bound, (slope - p.prior.times(W)).reshape(-1), p.prior.add_to(gram))

    def moved(self, pace: float) -> _Place:
        """Some of the way to what is asked for: the mean by the Hessian that is reached."""
        H = self.H + pace * (self.asked - self.H)
        L = linalg.cholesky(H, max_jitter=0.0)
        W = self.normal.weights.W
        step = linalg.solve_cholesky(L, self.slope).reshape(W.shape)
        weights = Weights(W + pace * step, np.nan, np.nan, 0, "", converged=False)
        return _Place.of(WeightNormal(self.normal.problem, weights, L), H)
