"""Vectors of many classes, chosen with a normal posterior for the weights of each class.

Minus the Hessian of class c is B_c = w p_c (1 - p_c) at every row, and a column that is out has

    S_c = z^T B_c z - z^T B_c Z Sigma_c Z^T B_c z,    Q_c = z^T d_c    in each class,  [TF 2003]

and one precision for all of them. A pass adds the best columns and moves all precisions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import blocks
from posterity.sparse.class_normals import ClassNormals, take_diagonals
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
from posterity.sparse.scores import highest_ranks, rank_columns

FEWEST_CLASSES = 8
"""From which on vectors are chosen so: of fewer, a covariance between classes is affordable."""
_TOL = 1.0  # nats that a pass must gain, and a column must promise
_TRIES = ((16, 1.0), (4, 1.0), (4, 0.5), (1, 0.25), (4, 0.0))
"""How many columns join, and how far the precisions of the others move, boldest first."""
_SHORTLIST = 120  # columns that are scored exactly, by their rank
_ALIKE = 0.5  # correlation of columns that do not join together
_TINY = 1e-12


def select_of_many_classes(
    candidates: designs.CandidateColumns,
    targets: RowTargets,
    problem: SparseProblem,
    *,
    start: Chosen | None = None,
) -> tuple[Chosen, ClassNormals]:
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
    rank = rank_columns(block, rows.d, np.sum(rows.B, axis=1))
    within = highest_ranks(rank, free, _SHORTLIST)
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
        return cls(fit, Z, t.slope(A), take_diagonals(t.curvature(A)), c, moved)

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
