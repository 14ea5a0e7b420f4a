"""Sparse models by the textbook's alternation, for normal noise and for any likelihood.

Hidden precisions, then the posterior of the weights and the noise, then hidden precisions again
[P8 8.36-8.39, P9 9.40-9.43]. All columns are in memory, and in the model, at first.
"""

from __future__ import annotations

import numpy as np

from posterity import priors
from posterity.arrays import Array
from posterity.designs.candidates import Block, Candidates
from posterity.inference.sparse_bayes import fixed_point
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.fixed_point import Climb
from posterity.inference.sparse_bayes.fixed_point_laplace import LaplaceModel, LaplaceState
from posterity.inference.sparse_bayes.fixed_point_normal import NormalModel
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets


def alternate_normal(
    candidates: Candidates,
    Y: Array,
    weights: Array | None = None,
    *,
    centred: bool,
    noise_variance: Array | None = None,
    prior: priors.Sparse,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> Chosen:
    """Choose columns for K outputs Y (N, K) in normal noise, learned where it is None."""
    block = _all(candidates)
    model = NormalModel.of(
        block.host(), Y, weights, centred=centred, noise_variance=noise_variance, prior=prior
    )
    return _chosen(block, fixed_point.climb(model, tol, max_iter))


def alternate_laplace(
    candidates: Candidates,
    targets: RowTargets,
    *,
    offset: bool,
    prior: priors.Sparse,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> tuple[Chosen, LaplaceFit]:
    """Choose columns for any likelihood; the J weights of a column share its precision."""
    block = _all(candidates)
    model = LaplaceModel(block.host(), targets, offset, prior)
    end = fixed_point.climb(model, tol, max_iter)
    assert isinstance(end.state, LaplaceState)
    return _chosen(block, end), end.state.fit


def _all(candidates: Candidates) -> Block:
    """All columns at once."""
    if candidates.is_held:
        return next(candidates.blocks())
    return candidates.chosen(np.arange(candidates.n_columns))


def _chosen(block: Block, end: Climb) -> Chosen:
    used = np.flatnonzero(np.isfinite(end.state.h))
    return Chosen(
        places=block.places[used],
        precision=end.state.h[used],
        center=block.center[used],
        scale=block.scale[used],
        value=end.state.value,
        n_iter=end.n_iter,
        stop_reason=end.stop_reason,
        converged=end.converged,
    )
