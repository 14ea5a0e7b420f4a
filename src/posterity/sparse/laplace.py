"""Sparse models of any likelihood of one latent value, by Laplace's approximation.

Columns come from candidates, a block at a time, or from a design whose rows are read a block at a
time. Either way the objective, Laplace's evidence and the prior of the precisions, never falls; at
the end no column that is out promises to raise it, and it is level in the precisions of those in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import sequential
from posterity.sparse.precisions import largest_slope, least_precision, polish_precisions
from posterity.sparse.problem import (
    LEAST_GAIN,
    Chosen,
    Ending,
    Places,
    SparseModel,
    SparseProblem,
    passes_exhausted,
    propose,
)
from posterity.sparse.scores import (
    Scorer,
    ShortList,
    Used,
    best_places,
    gains,
    shortlist_design,
)

_SHORTLIST = 20  # columns that steps may add at a time
_TRIES = 2  # columns whose steps may fail
_STEEP = 1e-2  # slope in a log precision at an end that is none


def select_laplace(
    columns: designs.CandidateColumns | designs.Design,
    targets: RowTargets,
    problem: SparseProblem,
    *,
    start: Chosen | None = None,
    likelihood_bounds: Array | None = None,
) -> tuple[Chosen, LaplaceFit]:
    """The columns of largest evidence, one after the other.  [P9 9.6, TF 2003]

    Parameters
    ----------
    columns : designs.Candidates or designs.Design
        Candidates are standardised, by the weights of the targets. The columns of a design are
        standardised here, and one pass over its rows, wherever they are, tells all that they offer.
    targets : RowTargets
        Of one latent value.
    problem : SparseProblem
    start : Chosen, optional
        Columns and precisions to begin with. None: none.
    likelihood_bounds : array (P, 2), optional
        Log bounds of the parameters of the likelihood that are learned, too; equal where one is
        held. None: all are.

    Returns
    -------
    chosen : Chosen
        Precisions are those of the latent value for standardised columns.
    fit : LaplaceFit
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    bounds = np.zeros((len(targets.likelihood.names), 2))
    if likelihood_bounds is not None:
        bounds = likelihood_bounds
    if isinstance(columns, designs.CandidateColumns):
        model = start_model(columns, targets, problem, start)
        look = _look_at_candidates(columns, problem)
        with linalg.limit_threads(columns.n_rows):
            model, end = _climb(look, model, problem, bounds)
        used = columns.take_columns(model.places)
        return model.to_chosen(used.center, used.scale, end), model.fit
    every = designs.Standardized.from_design(columns, targets.weights, offset=problem.offset)
    places, h = _start(start, targets)
    design = every.select_columns(np.append(places, every.ones))
    model = SparseModel.from_columns(places, h, design, targets, problem.prior)

    def look_at_design(model: SparseModel) -> SparseModel:
        return _improve(model, shortlist_design(every, model, problem, _SHORTLIST), problem)

    model, end = _climb(look_at_design, model, problem, bounds)
    chosen = model.to_chosen(every.center[model.places], every.scale[model.places], end)
    return chosen, model.fit


def start_model(
    candidates: designs.CandidateColumns,
    targets: RowTargets,
    problem: SparseProblem,
    start: Chosen | None,
    own_columns: int = 0,
) -> SparseModel:
    """The model of columns to begin with, and of the offset; of own columns of so many classes."""
    places, h = _start(start, targets)
    if start is None and own_columns:
        h = np.zeros((0, own_columns))
    ones = np.ones((candidates.n_rows, int(problem.offset)))
    design = designs.Dense(np.hstack([candidates.take_columns(places).copy_to_host(), ones]))
    return SparseModel.from_columns(places, h, design, targets, problem.prior)


def _start(start: Chosen | None, targets: RowTargets) -> tuple[Places, Array]:
    if start is None:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    return start.places, np.maximum(start.precision, least_precision(targets))


def _look_at_candidates(
    candidates: designs.CandidateColumns, problem: SparseProblem
) -> Callable[[SparseModel], SparseModel]:
    """One look at every column."""

    def look(model: SparseModel) -> SparseModel:
        for block in candidates.blocks():
            scorer, m = Scorer.from_fit(model.fit), len(model.places)
            S, Q = scorer.scores(block)
            S[np.isin(block.places, model.places)] = 0.0
            short = best_places(gains(S, Q, problem.prior, m), _SHORTLIST, problem.tol)
            work = scorer.shortlist(model, block, short, np.zeros_like(short))
            model = _improve(model, work, problem)
        return model

    return look


def _improve(model: SparseModel, work: ShortList, problem: SparseProblem) -> SparseModel:
    """The first plan that raises the objective, from the boldest to the most careful.

    A column whose best step does not, however short, is then left as it is.
    """
    held, least = work.moments.fixed.copy(), least_precision(model.fit.problem.targets)
    for _ in range(_TRIES):
        plan = work.h
        for plan in plan_steps(work, problem, held):
            new = work.model_at(plan, problem, least)
            if new.value > model.value + LEAST_GAIN * problem.tol:
                return new
        if plan is work.h:
            break
        held |= plan != work.h
    return model


def plan_steps(
    work: ShortList, problem: SparseProblem, held: Used | None = None
) -> Iterator[Array]:
    """Precisions to go to, boldest first; those that are held stay."""
    moments = work.moments if held is None else replace(work.moments, fixed=held.copy())

    def maximise(max_steps: int | None) -> sequential.SequentialSteps:
        return sequential.maximise_evidence(
            moments, work.h, problem.prior, tol=problem.tol, max_steps=max_steps
        )

    return propose(work.h, maximise)


def _climb(
    look: Callable[[SparseModel], SparseModel],
    model: SparseModel,
    problem: SparseProblem,
    bounds: Array,
) -> tuple[SparseModel, Ending]:
    """Look at all columns as long as that gains; then polish, and begin again where that does."""
    prior, tol = problem.prior, problem.tol

    polish = partial(polish_precisions, prior=prior, bounds=bounds, least_gain=tol)
    polish_exactly = partial(polish_precisions, prior=prior, bounds=bounds)
    for n_iter in range(1, problem.max_iter + 1):
        for better in (look, polish, polish_exactly):
            before = model.value
            model = better(model)
            if model.value > before + tol:
                break
        else:
            if largest_slope(model, prior) <= _STEEP:
                reason = f"no step raises the evidence by more than {tol:g}"
                return model, Ending(n_iter, reason, converged=True)
            reason = "no step raises the evidence, but it is not level in the precisions"
            return model, Ending(n_iter, reason, converged=False)
    return polish_exactly(model), passes_exhausted(problem)
