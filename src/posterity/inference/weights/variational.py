"""The normal that is nearest to the posterior of weights, for classes, counts and amounts.

Laplace's normal sits at the mode and has the curvature of the mode. Where classes hardly overlap
the rows are sure there and hardly curve: the normal is far too wide, and what is averaged over it
too near to even. The normal q that is nearest in the sense of Kullback and Leibler has
precision x mean = Z^T E_q[slope] and a Hessian of precision + Z^T E_q[curvature] Z, both averaged
over itself [OA 2.10]. It is found from Laplace's by damped replacement of both sides, along which
the lower bound of the evidence rises: a step is one pass over the rows, as one of Newton's is.

The average of exp(a) is exp(mean + variance / 2): where rows hold no event, Laplace's variance is
that of the prior, and the average over it is absurd. So a climb begins with a narrower normal. A
wider one with the same mean expects more events, and the mean has to fall as the variance grows:
each step moves both, by the equations of [OA 2.10] and how the slope in the mean changes with the
variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from posterity import callers, designs, linalg, optimize
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.problem import WeightProblem, Weights, weighted_gram
from posterity.inference.weights.targets import RowTargets

TOLERANCE = 1e-3  # of the nats that the rows tell
MAX_STEPS = 60
_FEW_NATS = 10.0  # a thousandth of which is not worth a pass
_FASTER, _SLOWER = 1.25, 0.5  # of the pace, after a step that gained and one that did not
_RATE_TOLERANCE = 1e-4  # nats in all, of which the mean is known to 0.01 standard deviations
_RATE_STEPS = 200
_RATE_FASTER = 1.5  # of the pace of a rate, after a step that gained
_SETTLED = 2  # steps in a row that make no difference: one may have gone too far by just so much


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
    start = ClimbStart(mode, laplace.L, lean, p.targets.total_weight, laplace.log_evidence)
    ask = partial(_pass_over_rows, p, remainder)
    if not p.targets.are_classes:
        return _find_nearest_of_rates(laplace, start, ask, remainder)
    end = climb_to_nearest(start, ask, tol=tol, max_steps=max_steps)
    if end is None:
        return laplace
    W = prior.unpack(end.mean, p.shape)
    mean = Weights(W, np.nan, end.largest_slope, end.n_steps, end.stop_reason, end.converged)
    return NearestNormal(p, mean, end.L, laplace.log_evidence, end.bound)


def _find_nearest_of_rates(
    laplace: LaplaceFit,
    start: ClimbStart,
    ask: Question,
    remainder: Array | None,
) -> LaplaceFit | NearestNormal:
    if not start.L.size or start.loss < _RATE_TOLERANCE:
        return laplace
    p, L = laplace.problem, np.tril(start.L)
    with linalg.limit_threads(len(L)):
        answer = ask(start.mode, start.L)
        first = _RateCandidate(
            start.mode, L @ L.T, start.L, answer, ask, partial(_slope_drift, p, remainder)
        )
        end = climb_rate_bound(first)
    if not end.converged:
        callers.warn_caller(end.stop_reason, optimize.ConvergenceWarning)
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
    answer: PassResult
    ask: Question
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


def _pass_over_rows(p: WeightProblem, remainder: Array | None, x: Array, L: Array) -> PassResult:
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
    return PassResult(float(value) - 0.5 * distance, in_mean, p.prior.add_precision(gram))


def _slope_drift(
    p: WeightProblem, remainder: Array | None, x: Array, L: Array, L_next: Array
) -> Array:
    """Change of the slope in the mean with the covariance, to first order."""
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


@dataclass(frozen=True)
class PassResult:
    """The expected likelihood under a normal of P weights, from a pass over the rows."""

    bound: float  # of log p(y), from below
    slope: Array  # (P,), of the bound in the mean
    hessian: Array  # (P, P), that averages over the normal ask for


Question = Callable[[Array, Array], PassResult]  # of the mean (P,) and of L (P, P), L L^T = H


@dataclass(frozen=True)
class ClimbStart:
    """Laplace's normal, from which a climb begins."""

    mode: Array  # (P,)
    L: Array  # (P, P), L L^T = H
    lean: Array  # (P,), by how much the mean lies beyond the mode, to first order
    total_weight: float  # of the rows
    log_evidence: float  # to Laplace's approximation

    @property
    def loss(self) -> float:
        """Nats, over all rows, that predictions at the mode lose to those at the mean."""
        return 0.5 * float(np.sum((self.lean @ np.tril(self.L)) ** 2))

    @property
    def nats(self) -> float:
        """Information of the rows: a nat a row, or less where most rows are easily predicted.

        Two events among 2,000 rows tell 16 nats, in which two nats are not a rounding error.
        """
        return min(self.total_weight, max(_FEW_NATS, abs(self.log_evidence)))


@dataclass(frozen=True)
class NearestNormalEnd:
    """The end of a climb, and the reason for it."""

    mean: Array  # (P,)
    L: Array
    bound: float
    largest_slope: float
    n_steps: int
    stop_reason: str
    converged: bool


def climb_to_nearest(
    start: ClimbStart, ask: Question, *, tol: float, max_steps: int
) -> NearestNormalEnd | None:
    """Step after step; None where rows are so many for each weight that none is worth its pass.

    Parameters
    ----------
    start : ClimbStart
        Of classes, under a prior that is not flat.
    ask : callable
        ``ask(mean, L)`` answers for the normal of that mean and of precision L L^T.
    tol : float
        Share of what the rows tell that makes no difference. No step is taken where predictions at
        the mode lose no more than that to those at the mean, to first order, and where the bound
        at Laplace's normal is at most as far below Laplace's evidence: a normal that is too wide
        may be where it should be. No further step where steps have changed the bound by less.
    max_steps : int
        Warns with ``optimize.ConvergenceWarning`` where these do not suffice.
    """
    if not start.L.size:
        return None
    least = tol * start.nats
    with linalg.limit_threads(len(start.L)):
        first = _ClimbState.from_start(start, ask)
        if max(start.loss, start.log_evidence - first.answer.bound) < least:
            return None
        return _climb_bound(first, ask, least, max_steps)


def _climb_bound(
    start: _ClimbState, ask: Question, least: float, max_steps: int
) -> NearestNormalEnd:
    """At the pace at which the bound rises."""
    at, pace, gain, n_steps, settled = start, 1.0, np.inf, 0, 0
    while settled < _SETTLED and n_steps < max_steps:
        trial = at.step(pace, ask)
        gain = trial.answer.bound - at.answer.bound
        settled = settled + 1 if abs(gain) < least else 0
        at, pace = (trial, min(1.0, _FASTER * pace)) if gain > 0.0 else (at, _SLOWER * pace)
        n_steps += 1
    converged = settled == _SETTLED
    reason = f"the last of {n_steps} steps changed the bound by {gain:.1g} nats"
    if not converged:
        message = f"the nearest normal was not found: {reason}; inference='laplace' does without"
        callers.warn_caller(message, optimize.ConvergenceWarning)
    largest = float(np.max(np.abs(at.answer.slope)))
    return NearestNormalEnd(at.mean, at.L, at.answer.bound, largest, n_steps, reason, converged)


@dataclass(frozen=True)
class _ClimbState:
    """A normal, with its expected likelihood and derivatives."""

    mean: Array
    H: Array
    L: Array
    answer: PassResult

    @classmethod
    def from_start(cls, start: ClimbStart, ask: Question) -> _ClimbState:
        L = np.tril(start.L)
        return cls(start.mode, L @ L.T, start.L, ask(start.mode, start.L))

    def step(self, pace: float, ask: Question) -> _ClimbState:
        """Some of the way to what is asked for: the mean by the Hessian that is reached."""
        H = self.H + pace * (self.answer.hessian - self.H)
        L = linalg.cholesky(H, max_jitter=0.0)
        mean = self.mean + pace * linalg.solve_cholesky(L, self.answer.slope)
        return _ClimbState(mean, H, L, ask(mean, L))


class NormalCandidate(Protocol):
    """A normal during the search, with its expected likelihood and derivatives."""

    @property
    def bound(self) -> float:
        """A lower bound of log p(y)."""

    @property
    def expected_gain(self) -> float:
        """Expected gain of a full step in nats, to second order."""

    def with_less_variance(self) -> Self:
        """Return a normal of the same mean with less variance."""

    def step_towards_best(self, pace: float) -> Self:
        """Step part of the way to the normal that averages over this one imply."""

    def step_mean(self, pace: float) -> Self:
        """Step part of the way to the best mean for this covariance."""


P = TypeVar("P", bound=NormalCandidate)


@dataclass(frozen=True)
class ClimbEnd(Generic[P]):
    """The end of a climb, and the reason for it."""

    place: P
    n_steps: int
    stop_reason: str
    converged: bool


def climb_rate_bound(start: P) -> ClimbEnd[P]:
    """Step until a further one promises to gain less than a ten-thousandth of a nat."""
    at, pace, n_steps = _narrow_until_best(start), 1.0, 0
    while not at.expected_gain < _RATE_TOLERANCE and n_steps < _RATE_STEPS:
        at, pace = _take_step(at, pace)
        n_steps += 1
    converged = at.expected_gain < _RATE_TOLERANCE
    reason = f"after {n_steps} steps another one promises to gain {at.expected_gain:.1g} nats"
    failed = f"the nearest normal was not found: {reason}"
    return ClimbEnd(at, n_steps, reason if converged else failed, converged)


def _take_step(at: P, pace: float) -> tuple[P, float]:
    """Return the next normal and the next pace.

    From the best mean for its covariance a short enough step always gains: where one does not
    gain, the mean goes there first.
    """
    both = at.step_towards_best(pace)
    if both.bound > at.bound:
        return both, min(1.0, _RATE_FASTER * pace)
    alone = (at.step_mean(share) for share in (1.0, pace))
    return next((place for place in alone if place.bound > at.bound), at), _SLOWER * pace


def _narrow_until_best(place: P) -> P:
    """Return the first of ever narrower normals whose bound is above that of the next."""
    following = place.with_less_variance()
    while following.bound >= place.bound:
        place, following = following, following.with_less_variance()
    return place
