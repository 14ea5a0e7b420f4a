"""Steps of a sparse model under Laplace's approximation, none of which lowers its objective.

The objective is Laplace's evidence and the prior of the precisions. Steps are planned on moments at
the mode, with the curvature as it is there, and taken only where the objective itself rises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import designs, linalg, optimize, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import sequential
from posterity.inference.sparse_bayes.scores import Offer, Places, Working
from posterity.inference.sparse_bayes.sequential import Moments
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets

_OUT = 256.0  # times a finite precision: where half of a step to or from infinity is measured
_HALVINGS = (0.5, 0.25)
_FEWER = 8  # times fewer steps, where all of them together fail
_TRIES = 2  # columns whose steps may fail
_LEAST = 0.1  # of the tolerance: what a step must gain to be taken
_LEVEL = 1e-4  # slope in a log at which the precisions are at their best
_POLISHING_STEPS = 50
_LONGEST = 2.0  # step, in logs
_LEAST_CURVATURE = 1e-2  # of the largest
_FLATTEST = 0.02  # of the curvature that rows which all curve downwards would give
LEAST_PRECISION = 1e-4
"""Of a weight of classes. Where columns tell all rows apart the evidence is level in ever larger
weights, and their spread makes every average one half: a latent value of a hundred is certainty."""
_WEAK = 0.1  # how well the data determine a weight of which they may know nothing


class PrecisionPrior(Protocol):
    """What the precisions of columns in use add to the evidence."""

    def total(self, h: ArrayLike) -> float:
        """Of all of them."""

    def penalty_slope(self, h: ArrayLike) -> Array:
        """Derivative in the log of each."""

    def degrees_at(self, h: ArrayLike) -> Array:
        """Degrees of freedom at each."""


@dataclass(frozen=True)
class Kept:
    """The columns in use, the precisions of their weights, and the model they make."""

    places: Places  # (m,)
    precision: Array  # (m,)
    fit: LaplaceFit
    value: float  # the objective

    @classmethod
    def of(
        cls,
        places: Places,
        precision: Array,
        design: designs.Design,
        targets: RowTargets,
        prior: PrecisionPrior,
        start: Array | None = None,
    ) -> Kept:
        """The model of these columns, followed in the design by ones where there is an offset."""
        offset = targets.offset_precision if design.n_columns > len(places) else None
        problem = WeightProblem(design, targets, WeightPrior(precision, design.n_columns, offset))
        near = np.zeros(problem.shape) if start is None else start
        fit = LaplaceFit.of(problem, near)
        value = fit.log_evidence - _by_accident(fit) + prior.total(precision)
        return cls(places, precision, fit, value)

    def without(self, i: int, prior: priors.Sparse) -> Kept:
        """The model that lacks one of the columns."""
        p = self.fit.problem
        others = np.delete(np.arange(p.design.n_columns), i)
        return Kept.of(
            np.delete(self.places, i),
            np.delete(self.precision, i),
            _columns(p.design, others),
            p.targets,
            prior,
            self.fit.weights.W[others],
        )


def _columns(design: designs.Design, places: Places) -> designs.Design:
    """Some of them: a copy, where that costs no more than a pass."""
    if design.in_memory:
        return designs.Dense(design.rows(0, design.n_rows)[:, places])
    return designs.Selected(design, places)


def _by_accident(fit: LaplaceFit) -> float:
    """What the evidence owes to directions in which the mode is about to vanish.

    Where a likelihood is not log-concave, rows that curve upwards can cancel those that curve
    downwards, and Laplace's evidence grows without end. A posterior may be wider than rows that all
    curve downwards would make it, but not by any factor.
    """
    p, W = fit.problem, fit.weights.W
    if p.targets.is_concave or not p.design.n_columns:
        return 0.0

    def terms(part: designs.Design, t: RowTargets) -> list[Array]:
        b = t.curvature(t.latents(part @ W), surely_positive=True)
        return [part.gram(b[:, 0, 0])]

    (A,) = p.targets.total(p.design, terms)
    L = linalg.cholesky(p.prior.add_to(A), max_jitter=0.0)
    ratio = linalg.thin_svd(linalg.solve_lower(L, fit.L))[1] ** 2
    return 0.5 * float(np.sum(np.log(np.maximum(_FLATTEST / ratio, 1.0))))


def improved(kept: Kept, working: Working, offer: Offer) -> Kept:
    """The first plan that raises the objective, from the boldest to the most careful.

    A column whose best step does not, however short, is then left as it is.
    """
    h = np.full(len(working.moments.A), np.inf)
    h[: len(kept.places)] = kept.precision
    if len(h) > len(working.places):
        h[-1] = float(kept.fit.problem.targets.offset_precision[0, 0])
    held = working.moments.fixed.copy()
    for _ in range(_TRIES):
        plan = h
        for plan in _plans(h, replace(working.moments, fixed=held), offer):
            new = _taken(kept, working, plan, offer.prior)
            if new.value > kept.value + _LEAST * offer.tol:
                return new
        if plan is h:
            break
        held |= plan != h
    return kept


def _plans(h: Array, moments: Moments, offer: Offer) -> Iterator[Array]:
    """All steps, some of them, the best alone, and parts of it."""
    prior, tol = offer.prior, offer.tol
    steps = sequential.maximise(moments, h, prior, tol=tol)
    if not steps.n_steps:
        return
    yield steps.h
    one, few = steps, steps.n_steps // _FEWER
    if few > 1:
        yield sequential.maximise(moments, h, prior, tol=tol, max_steps=few).h
    if steps.n_steps > 1:
        one = sequential.maximise(moments, h, prior, tol=tol, max_steps=1)
        yield one.h
    for part in _HALVINGS:
        yield _between(h, one.h, part)


def _between(h: Array, new: Array, part: float) -> Array:
    """Part of the way from h to new, in logs; a column that is out is far, not infinitely far."""
    moved, between = h != new, h.copy()
    a, b = h[moved], new[moved]
    nearest = _OUT * np.minimum(a, b)
    between[moved] = np.minimum(a, nearest) ** (1.0 - part) * np.minimum(b, nearest) ** part
    return between


def _taken(kept: Kept, working: Working, h: Array, prior: priors.Sparse) -> Kept:
    """The model at the precisions h, its mode sought from the last one."""
    m, w = len(kept.places), len(working.places)
    W = np.zeros((len(h), 1))
    W[:m], W[w:] = kept.fit.weights.W[:m], kept.fit.weights.W[m:]
    within = np.flatnonzero(np.isfinite(h[:w]))
    chosen = np.append(within, np.arange(w, len(h)))
    targets = kept.fit.problem.targets
    precision = np.maximum(h[within], least_precision(targets))
    return Kept.of(
        working.places[within], precision, working.design(within), targets, prior, W[chosen]
    )


def least_precision(targets: RowTargets) -> float:
    """The least precision: latent values of other likelihoods have units."""
    return LEAST_PRECISION if targets.are_classes else 0.0


def polished(kept: Kept, prior: priors.Sparse, bounds: Array, least_gain: float = 0.0) -> Kept:
    """The precisions and the likelihood's theta where the objective is level in all their logs.

    Columns stay as they are, but for those without which the objective is larger. ``bounds`` (P, 2)
    are those of theta, equal where it is held. A positive ``least_gain`` ends it earlier.
    """
    with linalg.limited(kept.fit.problem.design.n_columns):
        return _polished(kept, prior, bounds, least_gain)


def _polished(kept: Kept, prior: priors.Sparse, bounds: Array, least_gain: float) -> Kept:
    """Level, drop the weakest column where that gains, and so on."""
    best = levelled(kept, prior, bounds, least_gain)
    while len(best.places):
        determined = 1.0 - best.precision * _variances(best)
        weakest = int(np.argmin(determined))
        if determined[weakest] > _WEAK:
            break
        fewer = best.without(weakest, prior)
        if fewer.value <= best.value:
            break
        best = levelled(fewer, prior, bounds, least_gain)
    return best


def levelled(kept: Kept, prior: PrecisionPrior, bounds: Array, least_gain: float = 0.0) -> Kept:
    """The same columns, by BFGS."""
    m, free = len(kept.places), bounds[:, 0] < bounds[:, 1]
    if not m + np.sum(free):
        return kept
    highest = [kept]

    def objective(x: Array) -> tuple[float, Array]:
        # Sought from the best mode so far: of several modes, steps ever shorter find the same.
        new = _at(kept, x, free, prior, highest[0].fit.weights.W)
        if new.value > highest[0].value:
            highest[0] = new
        return -new.value, -_slope(new, free, prior)

    theta, least = (
        kept.fit.problem.targets.likelihood.theta,
        least_precision(kept.fit.problem.targets),
    )
    with np.errstate(divide="ignore"):
        low = np.log(np.minimum(kept.precision, least))
    optimize.minimise_bfgs(
        objective,
        np.append(np.log(kept.precision), theta[free]),
        bounds=[(x, np.inf) for x in low] + [(low, high) for low, high in bounds[free]],
        inverse_hessian=_inverse_hessian(kept, prior, int(np.sum(free))),
        longest_step=_LONGEST,
        max_iter=_POLISHING_STEPS,
        tol=_LEVEL,
        least_gain=least_gain,
        announce=False,
    )
    return highest[0]


def _at(kept: Kept, x: Array, free: NDArray[np.bool_], prior: PrecisionPrior, start: Array) -> Kept:
    """The same columns at other precisions and another theta."""
    p, m = kept.fit.problem, len(kept.places)
    likelihood = p.targets.likelihood
    theta = likelihood.theta
    theta[free] = x[m:]
    targets = replace(p.targets, likelihood=likelihood.at(theta)) if free.any() else p.targets
    return Kept.of(kept.places, np.exp(x[:m]), p.design, targets, prior, start)


def _slope(kept: Kept, free: NDArray[np.bool_], prior: PrecisionPrior) -> Array:
    """Of the objective, in the logs of the precisions and in theta."""
    in_precision = kept.fit.precision_gradient()[:, 0] + prior.penalty_slope(kept.precision)
    in_theta = kept.fit.gradient()[1][free] if free.any() else np.empty(0)
    return np.append(in_precision, in_theta)


def steepness(kept: Kept, prior: priors.Sparse) -> float:
    """The largest slope of the objective in the log of a precision that is free to follow it."""
    none = np.zeros(len(kept.fit.problem.targets.likelihood.names), dtype=np.bool_)
    if not len(kept.places):
        return 0.0
    slope = _slope(kept, none, prior)
    held = (kept.precision <= (1.0 + 1e-9) * least_precision(kept.fit.problem.targets)) & (
        slope < 0.0
    )
    return float(np.max(np.abs(slope[~held]), initial=0.0))


def _variances(kept: Kept) -> Array:
    """Of the weights, (m,)."""
    m = len(kept.places)
    return np.einsum("mjmj->m", kept.fit.covariance[:m, :, :m, :])


def _inverse_hessian(kept: Kept, prior: PrecisionPrior, n_theta: int) -> Array:
    """Of minus the objective in log h, the curvature of the rows as it is; in theta, a guess."""
    m, h, mu = len(kept.places), kept.precision, kept.fit.weights.W[: len(kept.places), 0]
    Sigma = kept.fit.covariance[:m, 0, :m, 0]
    along = np.outer(mu, mu) * Sigma + 0.5 * Sigma**2
    H = -np.outer(h, h) * along
    i = np.arange(m)
    H[i, i] += 0.5 * h * (mu**2 + Sigma[i, i] + prior.degrees_at(h))
    inverse = np.eye(m + n_theta) / kept.fit.problem.targets.total_weight
    if m:
        values, V = linalg.symmetric.eigh(H)
        bounded = np.maximum(np.abs(values), _LEAST_CURVATURE * np.max(np.abs(values)))
        inverse[:m, :m] = (V / bounded) @ V.T
    return inverse
