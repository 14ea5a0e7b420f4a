"""What vectors have to earn before they are believed, those of classes also for their names.

A column that speaks for one row is one of N that could have been chosen, and one that speaks for
n rows is one of about N / n, the others being much like it. Naming it costs the log of that number.
It keeps rare classes from being learned by heart: with a narrow kernel, a vector at each of two
events among 2,000 rows raises the evidence by seven nats apiece, wherever the events are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import designs
from posterity.arrays import Array
from posterity.inference.sparse_bayes import pair_nearest
from posterity.inference.sparse_bayes.chosen import COST
from posterity.inference.sparse_bayes.engine import Fitted
from posterity.inference.sparse_bayes.pair_fit import PairFit
from posterity.inference.sparse_bayes.pair_nearest import NearestPairs
from posterity.inference.weights import variational
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import NearestNormal

NOISE_EARNS = 1.0
"""Nats, and more, that a vector of its own earns a row, where rows share nothing."""

_BEYOND_DOUBT = 10.0  # nats, by which vectors together are better than none


def surplus(fitted: Fitted[Any], none: Fitted[Any]) -> float:
    """Nats that vectors earn beyond what their precisions cost.

    They have to earn no more than would be beyond doubt, nor than noise does.
    """
    m = fitted.n_precisions
    least = min(COST * m, max(_BEYOND_DOUBT, NOISE_EARNS * m))
    return fitted.chosen.value - none.chosen.value - least


def price_shared(fit: LaplaceFit, m: int) -> float:
    """Nats that m vectors of one latent value, or of all classes, have to earn for their names."""
    targets = fit.problem.targets
    if not targets.are_classes:
        return 0.0
    named = _beyond_noise(price_columns(fit.problem.design, targets, m))
    return float(np.sum(named)) + _excess(fit, variational.nearest(fit))


def price_pairs(fit: PairFit, m: int) -> float:
    """The same of m vectors of which each class uses its own."""
    p = fit.problem
    named = _beyond_noise(price_columns(designs.Dense(p.Z), p.targets, m))
    return float(named @ np.sum(p.used[:m], axis=1)) + _excess(fit, pair_nearest.nearest(fit))


def price_columns(design: designs.Design, targets: RowTargets, m: int) -> Array:
    """Nats for naming each of the first m columns of a design, (m,).

    A column z speaks for (sum z^2)^2 / sum z^4 rows: one for a spike, all where it is a step up
    and down by as much.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> spike, step = np.r_[1.0, np.zeros(99)], np.repeat([1.0, -1.0], 50)
    >>> targets = RowTargets.of(step > 0.0, None, likelihoods.Bernoulli(), offset=False)
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

    squares, fourths = targets.total(design, terms)
    return np.asarray(np.log(targets.total_weight * fourths / squares**2))


def _beyond_noise(prices: Array) -> Array:
    return np.maximum(prices - NOISE_EARNS, 0.0)


def _excess(
    laplace: LaplaceFit | PairFit, nearest: LaplaceFit | PairFit | NearestNormal | NearestPairs
) -> float:
    """By how much Laplace's evidence exceeds the bound that its nearest normal can prove."""
    if isinstance(nearest, NearestNormal | NearestPairs):
        return max(laplace.log_evidence - nearest.bound, 0.0)
    return 0.0
