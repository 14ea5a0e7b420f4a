"""How deep a tree is to be: by the log score of rows that were held out."""

from __future__ import annotations

import numpy as np

from posterity import likelihoods
from posterity.arrays import Array
from posterity.inference.logistic_tree_training import Trainer

_DRAWABLE = 1e9  # the most repetitions that NumPy draws from without replacement


def held_out(y: Array, counts: Array, fraction: float, *, rng: np.random.Generator) -> Array:
    """How often each row counts in a part drawn at random, the same share of every class.

    Where counts are whole numbers this draws from the repeated rows, so that a row may be in both
    parts; otherwise it draws rows. At least one row of each class is left.

    Examples
    --------
    >>> y, counts = np.array([0.0, 0.0, 1.0]), np.array([3.0, 1.0, 6.0])
    >>> held = held_out(y, counts, 0.5, rng=np.random.default_rng(0))
    >>> held[:2].sum(), held[2]
    (np.float64(2.0), np.float64(3.0))
    """
    whole = bool(np.all(counts == np.floor(counts))) and float(np.sum(counts)) < _DRAWABLE
    units = counts if whole else np.ones_like(counts)
    drawn = np.zeros_like(counts)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        n = int(np.sum(units[rows]))
        wanted = min(max(round(fraction * n), 1), n - 1)
        drawn[rows] = rng.multivariate_hypergeometric(units[rows].astype(np.int64), wanted)
    if not drawn.any():
        raise ValueError(
            "No row can be held out to choose the depth by: each class has one row only. "
            "Give a depth."
        )
    return drawn * (counts / units)


def scores(
    trainer: Trainer,
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
        log_p = _log_prob(trainer.likelihood, y[new], found.model.latents(Z[new]))
        means[depth] = np.average(log_p, weights=held[new])
    return means


def _log_prob(
    likelihood: likelihoods.Likelihood | likelihoods.Coupled, y: Array, A: Array
) -> Array:
    return likelihood.log_prob(y, A if isinstance(likelihood, likelihoods.Coupled) else A[:, 0])
