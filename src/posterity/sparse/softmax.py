"""Sparse softmax models: classes share their columns, or each has columns of its own.

A shared column has one weight for each contrast of the classes, and one precision for all of them,
infinite where it is out: the classes are treated alike, and a column serves all or none of them.

Else the weight of a column in the latent function of a class, a pair, has its own precision,
infinite where the pair is out. With the curvature of the rows frozen at the mode, pairs are columns
of one problem of N C rows, and the sequential steps of any sparse model choose among them. Every
choice is then judged by Laplace's evidence itself. The prior holds what the softmax of the latent
values leaves free (erratum of [P9 9.61]); the C offsets are independent, each with one row's worth
of information, which gives their differences the same prior as weights of contrasts have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock, CandidateColumns
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import blocks
from posterity.sparse.laplace import plan_steps, start_model
from posterity.sparse.problem import Chosen, Places, SparseModel, SparseProblem, ascend, propose
from posterity.sparse.scores import (
    Scorer,
    best_places,
    gains,
    highest_ranks,
)
from posterity.sparse.softmax_scores import AllColumns, DesignScores, SharedScores

_SHORTLIST = 30  # columns that steps may add at a time
_PAIRS = 40  # of a column and a class, likewise
_LOOKS = 4  # of either, scored exactly, for each on the shortlist
_SMALL = 1e-3  # of what steps have gained: not worth another on the same curvature


def select_softmax(
    columns: designs.CandidateColumns | designs.Design,
    targets: RowTargets,
    problem: SparseProblem,
    *,
    start: Chosen | None = None,
) -> tuple[Chosen, LaplaceFit]:
    """The columns of largest evidence, several at a time.

    Parameters
    ----------
    columns : designs.Candidates or designs.Design
        Candidates are standardised, by the weights of the targets. The columns of a design are
        standardised here, and one pass over its rows, wherever they are, tells all that they offer.
    targets : RowTargets
        Of C classes.
    problem : SparseProblem
    start : Chosen, optional
        Columns and precisions to begin with, among candidates. None: none.

    Returns
    -------
    chosen : Chosen
        Precisions are those of the contrasts' weights, for standardised columns.
    fit : LaplaceFit
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    if isinstance(columns, designs.CandidateColumns):
        model = start_model(columns, targets, problem, start)

        def look(model: SparseModel, block: Any, thorough: bool) -> Iterator[SparseModel]:
            return _proposals(model, SharedScores(model.fit), block, problem, thorough)

        with linalg.limit_threads(columns.n_rows):
            model, end = ascend(model, columns, look, problem)
        used = columns.take_columns(model.places)
        return model.to_chosen(used.center, used.scale, end), model.fit
    every = designs.Standardized.from_design(columns, targets.weights, offset=problem.offset)
    none: Places = np.zeros(0, dtype=np.intp)
    nothing = every.select_columns(every.ones)
    model = SparseModel.from_columns(none, np.zeros(0), nothing, targets, problem.prior)

    def look_at_rows(model: SparseModel, block: Any, thorough: bool) -> Iterator[SparseModel]:
        return _proposals(model, DesignScores.from_pass(every, model), block, problem, thorough)

    model, end = ascend(model, AllColumns(np.arange(columns.n_columns)), look_at_rows, problem)
    chosen = model.to_chosen(every.center[model.places], every.scale[model.places], end)
    return chosen, model.fit


def _proposals(
    model: SparseModel,
    scores: SharedScores | DesignScores,
    block: Any,
    problem: SparseProblem,
    thorough: bool,
) -> Iterator[SparseModel]:
    """Models to go to, boldest first."""
    offered = _column_gains(model, scores, block, problem, thorough)
    work = scores.shortlist(model, block, best_places(offered, _SHORTLIST, problem.tol))

    def maximise(max_steps: int | None) -> blocks.BlockSteps:
        return blocks.maximise_block_evidence(
            work.moments,
            work.h,
            problem.prior,
            tol=problem.tol,
            relative=_SMALL,
            max_steps=max_steps,
        )

    return (work.model_at(h, problem) for h in propose(work.h, maximise))


def _column_gains(
    model: SparseModel,
    scores: SharedScores | DesignScores,
    block: Any,
    problem: SparseProblem,
    thorough: bool,
) -> Array:
    """What each column of a block would gain, (b,); zero where not asked."""
    free = block.varies & ~np.isin(block.places, model.places)
    within = np.flatnonzero(free)
    if not thorough:
        within = highest_ranks(scores.rank(block), free, _LOOKS * _SHORTLIST)
    found = np.zeros(len(free))
    found[within] = scores.gains(block, within, problem.prior)
    return found


def select_pairs(
    candidates: CandidateColumns,
    targets: RowTargets,
    problem: SparseProblem,
    *,
    start: Chosen | None = None,
) -> tuple[Chosen, LaplaceFit]:
    """The pairs of a column and a class of largest evidence, one after the other.

    Parameters
    ----------
    candidates : Candidates
        Centred where there is an offset, by the weights of the targets.
    targets : RowTargets
        Of C classes.
    problem : SparseProblem
    start : Chosen, optional
        Columns and precisions (m, C) to begin with. None: none.

    Returns
    -------
    chosen : Chosen
        Of the columns that any class uses; precisions are (m, C), infinite where a class does not.
    fit : LaplaceFit
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    own, C = targets.with_separate_weights(), len(targets.shift)
    begun = start_model(candidates, own, problem, start, own_columns=C)

    def proposals(
        model: SparseModel, block: CandidateBlock, thorough: bool
    ) -> Iterator[SparseModel]:
        scorer = Scorer.from_fit(model.fit)
        offered = _pair_gains(model, scorer, block, problem, thorough)
        short = best_places(offered, _PAIRS, problem.tol)
        work = scorer.shortlist(model, block, *np.unravel_index(short, offered.shape))
        return (work.model_at(h, problem) for h in plan_steps(work, problem))

    with linalg.limit_threads(candidates.n_rows):
        model, end = ascend(begun, candidates, proposals, problem)
    columns = candidates.take_columns(model.places)
    return model.to_chosen(columns.center, columns.scale, end), model.fit


def _pair_gains(
    model: SparseModel,
    scorer: Scorer,
    block: CandidateBlock,
    problem: SparseProblem,
    thorough: bool,
) -> Array:
    """What each column of a block would gain in each class, (b, C); zero where not asked."""
    free = _unused_pairs(model, block)
    looked = free if thorough else _most_promising(scorer.rank(block) * free)
    found = np.zeros(looked.shape)
    for k in range(looked.shape[1]):
        rows = np.flatnonzero(looked[:, k])
        if len(rows):
            S, Q = scorer.scores(block if thorough else block.select(rows), k)
            gained = gains(S, Q, problem.prior, model.n_precisions)
            found[rows, k] = gained[rows] if thorough else gained
    return found


def _unused_pairs(model: SparseModel, block: CandidateBlock) -> NDArray[np.bool_]:
    """Which pairs of a block are not in use, (b, C)."""
    used = np.isfinite(model.precision)
    free = np.ones((len(block.places), used.shape[1]), dtype=np.bool_)
    row = {int(place): i for i, place in enumerate(block.places)}
    for i, place in enumerate(model.places):
        if int(place) in row:
            free[row[int(place)]] = ~used[i]
    return free


def _most_promising(rank: Array) -> NDArray[np.bool_]:
    """The pairs, (b, C), of the highest ranks."""
    n = min(_LOOKS * _PAIRS, rank.size)
    least = np.partition(rank, rank.size - n, axis=None)[rank.size - n]
    return (rank >= least) & (rank > 0.0)
