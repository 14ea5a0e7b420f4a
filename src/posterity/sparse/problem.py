"""What a choice of columns is asked for, what it finds, and the ways up that all likelihoods share.

The objective is Laplace's evidence and the prior of the precisions. Steps are planned on moments at
the mode, with the curvature as it is there, and taken only where the objective itself rises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets

COST = 2.5
"""Nats that a vector has to earn where another kernel, or another start, would do without it."""
LEAST_GAIN = 0.1
"""Of the tolerance: what a step must gain to be taken."""
LEAST_PRECISION = 1e-4
"""Of a weight of classes. Where columns tell all rows apart the evidence is level in ever larger
weights, and their spread makes every average one half: a latent value of a hundred is certainty."""
_COARSE = 0.1  # nats
_OUT = 256.0  # times a finite precision: where half of a step to or from infinity is measured
_HALVINGS = (0.5, 0.25)
_FEWER = 8  # times fewer steps, where all of them together fail
_FLATTEST = 0.02  # of the curvature that rows which all curve downwards would give

Places = NDArray[np.intp]


@dataclass(frozen=True)
class SparseProblem:
    """Prior and offset of a sparse model, and when the search for its columns may stop."""

    prior: priors.Sparse
    offset: bool = True  # with a prior worth one row; columns are then centred
    tol: float = 1e-2  # nats that a step must gain
    max_iter: int = 1000  # passes over all columns
    own_columns: bool = False  # each of several classes chooses its own
    must_earn: bool = False  # none is kept where all together earn less than they cost

    def coarsely(self) -> SparseProblem:
        """The same where models are only compared."""
        return replace(self, tol=_COARSE)

    def standardize(self, columns: Any, weights: Any, rng: Any = None) -> designs.CandidateColumns:
        """Columns as candidates of this problem."""
        return designs.CandidateColumns.from_columns(columns, weights, centred=self.offset, rng=rng)


@dataclass(frozen=True)
class Chosen:
    """The m columns in use, how they are standardised, and the precisions of their weights."""

    places: Places  # (m,) among all candidates
    precision: Array  # (m,), in units of the noise, of standardised columns
    center: Array  # (m,)
    scale: Array  # (m,)
    value: float  # log evidence and prior of the precisions
    n_iter: int
    stop_reason: str
    converged: bool

    @property
    def raw_scale(self) -> Array:
        """What a centred column is divided by for its weight to have unit precision."""
        return self.scale * np.sqrt(self.precision)

    @property
    def n_precisions(self) -> int:
        """How many weights, or columns of shared weights, are in use."""
        return int(np.sum(np.isfinite(self.precision)))

    def reorder(self, order: Places) -> Chosen:
        """The same columns in another order."""
        return replace(
            self,
            places=self.places[order],
            precision=self.precision[order],
            center=self.center[order],
            scale=self.scale[order],
        )


class PrecisionPrior(Protocol):
    """What the precisions of columns in use add to the evidence."""

    def log_density_of_choice(self, h: ArrayLike) -> float:
        """Log density of all precisions."""

    def penalty_slope(self, h: ArrayLike) -> Array:
        """Derivative of the log density in the log of each precision."""

    def degrees_at(self, h: ArrayLike) -> Array:
        """Degrees of freedom at each."""


@dataclass(frozen=True)
class SparseModel:
    """The columns in use, the precisions of their weights, and the model they make."""

    places: Places  # (m,)
    precision: Array  # (m,); or (m, C) where classes have their own columns, infinite for unused
    fit: Any  # LaplaceFit, or ClassNormals where classes are many
    value: float  # the objective

    @classmethod
    def from_columns(
        cls,
        places: Places,
        precision: Array,
        design: designs.Design,
        targets: RowTargets,
        prior: PrecisionPrior,
        start: Array | None = None,
    ) -> SparseModel:
        """The model of these columns, followed in the design by ones where there is an offset."""
        problem = weight_problem(precision, design, targets)
        fit = LaplaceFit.from_problem(problem, start)
        value = (
            fit.log_evidence - _accidental_evidence(fit) + prior.log_density_of_choice(precision)
        )
        return cls(places, precision, fit, value)

    @property
    def n_precisions(self) -> int:
        """How many weights, or columns of shared weights, are in use."""
        return int(np.sum(np.isfinite(self.precision)))

    def to_chosen(self, center: Array, scale: Array, end: Ending) -> Chosen:
        """The columns, of these centres and scales, and how the search for them ended."""
        return Chosen(
            self.places,
            self.precision,
            center,
            scale,
            self.value,
            end.n_iter,
            end.stop_reason,
            end.converged,
        )


def weight_problem(precision: Array, design: designs.Design, targets: RowTargets) -> WeightProblem:
    """Weights of columns and, where the design has one more, of an offset."""
    offset = targets.offset_precision if design.n_columns > len(precision) else None
    return WeightProblem(design, targets, WeightPrior(precision, design.n_columns, offset))


def _accidental_evidence(fit: LaplaceFit) -> float:
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

    (A,) = p.targets.sum_over_parts(p.design, terms)
    L = linalg.cholesky(p.prior.add_precision(A), max_jitter=0.0)
    ratio = linalg.thin_svd(linalg.solve_lower(L, fit.L))[1] ** 2
    return 0.5 * float(np.sum(np.log(np.maximum(_FLATTEST / ratio, 1.0))))


@dataclass(frozen=True)
class Ending:
    """How a search ended."""

    n_iter: int
    stop_reason: str
    converged: bool


class Steps(Protocol):
    """Result of steps on a frozen curvature."""

    @property
    def h(self) -> Array:
        """Precisions, infinite where a column is out."""

    @property
    def n_steps(self) -> int:
        """How many were taken."""


def propose(h: Array, maximise: Callable[[int | None], Steps]) -> Iterator[Array]:
    """Precisions on the way from h: all steps, some of them, the best alone, and parts of it.

    ``maximise(n)`` takes n steps at most, or all that gain for None.
    """
    steps = maximise(None)
    if not steps.n_steps:
        return
    yield steps.h
    one, few = steps, steps.n_steps // _FEWER
    if few > 1:
        yield maximise(few).h
    if steps.n_steps > 1:
        one = maximise(1)
        yield one.h
    for part in _HALVINGS:
        yield interpolate(h, one.h, part)


def interpolate(h: Array, new: Array, part: float) -> Array:
    """Part of the way from h to new, in logs; a column that is out is far, not infinitely far."""
    moved, between = h != new, h.copy()
    a, b = h[moved], new[moved]
    nearest = _OUT * np.minimum(a, b)
    between[moved] = np.minimum(a, nearest) ** (1.0 - part) * np.minimum(b, nearest) ** part
    return between


def ascend(
    model: SparseModel,
    candidates: Any,
    proposals: Callable[[SparseModel, Any, bool], Iterator[SparseModel]],
    problem: SparseProblem,
) -> tuple[SparseModel, Ending]:
    """Pass over all blocks, by a quick look at each, until none gains; then by a thorough one.

    A thorough look that finds something is followed by quick ones again. Where no thorough look
    gains more than the tolerance, this is the end. ``proposals(model, block, thorough)`` are models
    to go to, boldest first.
    """
    thorough, tol = False, problem.tol
    for n_iter in range(1, problem.max_iter + 1):
        before = model.value
        for block in candidates.blocks():
            model = first_better(model, proposals(model, block, thorough), LEAST_GAIN * tol)
        gained = model.value > before + tol
        if thorough and not gained:
            reason = "no column promises to raise the evidence"
            return model, Ending(n_iter, reason, converged=True)
        thorough = not gained
    return model, passes_exhausted(problem)


def passes_exhausted(problem: SparseProblem) -> Ending:
    """The end of a search that was not done when its passes were."""
    n = problem.max_iter
    reason = f"the limit of {n} on passes over the columns was not enough"
    return Ending(n, reason, converged=False)


def first_better(model: SparseModel, proposals: Iterator[SparseModel], least: float) -> SparseModel:
    """The first proposal that gains more than ``least``, or the model itself."""
    for proposal in proposals:
        if proposal.value > model.value + least:
            return proposal
    return model
