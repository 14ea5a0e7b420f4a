"""Sparse softmax models in which all classes share their columns.

A column has one weight for each contrast of the classes, and one precision for all of them,
infinite where it is out: the classes are treated alike, and a column serves all or none of them.
Where each class is to have its own columns, see ``pairs``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import blocks
from posterity.sparse.laplace import start_model
from posterity.sparse.problem import Chosen, Places, SparseModel, SparseProblem, ascend, propose
from posterity.sparse.scores import best_places, select_standardized
from posterity.sparse.softmax_scores import AllColumns, DesignScores, SharedScores

_SHORTLIST = 30  # columns that steps may add at a time
_LOOKS = 4  # columns scored exactly, for each on the shortlist
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
    nothing = select_standardized(every, none)
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
        rank = np.where(free, scores.rank(block), -1.0)
        most = np.argsort(-rank, kind="stable")[: _LOOKS * _SHORTLIST]
        within = most[rank[most] > 0.0]
    found = np.zeros(len(free))
    found[within] = scores.gains(block, within, problem.prior)
    return found
