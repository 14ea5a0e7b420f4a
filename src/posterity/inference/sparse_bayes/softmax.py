"""Sparse softmax models in which all classes share their relevance vectors.

A column has one weight for each contrast of the classes, and one precision for all of them,
infinite where it is out: the classes are treated alike, and a column serves all or none of them.
Where each class is to have its own columns, see ``sparse_pairs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.designs.candidates import Candidates
from posterity.inference.sparse_bayes import ascent, blocks
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.scores import selected
from posterity.inference.sparse_bayes.softmax_design import AllColumns, DesignScores
from posterity.inference.sparse_bayes.softmax_scores import SharedModel, SharedScores, SharedWork
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets

_SHORTLIST = 30  # columns that steps may add at a time
_LOOKS = 4  # columns scored exactly, for each on the shortlist
_TOL = 1e-2  # nats
_MAX_ITER = 200
_MAX_STEPS = 200  # on a frozen curvature
_SMALL = 1e-3  # of what steps have gained: not worth another on the same curvature


def select_softmax(
    candidates: Candidates,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    start: Chosen | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> tuple[Chosen, LaplaceFit]:
    """The columns of largest evidence, several at a time.

    Parameters
    ----------
    candidates : Candidates
        Centred where there is an offset, by the weights of the targets.
    targets : RowTargets
        Of C classes.
    offset : bool
    prior : Sparse
    start : Chosen, optional
        Columns and precisions to begin with. None: none.
    tol : float
        Nats that a step must promise to gain.
    max_iter : int
        Passes over all candidates.

    Returns
    -------
    chosen : Chosen
        Precisions are those of the contrasts' weights, for standardised columns.
    fit : LaplaceFit
        Its design are the chosen columns, standardised, and ones where there is an offset.
    """
    places = np.zeros(0, dtype=np.intp) if start is None else start.places
    precision = np.zeros(0) if start is None else start.precision
    Z = np.hstack([candidates.chosen(places).host(), np.ones((candidates.n_rows, int(offset)))])
    begun = SharedModel.of(places, precision, designs.Dense(Z), targets, prior)
    search = _Search(prior, tol, lambda model: SharedScores(model.fit))
    with linalg.limited(candidates.n_rows):
        end = ascent.ascend(begun, candidates, search.propose, tol=tol, max_iter=max_iter)
    columns = candidates.chosen(end.model.places)
    return _chosen(end, columns.center, columns.scale), end.model.fit


def select_softmax_from_design(
    design: designs.Design,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> tuple[Chosen, LaplaceFit]:
    """The same where rows are many and columns few: one pass tells all that the columns offer.

    The columns are standardised here; the design is that of the raw ones, wherever its rows are.
    """
    columns = designs.Standardized.of(design, targets.weights, offset=offset)
    none = np.zeros(0, dtype=np.intp)
    begun = SharedModel.of(none, np.zeros(0), selected(columns, none), targets, prior)
    offered = AllColumns(np.arange(design.n_columns))
    search = _Search(prior, tol, lambda model: DesignScores.of(columns, model))
    end = ascent.ascend(begun, offered, search.propose, tol=tol, max_iter=max_iter)
    used = end.model.places
    return _chosen(end, columns.center[used], columns.scale[used]), end.model.fit


def _chosen(end: ascent.Ascent[SharedModel], center: Array, scale: Array) -> Chosen:
    model = end.model
    return Chosen(
        model.places,
        model.precision,
        center,
        scale,
        model.value,
        end.n_iter,
        end.stop_reason,
        end.converged,
    )


class _Scores(Protocol):
    """What columns offer beside those in use."""

    def quick(self, block: Any) -> Array:
        """A rank, (b,)."""

    def gains(self, block: Any, within: NDArray[np.intp], prior: priors.Sparse) -> Array:
        """What columns of a block, by their positions, would gain, (k,)."""

    def work(self, model: SharedModel, block: Any, short: NDArray[np.intp]) -> SharedWork:
        """The columns in use, and those of these positions in a block."""


@dataclass(frozen=True)
class _Search:
    prior: priors.Sparse
    tol: float
    look: Callable[[SharedModel], _Scores]

    def propose(self, model: SharedModel, block: Any, thorough: bool) -> Iterator[SharedModel]:
        """All steps, the best of them alone, and parts of it."""
        scores = self.look(model)
        gains = self._gains(model, scores, block, thorough)
        best = np.argsort(-gains, kind="stable")[:_SHORTLIST]
        work = scores.work(model, block, best[gains[best] > self.tol])
        steps = self._steps(work, _MAX_STEPS)
        if not steps.n_steps:
            return
        yield work.model(steps.h, self.prior)
        one = self._steps(work, 1)
        if steps.n_steps > 1:
            yield work.model(one.h, self.prior)
        for h in ascent.partial(work.h, one.h):
            yield work.model(h, self.prior)

    def _steps(self, work: SharedWork, max_steps: int) -> blocks.BlockSteps:
        return blocks.maximise(
            work.moments,
            work.h,
            self.prior,
            tol=self.tol,
            relative=_SMALL,
            max_steps=max_steps,
        )

    def _gains(self, model: SharedModel, scores: _Scores, block: Any, thorough: bool) -> Array:
        """What each column of a block would gain, (b,); zero where not asked."""
        free = block.varies & ~np.isin(block.places, model.places)
        within = np.flatnonzero(free)
        if not thorough:
            rank = np.where(free, scores.quick(block), -1.0)
            most = np.argsort(-rank, kind="stable")[: _LOOKS * _SHORTLIST]
            within = most[rank[most] > 0.0]
        gains = np.zeros(len(free))
        gains[within] = scores.gains(block, within, self.prior)
        return gains
