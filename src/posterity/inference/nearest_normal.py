"""The normal that is nearest to the posterior of the weights of a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference import normal_climb
from posterity.inference.laplace import LaplaceFit
from posterity.inference.normal_climb import MAX_STEPS, TOLERANCE
from posterity.inference.weight_normal import WeightNormal
from posterity.inference.weight_problem import WeightProblem, Weights, weighted_gram
from posterity.inference.weight_targets import RowTargets


@dataclass(frozen=True)
class NearestNormal(WeightNormal):
    """W ~ N(mean, H^-1), nearest to the posterior in the sense of Kullback and Leibler."""

    log_evidence: float  # log p(y) to Laplace's approximation, as where the search began
    bound: float  # never above log p(y), to the error of averages over latent values

    def told(self, Z: Array) -> tuple[Array, Array]:
        """Slope (N, J) and curvature (N, J, J) of all rows in z W, averaged over this normal."""
        t = self.problem.targets
        _, slope, h = t.expected(t.latents(Z @ self.weights.W), self.spread(Z))
        return slope, h


def nearest(
    laplace: LaplaceFit,
    *,
    remainder: Array | None = None,
    tol: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> LaplaceFit | NearestNormal:
    """The nearest normal; Laplace's itself where rows are many for each weight.

    Parameters
    ----------
    laplace : LaplaceFit
        Of classes, under a prior that is not flat.
    remainder : array of shape (N,), optional
        Variance of the latent values of each row that no weight carries, which predictions are to
        add: the normal is then the nearest to what rows tell of both. None: there is none.
    tol : float
        Nats a row that make no difference.
    max_steps : int
        Warns with ``optimize.ConvergenceWarning`` where these do not suffice.
    """
    p, mode = laplace.problem, laplace.weights.W.reshape(-1)
    lean = laplace.lean(remainder).reshape(-1)
    start = normal_climb.Start(mode, laplace.L, lean, p.targets.total_weight)
    ask = partial(_asked, p, remainder)
    end = normal_climb.climb(start, ask, tol=tol, max_steps=max_steps)
    if end is None:
        return laplace
    W = end.mean.reshape(p.shape)
    mean = Weights(W, np.nan, end.largest_slope, end.n_steps, end.stop_reason, end.converged)
    return NearestNormal(p, mean, end.L, laplace.log_evidence, end.bound)


def _asked(p: WeightProblem, remainder: Array | None, x: Array, L: Array) -> normal_climb.Answer:
    """One pass over the rows."""
    W, J = x.reshape(p.shape), p.shape[1]
    normal = WeightNormal(p, Weights(W, np.nan, np.nan, 0, "", converged=False), L)

    def terms(part: designs.Design, t: RowTargets, v: Array | None) -> list[Array | float]:
        spread = normal.spread(part.rows(0, part.n_rows))
        if v is not None:
            spread += v[:, None, None] * np.eye(J)
        log_p, slope, h = t.expected(t.latents(part @ W), spread)
        return [t.summed(log_p), part.rmatvec(slope), weighted_gram(part, h)]

    value, slope, gram = p.targets.total(p.design, terms, remainder)
    log_ratio = p.prior.log_determinant(J) - linalg.log_determinant(L)
    distance = 2.0 * p.quadratic(W) + p.prior.trace_with(normal.covariance) - W.size - log_ratio
    in_mean = (slope - p.prior.times(W)).reshape(-1)
    return normal_climb.Answer(float(value) - 0.5 * distance, in_mean, p.prior.add_to(gram))
