"""Sparse softmax models in which each class has columns of its own.

The weight of a column in the latent function of a class, a pair, has its own precision, infinite
where the pair is out. With the curvature of the rows frozen at the mode, pairs are columns of one
problem of N C rows, and the sequential steps of any sparse model choose among them. Every choice is
then judged by Laplace's evidence itself.

The prior holds what the softmax of the latent values leaves free (erratum of [P9 9.61]); the C
offsets are independent, each with one row's worth of information, which gives their differences the
same prior as weights of contrasts have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock, CandidateColumns
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.laplace import plan_steps, start_model
from posterity.sparse.problem import Chosen, SparseModel, SparseProblem, ascend
from posterity.sparse.scores import Scorer, best_places, gains

_SHORTLIST = 40  # pairs that steps may add at a time
_LOOKS = 4  # pairs scored exactly, for each on the shortlist


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
        short = best_places(offered, _SHORTLIST, problem.tol)
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
    n = min(_LOOKS * _SHORTLIST, rank.size)
    least = np.partition(rank, rank.size - n, axis=None)[rank.size - n]
    return (rank >= least) & (rank > 0.0)
