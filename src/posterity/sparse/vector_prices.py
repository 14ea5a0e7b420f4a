"""What vectors have to earn before they are believed, those of classes also for their names.

A column that speaks for one row is one of N that could have been chosen, and one that speaks for
n rows is one of about N / n, the others being much like it. Naming it costs the log of that number.
It prevents overfitting of rare classes: with a narrow kernel, a vector at each of two
events among 2,000 rows raises the evidence by seven nats apiece, wherever the events are.
"""

from __future__ import annotations

import numpy as np

from posterity import designs
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.class_normals import ClassNormals, find_nearest
from posterity.sparse.problem import COST

NOISE_EARNS = 1.0
"""Nats, and more, that a vector of its own earns a row, where rows share nothing."""

HOPELESS = 10.0
"""Nats below the best, at two widths in a row, or below no vectors: no further."""

_BEYOND_DOUBT = 10.0  # nats, by which vectors together are better than none


def surplus(gained: float, m: int) -> float:
    """Nats that m vectors, which gained so many over none, earn beyond what precisions cost.

    They have to earn no more than would be beyond doubt, nor than noise does.
    """
    return gained - min(COST * m, max(_BEYOND_DOUBT, NOISE_EARNS * m))


def is_hopeless(gained: float, m: int) -> bool:
    """Whether m vectors fall short by far of what they have to earn, so that none will be kept."""
    return surplus(gained, m) < -HOPELESS


def price_vectors(fit: LaplaceFit | ClassNormals, m: int) -> float:
    """Nats that m vectors have to earn for their names, and what Laplace's evidence exceeds.

    Where each class has vectors of its own, a name is paid for by every class that uses it. A
    vector of a likelihood other than of classes has no name to pay for.
    """
    p = fit.problem
    if not p.targets.are_classes:
        return 0.0
    named = np.maximum(price_columns(p.design, p.targets, m) - NOISE_EARNS, 0.0)
    h = np.asarray(p.prior.precision)
    uses = np.sum(np.isfinite(h), axis=1) if h.ndim == 2 else np.ones(m)
    bound = getattr(find_nearest(fit), "bound", fit.log_evidence)  # Laplace's has none
    return float(named @ uses) + max(fit.log_evidence - bound, 0.0)


def price_columns(design: designs.Design, targets: RowTargets, m: int) -> Array:
    """Nats for naming each of the first m columns of a design, (m,).

    A column z speaks for (sum z^2)^2 / sum z^4 rows: one for a spike, all where it is a step up
    and down by as much.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> spike, step = np.r_[1.0, np.zeros(99)], np.repeat([1.0, -1.0], 50)
    >>> y, bernoulli = step > 0.0, likelihoods.Bernoulli()
    >>> targets = RowTargets.from_observations(y, None, bernoulli, offset=False)
    >>> design = designs.Dense(np.column_stack([spike, step]))
    >>> np.exp(price_columns(design, targets, 2)).round(1)
    array([100.,   1.])
    """
    if not m:
        return np.zeros(0)

    def terms(part: designs.Design, t: RowTargets) -> list[Array]:
        Z2 = part.rows(0, part.n_rows)[:, :m] ** 2
        w = np.ones(len(Z2)) if t.weights is None else t.weights
        return [w @ Z2, w @ Z2**2]

    squares, fourths = targets.sum_over_parts(design, terms)
    return np.asarray(np.log(targets.total_weight * fourths / squares**2))


def price_noise(Z: Array, weights: Array | None, precision: Array) -> float:
    """Nats that noise would earn for the chosen columns Z (N, m), of unit mean square.

    A column that speaks for n of N rows was chosen among about N / n unlike ones, a number that is
    its fourth moment. The best of so many earns the log of their number in noise, and a nat.

    Examples
    --------
    >>> Z = np.column_stack([np.tile([1.0, -1.0], 8), np.r_[4.0, np.zeros(15)]])
    >>> round(np.exp(price_noise(Z, None, np.ones(2)) - 2.0), 6)
    np.float64(16.0)
    """
    w = np.ones(len(Z)) if weights is None else weights
    n_unlike = w @ Z**4 / np.sum(w)
    uses = np.isfinite(precision).T  # (m,), or (C, m) where classes have vectors of their own
    return float(np.sum(uses * (NOISE_EARNS + np.log(n_unlike))))
