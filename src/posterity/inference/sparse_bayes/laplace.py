"""Sparse models of any likelihood of one latent value, by Laplace's approximation.

Columns come from candidates, a block at a time, or from a design whose rows are read a block at a
time. Either way the objective, Laplace's evidence and the prior of the precisions, never falls; at
the end no column that is out promises to raise it, and it is level in the precisions of those in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from posterity import designs, likelihoods, linalg, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.climb import (
    Kept,
    improved,
    least_precision,
    polished,
    steepness,
)
from posterity.inference.sparse_bayes.scores import (
    Offer,
    Places,
    Scorer,
    selected,
    working_design,
)
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets

_TOL = 1e-2  # nats
_MAX_ITER = 200
_STEEP = 1e-2  # slope in a log precision at an end that is none


def select_laplace(
    candidates: designs.Candidates,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    start: Chosen | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
    likelihood_bounds: Array | None = None,
) -> tuple[Chosen, LaplaceFit]:
    """The columns of largest evidence, one after the other.  [P9 9.6, TF 2003]

    Parameters
    ----------
    candidates : designs.Candidates
        Centred where there is an offset, by the weights of the targets.
    targets : RowTargets
        Of one latent value.
    offset : bool
    prior : Sparse
    start : Chosen, optional
        Columns and precisions to begin with. None: none.
    tol : float
        Nats that a step must promise to gain.
    max_iter : int
        Passes over all candidates.
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
    places, precision = _start(start, targets)
    block = candidates.chosen(places)
    ones = np.ones((candidates.n_rows, int(offset)))
    design = designs.Dense(np.hstack([block.host(), ones]))
    kept = Kept.of(places, precision, design, targets, prior)
    source = _FromCandidates(candidates, Offer(prior, tol))
    with linalg.limited(candidates.n_rows):
        end = _climb(source, kept, max_iter, _bounds(targets, likelihood_bounds))
    used = candidates.chosen(end.kept.places)
    return end.chosen(used.center, used.scale), end.kept.fit


def select_laplace_from_design(
    design: designs.Design,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    start: Chosen | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
    likelihood_bounds: Array | None = None,
) -> tuple[Chosen, LaplaceFit]:
    """The same where rows are many and columns few: one pass tells all that the columns offer.

    The columns are standardised here; the design is that of the raw ones, wherever its rows are.
    """
    columns = designs.Standardized.of(design, targets.weights, offset=offset)
    places, precision = _start(start, targets)
    kept = Kept.of(places, precision, selected(columns, places), targets, prior)
    source = _FromDesign(columns, Offer(prior, tol))
    end = _climb(source, kept, max_iter, _bounds(targets, likelihood_bounds))
    used = end.kept.places
    return end.chosen(columns.center[used], columns.scale[used]), end.kept.fit


def learn(
    candidates: designs.Candidates,
    y: Array,
    weights: Array | None,
    likelihood: likelihoods.Likelihood,
    *,
    offset: bool,
    prior: priors.Sparse,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> tuple[Chosen, LaplaceFit]:
    """Columns and whatever is None in the likelihood, which the fit's targets then hold."""
    started, bounds = likelihood.tuned(y, np.ones(len(y)) if weights is None else weights)
    return select_laplace(
        candidates,
        RowTargets.of(y, weights, started, offset=offset),
        offset=offset,
        prior=prior,
        tol=tol,
        max_iter=max_iter,
        likelihood_bounds=bounds,
    )


class _Source(Protocol):
    """Where columns come from."""

    @property
    def offer(self) -> Offer:
        """What is worth a step."""

    def improved(self, kept: Kept) -> Kept:
        """After one look at every column."""


@dataclass(frozen=True)
class _FromCandidates:
    candidates: designs.Candidates
    offer: Offer

    def improved(self, kept: Kept) -> Kept:
        best = kept
        for block in self.candidates.blocks():
            working = Scorer.of(best.fit).working(block, best.places, self.offer)
            best = improved(best, working, self.offer)
        return best


@dataclass(frozen=True)
class _FromDesign:
    design: designs.Standardized
    offer: Offer

    def improved(self, kept: Kept) -> Kept:
        working = working_design(self.design, kept.fit, kept.places, self.offer)
        return improved(kept, working, self.offer)


@dataclass(frozen=True)
class _End:
    """Where a climb ended, and why."""

    kept: Kept
    n_iter: int
    stop_reason: str
    converged: bool

    def chosen(self, center: Array, scale: Array) -> Chosen:
        k = self.kept
        return Chosen(
            k.places,
            k.precision,
            center,
            scale,
            k.value,
            self.n_iter,
            self.stop_reason,
            self.converged,
        )


def _climb(source: _Source, start: Kept, max_iter: int, bounds: Array) -> _End:
    """Look at all columns as long as that gains; then polish, and begin again where that does."""
    kept, prior, tol = start, source.offer.prior, source.offer.tol

    def roughly(kept: Kept) -> Kept:
        return polished(kept, prior, bounds, least_gain=tol)

    def exactly(kept: Kept) -> Kept:
        return polished(kept, prior, bounds)

    for n_iter in range(1, max_iter + 1):
        for better in (source.improved, roughly, exactly):
            before = kept.value
            kept = better(kept)
            if kept.value > before + tol:
                break
        else:
            if steepness(kept, prior) <= _STEEP:
                reason = f"no step raises the evidence by more than {tol:g}"
                return _End(kept, n_iter, reason, converged=True)
            reason = "no step raises the evidence, but it is not level in the precisions"
            return _End(kept, n_iter, reason, converged=False)
    reason = f"the limit of {max_iter} on passes over the columns was not enough"
    return _End(exactly(kept), max_iter, reason, converged=False)


def _bounds(targets: RowTargets, given: Array | None) -> Array:
    return np.zeros((len(targets.likelihood.names), 2)) if given is None else given


def _start(start: Chosen | None, targets: RowTargets) -> tuple[Places, Array]:
    if start is None:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    return start.places, np.maximum(start.precision, least_precision(targets))
