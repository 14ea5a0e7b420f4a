"""The normal that is nearest to the posterior of weights, for classes, counts and amounts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference.weights import rate_climb, variational_climb
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.problem import WeightProblem, Weights, weighted_gram
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational_climb import MAX_STEPS, TOLERANCE


@dataclass(frozen=True)
class NearestNormal(WeightNormal):
    """W ~ N(mean, H^-1), nearest to the posterior in the sense of Kullback and Leibler."""

    log_evidence: float  # log p(y) to Laplace's approximation, as where the search began
    bound: float  # never above log p(y), to the error of averages over latent values

    def slope_and_curvature(self, Z: Array) -> tuple[Array, Array]:
        """Slope (N, J) and curvature (N, J, J) of all rows in z W, averaged over this normal."""
        t = self.problem.targets
        _, slope, h = t.average_over_latents(t.latents(Z @ self.weights.W), self.spread(Z))
        return slope, h


def find_nearest_normal(
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
        Of classes, or of a likelihood with averages, under a prior that is not flat.
    remainder : array of shape (N,), optional
        Variance of the latent values of each row that no weight carries, which predictions
        add: the normal is then the nearest to the posterior of both. None: zero.
    tol : float
        Share of what rows of classes tell, at most a nat each, that makes no difference. What other
        rows tell is not in proportion to their number, as of counts that are zero: 1e-4 nats for
        all rows together.
    max_steps : int
        Warns with ``optimize.ConvergenceWarning`` where these do not suffice.
    """
    p, prior = laplace.problem, laplace.problem.prior
    mode, lean = prior.pack(laplace.weights.W), prior.pack(laplace.mean_shift(remainder))
    start = variational_climb.ClimbStart(
        mode, laplace.L, lean, p.targets.total_weight, laplace.log_evidence
    )
    ask = partial(_pass_over_rows, p, remainder)
    if not p.targets.are_classes:
        return _find_nearest_of_rates(laplace, start, ask, remainder)
    end = variational_climb.climb_to_nearest(start, ask, tol=tol, max_steps=max_steps)
    if end is None:
        return laplace
    W = prior.unpack(end.mean, p.shape)
    mean = Weights(W, np.nan, end.largest_slope, end.n_steps, end.stop_reason, end.converged)
    return NearestNormal(p, mean, end.L, laplace.log_evidence, end.bound)


def _find_nearest_of_rates(
    laplace: LaplaceFit,
    start: variational_climb.ClimbStart,
    ask: variational_climb.Question,
    remainder: Array | None,
) -> LaplaceFit | NearestNormal:
    if not start.L.size or start.loss < rate_climb.TOLERANCE:
        return laplace
    p, L = laplace.problem, np.tril(start.L)
    with linalg.limit_threads(len(L)):
        answer = ask(start.mode, start.L)
        first = _RateCandidate(
            start.mode, L @ L.T, start.L, answer, ask, partial(_slope_drift, p, remainder)
        )
        end = rate_climb.climb_rate_bound(first)
    at, W = end.place, end.place.mean.reshape(p.shape)
    slope = float(np.max(np.abs(at.answer.slope)))
    mean = Weights(W, np.nan, slope, end.n_steps, end.stop_reason, end.converged)
    return NearestNormal(p, mean, at.L, laplace.log_evidence, at.bound)


@dataclass(frozen=True)
class _RateCandidate:
    """A normal of P weights of a rate, with its expected likelihood and derivatives."""

    mean: Array
    H: Array
    L: Array
    answer: variational_climb.PassResult
    ask: variational_climb.Question
    drift: Callable[[Array, Array, Array], Array]  # of mean, L and the next L: of the slope

    @property
    def bound(self) -> float:
        return self.answer.bound

    @property
    def expected_gain(self) -> float:
        V_change = linalg.solve_cholesky(self.L, self.answer.hessian - self.H)
        in_mean = float(self.answer.slope @ linalg.solve_cholesky(self._own, self.answer.slope))
        return 0.5 * in_mean + 0.25 * float(np.sum(V_change * V_change.T))

    def with_less_variance(self) -> _RateCandidate:
        return self._with_mean(self.mean, 2.0 * self.H, np.sqrt(2.0) * self.L)

    def step_towards_best(self, pace: float) -> _RateCandidate:
        H = self.H + pace * (self.answer.hessian - self.H)
        L = linalg.cholesky(H, max_jitter=0.0)
        slope = pace * self.answer.slope + self.drift(self.mean, self.L, L)
        return self._with_mean(self.mean + linalg.solve_cholesky(self._own, slope), H, L)

    def step_mean(self, pace: float) -> _RateCandidate:
        step = linalg.solve_cholesky(self._own, self.answer.slope)
        return self._with_mean(self.mean + pace * step, self.H, self.L)

    def _with_mean(self, mean: Array, H: Array, L: Array) -> _RateCandidate:
        return replace(self, mean=mean, H=H, L=L, answer=self.ask(mean, L))

    @property
    def _own(self) -> Array:
        """The factor of the Hessian of the bound in the mean."""
        return linalg.cholesky(self.answer.hessian, max_jitter=0.0)


def _pass_over_rows(
    p: WeightProblem, remainder: Array | None, x: Array, L: Array
) -> variational_climb.PassResult:
    """One pass over the rows."""
    W = p.prior.unpack(x, p.shape)
    normal, mask = _build_normal(p, W, L), p.prior.mask

    def terms(part: designs.Design, t: RowTargets, v: Array | None) -> list[Array | float]:
        spread = _spread(normal, part, v)
        log_p, slope, h = t.average_over_latents(t.latents(part @ W), spread)
        return [t.sum_over_rows(log_p), part.rmatvec(slope), weighted_gram(part, h, mask)]

    value, slope, gram = p.targets.sum_over_parts(p.design, terms, remainder)
    log_ratio = p.prior.log_determinant(p.shape[1]) - linalg.log_determinant(L)
    spread = p.prior.trace_with(normal.packed_covariance)
    distance = 2.0 * p.quadratic(W) + spread - len(x) - log_ratio
    in_mean = p.prior.pack(slope - p.prior.multiply_precision(W))
    return variational_climb.PassResult(
        float(value) - 0.5 * distance, in_mean, p.prior.add_precision(gram)
    )


def _slope_drift(
    p: WeightProblem, remainder: Array | None, x: Array, L: Array, L_next: Array
) -> Array:
    """How the slope in the mean changes with the covariance, to first order."""
    W = x.reshape(p.shape)
    normal, following = _build_normal(p, W, L), _build_normal(p, W, L_next)

    def terms(part: designs.Design, t: RowTargets, v: Array | None) -> list[Array]:
        spread = _spread(normal, part, v)
        change = _spread(following, part, v) - spread
        return [part.rmatvec(t.average_drift(t.latents(part @ W), spread, change))]

    (total,) = p.targets.sum_over_parts(p.design, terms, remainder)
    return np.asarray(total).reshape(-1)


def _build_normal(p: WeightProblem, W: Array, L: Array) -> WeightNormal:
    return WeightNormal(p, Weights(W, np.nan, np.nan, 0, "", converged=False), L)


def _spread(normal: WeightNormal, part: designs.Design, remainder: Array | None) -> Array:
    """Covariance of z W in each row, (n, J, J), with what no weight carries."""
    spread = normal.spread(part.rows(0, part.n_rows))
    if remainder is not None:
        spread += remainder[:, None, None] * np.eye(spread.shape[1])
    return spread
