"""The depth of a tree, chosen by the log score of rows that were held out."""

from __future__ import annotations

import numpy as np

from posterity.arrays import Array
from posterity.local.gated_tree.training import TreeTrainer


def score_depths(
    trainer: TreeTrainer,
    Z: Array,
    y: Array,
    counts: Array,
    held: Array,
    *,
    max_depth: int,
    rng: np.random.Generator,
) -> Array:
    """Mean log score of each depth from 0 to the largest, on what is held out of the counts."""
    rest = counts - held
    kept, new = np.flatnonzero(rest), np.flatnonzero(held)
    means = np.empty(max_depth + 1)
    for depth in range(max_depth + 1):
        found = trainer.fit(Z[kept], y[kept], rest[kept], depth=depth, rng=rng)
        a = trainer.likelihood.shape_latents(found.model.latents(Z[new]))
        log_p = trainer.likelihood.log_prob(y[new], a)
        means[depth] = np.average(log_p, weights=held[new])
    return means
