"""Vectors of many classes: the weights of each class have a normal posterior of their own.

The posterior of m weights in each of C classes has a covariance of m C rows, and every step of a
choice costs the third power of that. Here the covariance between classes is left out, so that there
are C matrices of m rows. What is left out is small where classes are many: a row that is not sure
moves one class against all others. The nearest normal of this form predicts as well as that of any
form (log scores differ by a thousandth of a nat for ten classes), and the time that is won goes
into a choice that climbs higher.

Minus the Hessian of class c is B_c = w p_c (1 - p_c) at every row, and a column that is out has

    S_c = z^T B_c z - z^T B_c Z Sigma_c Z^T B_c z,    Q_c = z^T d_c    in each class,  [TF 2003]

and one precision for all of them. A pass adds the best columns and moves all precisions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posterity import callers, designs, linalg, optimize
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.problem import PosteriorObjective, WeightProblem, Weights
from posterity.inference.weights.targets import RowTargets
from posterity.page_forms import Form
from posterity.sparse import blocks
from posterity.sparse.problem import (
    Chosen,
    Ending,
    Places,
    SparseModel,
    SparseProblem,
    first_better,
    interpolate,
    passes_exhausted,
    weight_problem,
)

FEWEST_CLASSES = 8
"""From which on vectors are chosen so: of fewer, a covariance between classes is affordable."""
_TOL = 1.0  # nats that a pass must gain, and a column must promise
_TRIES = ((16, 1.0), (4, 1.0), (4, 0.5), (1, 0.25), (4, 0.0))
"""How many columns join, and how far the precisions of the others move, boldest first."""
_SHORTLIST = 120  # columns that are scored exactly, by their rank
_ALIKE = 0.5  # correlation of columns that do not join together
_APPROACH = 60  # gradients
_NEAR = 1e-2  # slope, in units of the posterior's standard deviations
_TINY = 1e-12
_FASTER, _SLOWER = 1.25, 0.5  # of the pace, after a step that gained and one that did not
_SETTLED = 2  # steps in a row that make no difference
_FEW_NATS = 10.0  # a thousandth of which is not worth a pass


@dataclass(frozen=True)
class ClassNormals:
    """Weights W (M, C) whose columns are independent: that of class c is N(W_c, H_c^-1)."""

    problem: WeightProblem  # with weights for each class
    weights: Weights
    factors: Array  # (C, M, M), L L^T = H of each class
    log_evidence: float  # to Laplace's approximation
    bound: float = -np.inf  # of the evidence, where it is known

    @classmethod
    def from_problem(cls, problem: WeightProblem, start: Array) -> ClassNormals:
        """Laplace's approximation, at the mode."""
        found = _find_mode(problem, start)
        p, C = problem, problem.shape[1]
        Z = p.design.rows(0, p.design.n_rows)
        B = _diagonals(p.targets.curvature(p.targets.latents(Z @ found.W)))
        factors = _factorise_classes(p, Z, B)
        determinants = sum(linalg.log_determinant(L) for L in factors)
        value = found.value + 0.5 * (p.prior.log_determinant(C) - determinants)
        return cls(problem, found, factors, value)

    @property
    def L(self) -> Array:
        """Factor of the precision of all weights, (M C, M C)."""
        C, M = self.factors.shape[:2]
        L = np.zeros((M, C, M, C))
        for c, own in enumerate(self.factors):
            L[:, c, :, c] = np.tril(own)
        return L.reshape(M * C, M * C)

    @cached_property
    def inverses(self) -> Array:
        """Inverse of the factor of each class, (C, M, M)."""
        one = np.eye(self.factors.shape[1])
        return np.stack([linalg.solve_lower(L, one) for L in self.factors])

    def variances(self, Z: Array) -> Array:
        """Variance of each latent value at rows of the design, (n, C)."""
        return np.column_stack([np.sum((Z @ R.T) ** 2, axis=1) for R in self.inverses])

    def spread(self, Z: Array) -> Array:
        """Covariance of z W, (n, C, C), which is diagonal."""
        return self.variances(Z)[:, :, None] * np.eye(len(self.factors))

    def latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values at rows of the design."""
        mean = Z @ self.weights.W + self.problem.targets.shift
        return LatentMarginals.from_covariance(mean, self.spread(Z))

    def joint(self, Z: Array) -> LatentJoint:
        """Return the distribution of each latent value over all rows of the design."""
        mean = Z @ self.weights.W + self.problem.targets.shift
        return LatentJoint(mean, np.stack([(Z @ R.T) @ (Z @ R.T).T for R in self.inverses]))

    def before_rows(self) -> ClassNormals:
        """Return the prior of the weights, about zero, in place of the posterior."""
        p, W = self.problem, np.zeros(self.problem.shape)
        none = np.zeros((0, W.shape[1]))
        factors = _factorise_classes(p, np.zeros((0, len(W))), none)
        return replace(self, weights=replace(self.weights, W=W), factors=factors)

    def slope_and_curvature(self, Z: Array) -> tuple[Array, Array]:
        """Slope (N, C) and curvature (N, C, C) of all rows in z W, averaged over this normal."""
        t = self.problem.targets
        _, slope, h = t.average_over_latents(t.latents(Z @ self.weights.W), self.spread(Z))
        return slope, h

    def page_form(self) -> Form:
        """Return the column and contrast of each weight, and the factor of their precision."""
        return WeightNormal(self.problem, self.weights, self.L).page_form()

    @cached_property
    def nearest(self) -> ClassNormals:
        """The normal of this form that is nearest to the posterior.  [OA 2.10]

        By damped replacement of mean and curvature with what averages over the normal ask for.
        """
        least = variational.TOLERANCE * max(_FEW_NATS, abs(self.log_evidence))
        at, pace, settled = _ClassCandidate.from_laplace(self), 1.0, 0
        for n_iter in range(1, variational.MAX_STEPS + 1):
            trial = at.step(pace)
            gain = trial.normal.bound - at.normal.bound
            settled = settled + 1 if abs(gain) < least else 0
            at, pace = (trial, min(1.0, _FASTER * pace)) if gain > 0.0 else (at, _SLOWER * pace)
            if settled == _SETTLED:
                break
        reason, converged = (
            f"the last of {n_iter} steps gained {gain:.1g} nats",
            settled == _SETTLED,
        )
        if not converged:
            message = (
                f"the nearest normal was not found: {reason}; inference='laplace' does without"
            )
            callers.warn_caller(message, optimize.ConvergenceWarning)
        W = at.normal.weights.W
        mean = Weights(W, np.nan, at.largest_slope, n_iter, reason, converged)
        return replace(at.normal, weights=mean)


@dataclass(frozen=True)
class _ClassCandidate:
    """A normal, and what averages over it ask for."""

    normal: ClassNormals
    B: Array  # (N, C), of which its precisions are made
    slope: Array  # (M, C), of the bound in the mean
    asked: Array  # (N, C), curvature

    @classmethod
    def from_laplace(cls, laplace: ClassNormals) -> _ClassCandidate:
        p = laplace.problem
        A = p.targets.latents_at(p.design, laplace.weights.W)
        return cls._average(laplace, _diagonals(p.targets.curvature(A)))

    @classmethod
    def _average(cls, normal: ClassNormals, B: Array) -> _ClassCandidate:
        p, W = normal.problem, normal.weights.W
        t, Z = p.targets, p.design.rows(0, p.design.n_rows)
        log_p, slope, h = t.average_over_latents(t.latents(Z @ W), normal.spread(Z))
        spread = np.sum(_precisions(p) * np.sum(normal.inverses**2, axis=1).T) - W.size
        determinants = sum(linalg.log_determinant(L) for L in normal.factors)
        distance = (
            2.0 * p.quadratic(W) + spread + determinants - p.prior.log_determinant(W.shape[1])
        )
        bounded = replace(normal, bound=t.sum_over_rows(log_p) - 0.5 * distance)
        in_mean = Z.T @ slope - p.prior.multiply_precision(W)
        return cls(bounded, B, in_mean, _diagonals(h))

    @property
    def largest_slope(self) -> float:
        """Of the bound, in any mean."""
        return float(np.max(np.abs(self.slope), initial=0.0))

    def step(self, pace: float) -> _ClassCandidate:
        """Some of the way to what is asked for."""
        p, B = self.normal.problem, self.B + pace * (self.asked - self.B)
        factors = _factorise_classes(p, p.design.rows(0, p.design.n_rows), B)
        pairs = zip(factors, self.slope.T, strict=True)
        move = np.column_stack([linalg.solve_cholesky(L, g) for L, g in pairs])
        weights = replace(self.normal.weights, W=self.normal.weights.W + pace * move)
        moved = ClassNormals(p, weights, factors, self.normal.log_evidence)
        return self._average(moved, B)


def find_nearest(fit: LaplaceFit | ClassNormals) -> Any:
    """The nearest normal, of the form of Laplace's."""
    if isinstance(fit, ClassNormals):
        return fit.nearest
    return variational.find_nearest_normal(fit)


def select_of_many_classes(
    candidates: designs.CandidateColumns,
    targets: RowTargets,
    problem: SparseProblem,
    *,
    start: Chosen | None = None,
) -> tuple[Chosen, Any]:
    """The columns of largest evidence, several at a time, shared by all classes.

    Parameters
    ----------
    candidates : Candidates
        Centred where there is an offset, by the weights of the targets.
    targets : RowTargets
        Of C classes.
    problem : SparseProblem
        Passes must gain a nat, so that its tolerance has no use.
    start : Chosen, optional
        Columns and precisions to begin with. None: none.

    Returns
    -------
    chosen : Chosen
        Precisions are those of the weights of each class, for standardised columns.
    fit : ClassNormals
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    own = targets.with_separate_weights()
    places = np.zeros(0, dtype=np.intp) if start is None else start.places
    h = np.zeros(0) if start is None else start.precision
    ones = np.ones((candidates.n_rows, int(problem.offset)))
    Z = np.hstack([candidates.take_columns(places).copy_to_host(), ones])
    begun = _model_at(places, h, Z, own, problem, np.zeros((Z.shape[1], len(own.shift))))

    with linalg.limit_threads(candidates.n_rows):
        model, end = _climb(begun, candidates, problem)
    used = candidates.take_columns(model.places)
    return model.to_chosen(used.center, used.scale, end), model.fit


def _climb(
    model: SparseModel, candidates: designs.CandidateColumns, problem: SparseProblem
) -> tuple[SparseModel, Ending]:
    """Pass over all blocks until none gains a nat."""
    for n_iter in range(1, problem.max_iter + 1):
        before = model.value
        for block in candidates.blocks():
            model = first_better(model, _propose_models(model, block, problem), 0.0)
        if model.value <= before + _TOL:
            reason = (
                f"no pass raises the evidence by more than {_TOL:g}, the weights of "
                f"{model.fit.problem.shape[1]} classes taken as independent"
            )
            return model, Ending(n_iter, reason, converged=True)
    return model, passes_exhausted(problem)


def _model_at(
    places: Places, h: Array, Z: Array, targets: RowTargets, problem: SparseProblem, start: Array
) -> SparseModel:
    fit = ClassNormals.from_problem(weight_problem(h, designs.Dense(Z), targets), start)
    value = fit.log_evidence + problem.prior.log_density_of_choice(h)
    return SparseModel(places, h, fit, value)


def _propose_models(
    model: SparseModel, block: CandidateBlock, problem: SparseProblem
) -> Iterator[SparseModel]:
    """Models to go to, boldest first."""
    fit: ClassNormals = model.fit
    rows, m = _RowsAtMode.from_fit(fit), len(model.places)
    free = block.varies & ~np.isin(block.places, model.places)
    rank = np.where(free, rows.rank(block), -1.0)
    most = np.argsort(-rank, kind="stable")[:_SHORTLIST]
    within = most[rank[most] > 0.0]
    columns = block.select_columns(within)
    best, gained = blocks.best_precisions(*rows.score(columns), problem.prior)
    moved = blocks.best_precisions(*rows.score_used(m), problem.prior)[0]
    for n, part in _TRIES:
        joining = _take_unlike(columns, gained, n)
        h = moved if part == 1.0 else interpolate(model.precision, moved, part)
        kept = np.isfinite(h)
        if not len(joining) and np.array_equal(h, model.precision):
            continue
        Z, W = rows.Z, fit.weights.W
        C = W.shape[1]
        yield _model_at(
            np.append(model.places[kept], block.places[within[joining]]),
            np.append(h[kept], best[joining]),
            np.hstack([Z[:, :m][:, kept], columns[:, joining], Z[:, m:]]),
            fit.problem.targets,
            problem,
            np.vstack([W[:m][kept], np.zeros((len(joining), C)), W[m:]]),
        )


def _take_unlike(columns: Array, gained: Array, most: int) -> Places:
    """Positions of the columns that gain most and are unlike each other."""
    taken: list[int] = []
    for j in np.argsort(-gained, kind="stable"):
        if gained[j] <= _TOL or len(taken) == most:
            break
        if np.all(np.abs(columns[:, j] @ columns[:, taken]) < _ALIKE * len(columns)):
            taken.append(int(j))
    return np.array(taken, dtype=np.intp)


@dataclass(frozen=True)
class _RowsAtMode:
    """Slopes and curvatures of the rows at the mode of a fit."""

    fit: ClassNormals
    Z: Array  # (N, M), columns in use, the ones included
    d: Array  # (N, C)
    B: Array  # (N, C)
    c: Array  # (N, C), what the evidence gains where a step moves the curvature
    moved: Array  # (M, C), H^-1 Z^T c

    @classmethod
    def from_fit(cls, fit: ClassNormals) -> _RowsAtMode:
        t, design = fit.problem.targets, fit.problem.design
        Z = design.rows(0, design.n_rows)
        A = t.latents(Z @ fit.weights.W)
        c = -0.5 * t.curvature_pullback(A, fit.spread(Z))
        pairs = zip(fit.inverses, (Z.T @ c).T, strict=True)
        moved = np.column_stack([R.T @ (R @ g) for R, g in pairs])
        return cls(fit, Z, t.slope(A), _diagonals(t.curvature(A)), c, moved)

    def rank(self, block: CandidateBlock) -> Array:
        """Squared qualities by sparsities, as if no column were in use, (b,): cheap to have."""
        Q2 = np.sum(block.project(self.d) ** 2, axis=1)
        D = block.squares(np.sum(self.B, axis=1))
        return np.divide(Q2, D, out=np.zeros_like(Q2), where=block.varies & (D > 0.0))

    def score(self, columns: Array) -> tuple[Array, Array]:
        """Sparsities s and u (b, C) of columns (N, b) that are out.  [TF 2003]"""
        s, Q, C = (columns**2).T @ self.B, columns.T @ self.d, columns.T @ self.c
        for k, (R, b) in enumerate(zip(self.fit.inverses, self.B.T, strict=True)):
            G = columns.T @ (b[:, None] * self.Z)
            s[:, k] -= np.sum((G @ R.T) ** 2, axis=1)
            C[:, k] -= G @ self.moved[:, k]
        return np.maximum(s, _TINY), Q * (Q + 2.0 * C)

    def score_used(self, m: int) -> tuple[Array, Array]:
        """Sparsities s and u (m, C) of the columns that are in, each beside the others."""
        variance = np.sum(self.fit.inverses**2, axis=1).T[:m]
        h = np.asarray(self.fit.problem.prior.precision)
        W = self.fit.weights.W[:m]
        s = np.maximum(1.0 / variance - h[:, None], _TINY)
        return s, W * (W + 2.0 * self.moved[:m]) / variance**2


def _find_mode(problem: WeightProblem, start: Array) -> Weights:
    """By gradients, in coordinates in which columns are alike in all classes."""
    t, Z = problem.targets, problem.design.rows(0, problem.design.n_rows)
    passes, shape = PosteriorObjective(problem, hessian=False, surely_positive=False), start.shape
    if not start.size:
        value = -passes.value(start.reshape(-1))
        return Weights(start, value, 0.0, 0, "there are no weights", converged=True)
    B = _diagonals(t.curvature(t.latents(Z @ start)))
    own = np.mean(_precisions(problem), axis=1)
    L = linalg.cholesky(Z.T @ (np.mean(B, axis=1)[:, None] * Z) + np.diag(own), max_jitter=0.0)

    def weights(v: Array) -> Array:
        return start + linalg.solve_lower_transposed(L, v.reshape(shape))

    def loss(v: Array) -> tuple[float, Array]:
        value, g = passes.value_and_gradient(weights(v).reshape(-1))
        return value, linalg.solve_lower(L, g.reshape(shape)).reshape(-1)

    best = optimize.minimise_lbfgs(
        loss, np.zeros(start.size), max_iter=_APPROACH, tol=_NEAR, announce=False
    )
    slope = float(np.max(np.abs(best.gradient), initial=0.0))
    how = best.n_iter, best.stop_reason, best.converged
    return Weights(weights(best.x), -best.value, slope, *how)


def _factorise_classes(problem: WeightProblem, Z: Array, B: Array) -> Array:
    """L of each class, (C, M, M), where rows Z have curvatures B (N, C)."""
    own = _precisions(problem).T
    pairs = zip(B.T, own, strict=True)
    return np.stack(
        [linalg.cholesky(Z.T @ (b[:, None] * Z) + np.diag(h), max_jitter=0.0) for b, h in pairs]
    )


def _precisions(problem: WeightProblem) -> Array:
    """Prior precision of each weight, (M, C), offsets included."""
    prior, C = problem.prior, problem.shape[1]
    own = prior.precision_per_weight(C)
    if prior.offset_precision is None:
        return own
    return np.vstack([own, np.diagonal(prior.offset_precision)])


def _diagonals(h: Array) -> Array:
    """The diagonals of (n, C, C), each row's own."""
    return np.einsum("njj->nj", h)
