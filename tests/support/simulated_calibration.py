"""Simulation-based calibration: at the true model, ranks of new targets are uniform.

A test draws a truth from the prior, rows and one new target from the truth, fits, and asks which
probability the prediction gives to values below the new target. Over many truths these ranks are
uniform if the posterior is right, that of learned parameters included.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

BINS = np.array([0.0, 0.05, 0.275, 0.5, 0.725, 0.95, 1.0])  # the outer two are out of 90 %


def rank_new_targets(
    fit: Callable[[Any, Any], Any],
    simulate: Callable[[np.random.Generator], tuple[Any, Any, Any, Any]],
    n_truths: int,
    seed: int = 0,
) -> np.ndarray:
    """Predicted probability of a value below the new target, for each truth.

    ``simulate(rng)`` gives X, y, one new row (1, D) and its target; ``fit(X, y)`` a model with
    ``predict_dist``. Counts, whose probabilities have steps, are ranked at random within a step.
    """
    generators = [np.random.default_rng([seed, k]) for k in range(n_truths)]
    return np.array([_rank_one(fit, simulate(rng), rng.random()) for rng in generators])


def _rank_one(fit: Callable, drawn: tuple[Any, Any, Any, Any], share: float) -> float:
    X, y, row, target = drawn
    predicted = fit(X, y).predict_dist(row)
    below, at = predicted.cdf(np.nextafter(target, -np.inf)), predicted.cdf(target)
    return float(np.squeeze(below + share * (at - below)))


def probability_of_uniform(ranks: np.ndarray) -> float:
    """P-value of Pearson's chi-square over ``BINS``: assert that it is above 0.001, say."""
    observed, _ = np.histogram(ranks, BINS)
    return float(scipy.stats.chisquare(observed, np.diff(BINS) * len(ranks)).pvalue)


def coverage(ranks: np.ndarray, level: float = 0.9) -> float:
    """Share of targets within the central interval of this probability."""
    return float(np.mean(np.abs(ranks - 0.5) <= 0.5 * level))
