"""Sparse softmax models in which each class has relevance vectors of its own.

The weight of a column in the latent function of a class, a pair, has its own precision, infinite
where the pair is out. With the curvature of the rows frozen at the mode, pairs are columns of one
problem of N C rows, and the sequential steps of any sparse model choose among them. Every choice is
then judged by Laplace's evidence itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.designs.candidates import Block, Candidates
from posterity.inference.sparse_bayes import ascent, sequential
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.pair_fit import PairFit, PairProblem
from posterity.inference.sparse_bayes.pair_scores import PairModel, PairScores, PairWork
from posterity.inference.sparse_bayes.sequential import CURVED
from posterity.inference.weights.targets import RowTargets

_SHORTLIST = 40  # pairs that steps may add at a time
_LOOKS = 4  # pairs scored exactly, for each on the shortlist
_TOL = 1e-2  # nats
_MAX_ITER = 200


def select_pairs(
    candidates: Candidates,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    start: Chosen | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> tuple[Chosen, PairFit]:
    """The pairs of a column and a class of largest evidence, one after the other.

    Parameters
    ----------
    candidates : Candidates
        Centred where there is an offset, by the weights of the targets.
    targets : RowTargets
        Of C classes.
    offset : bool
    prior : Sparse
    start : Chosen, optional
        Columns and precisions (m, C) to begin with. None: none.
    tol : float
        Nats that a step must promise to gain.
    max_iter : int
        Passes over all candidates.

    Returns
    -------
    chosen : Chosen
        Of the columns that any class uses; precisions are (m, C), infinite where a class does not.
    fit : PairFit
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    begun = _begun(candidates, targets, offset, prior, start)
    search = _Search(prior, tol)
    with linalg.limited(candidates.n_rows):
        end = ascent.ascend(begun, candidates, search.propose, tol=tol, max_iter=max_iter)
    places, fit = end.model.places, end.model.fit
    columns = candidates.chosen(places)
    m, p = len(places), fit.problem
    h = np.where(p.used[:m], p.precision[:m], np.inf)
    chosen = Chosen(
        places,
        h,
        columns.center,
        columns.scale,
        end.model.value,
        end.n_iter,
        end.stop_reason,
        end.converged,
    )
    return chosen, fit


def _begun(
    candidates: Candidates,
    targets: RowTargets,
    offset: bool,
    prior: priors.Sparse,
    start: Chosen | None,
) -> PairModel:
    """The model of the pairs to begin with, and of the offsets."""
    C, n = len(targets.shift), int(offset)
    places = np.zeros(0, dtype=np.intp) if start is None else start.places
    h = np.zeros((0, C)) if start is None else start.precision
    precision = np.vstack([h, np.ones((n, C)) / targets.offset_variance])
    Z = np.hstack([candidates.chosen(places).host(), np.ones((candidates.n_rows, n))])
    problem = PairProblem(Z, np.isfinite(precision), precision, targets)
    return PairModel.of(places, problem, prior)


@dataclass(frozen=True)
class _Search:
    prior: priors.Sparse
    tol: float

    def propose(self, model: PairModel, block: Block, thorough: bool) -> Iterator[PairModel]:
        """All steps, the best of them alone, and parts of it."""
        scores = PairScores(model.fit)
        gains = self._gains(model, scores, block, thorough)
        best = np.argsort(-gains, axis=None, kind="stable")[:_SHORTLIST]
        short = best[gains.reshape(-1)[best] > self.tol]
        work = PairWork.of(model, scores, block, *np.unravel_index(short, gains.shape))
        steps = sequential.maximise(work.moments, work.h, self.prior, tol=self.tol)
        if not steps.n_steps:
            return
        yield work.model(steps.h, self.prior)
        one = sequential.maximise(work.moments, work.h, self.prior, tol=self.tol, max_steps=1)
        if steps.n_steps > 1:
            yield work.model(one.h, self.prior)
        for h in ascent.partial(work.h, one.h):
            yield work.model(h, self.prior)

    def _gains(self, model: PairModel, scores: PairScores, block: Block, thorough: bool) -> Array:
        """What each column of a block would gain in each class, (b, C); zero where not asked."""
        free = _free(model, block)
        looked = free if thorough else _most_promising(scores.quick(block) * free)
        gains = np.zeros(looked.shape)
        m = int(np.sum(model.fit.problem.used[: len(model.places)]))
        for k in range(looked.shape[1]):
            rows = np.flatnonzero(looked[:, k])
            if len(rows):
                part = block if thorough else _part(block, rows)
                S, Q = scores.exact(part, k)
                found = sequential.gains(CURVED, S, Q, np.ones(2), 1.0, self.prior, m)
                gains[rows, k] = found[rows] if thorough else found
        return gains


def _free(model: PairModel, block: Block) -> NDArray[np.bool_]:
    """Which pairs of a block are not in use, (b, C)."""
    used = model.fit.problem.used
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


def _part(block: Block, rows: NDArray[np.intp]) -> Block:
    """Some columns of a block."""
    return Block(
        block.places[rows],
        block.part(rows),
        block.center[rows],
        block.scale[rows],
        block.varies[rows],
    )
