"""Measures of calibration: coverage, interval width and the probability integral transform."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from posterity import distributions
from posterity.arrays import Array
from posterity.scoring import scores

_LEVELS = np.linspace(0.05, 0.95, 19)


def interval_coverage(
    dist: distributions.Distribution,
    y: ArrayLike,
    coverage: float = 0.9,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of outcomes inside the central interval, ideally ``coverage``.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> scoring.interval_coverage(distributions.Normal([0.0, 0.0], 1.0), [0.3, 9.0], 0.95)
    0.5
    """
    rows = scores.marginals_of(dist)
    low, high = rows.interval(coverage)
    happened = scores.check_outcomes(rows.shape, y)
    return scores.weighted_mean((low <= happened) & (happened <= high), sample_weight)


def interval_width(dist: distributions.Distribution, coverage: float = 0.9) -> float:
    """Return the mean width of the central interval; at equal coverage, narrower is better.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> round(scoring.interval_width(distributions.Normal([0.0, 5.0], 1.0), 0.95), 2)
    3.92
    """
    low, high = scores.marginals_of(dist).interval(coverage)
    return float(np.mean(high - low))


def pit(
    dist: distributions.Distribution, y: ArrayLike, *, rng: np.random.Generator | None = None
) -> Array:
    """Probability integral transform: P(Y <= y), uniform on [0, 1] for calibrated predictions.

    Parameters
    ----------
    dist : Distribution
        Predictions; the marginals of a joint prediction.
    y : array-like
        Outcomes.
    rng : numpy Generator
        Needed for classes, whose transform is randomised within the step of the cdf.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> scoring.pit(distributions.Normal([0.0, 0.0], 1.0), [0.0, 9.0]).round(3)
    array([0.5, 1. ])
    """
    rows = scores.marginals_of(dist)
    happened = scores.check_outcomes(rows.shape, y)
    if not isinstance(rows, distributions.Discrete):
        return rows.cdf(happened)
    if rng is None:
        raise ValueError("The transform of classes is randomised; pass a numpy Generator as rng.")
    return rows.cdf(happened - 1.0) + rng.random(rows.shape) * rows.pmf(happened)


def calibration_curve(
    dist: distributions.Distribution,
    y: ArrayLike,
    levels: ArrayLike = _LEVELS,
    *,
    rng: np.random.Generator | None = None,
) -> tuple[Array, Array]:
    """Return levels and the share of outcomes below each quantile, equal if calibrated.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> predictions = distributions.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> scoring.calibration_curve(predictions, [-2.0, -0.1, 0.1, 2.0], [0.25, 0.5])
    (array([0.25, 0.5 ]), array([0.25, 0.5 ]))
    """
    at = np.asarray(levels, dtype=np.float64)
    u = np.sort(pit(dist, y, rng=rng), axis=None)
    return at, np.searchsorted(u, at, side="right") / u.size


def calibration_error(
    dist: distributions.Distribution,
    y: ArrayLike,
    levels: ArrayLike = _LEVELS,
    *,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the mean distance of the calibration curve from the diagonal; lower is better.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> predictions = distributions.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> scoring.calibration_error(predictions, [-2.0, -0.1, 0.1, 0.2], [0.25, 0.75])
    0.125
    """
    at, observed = calibration_curve(dist, y, levels, rng=rng)
    return float(np.mean(np.abs(observed - at)))


def ks_distance(
    dist: distributions.Distribution, y: ArrayLike, *, rng: np.random.Generator | None = None
) -> float:
    """Kolmogorov-Smirnov distance: the largest distance of the calibration curve from the diagonal.

    For calibrated predictions of n outcomes it exceeds 1.36 / sqrt(n) with probability 0.05.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> scoring.ks_distance(distributions.Normal([0.0, 0.0], 1.0), [0.0, 0.0])
    0.5
    """
    return distance_from_uniform(pit(dist, y, rng=rng))


def distance_from_uniform(transformed: Array) -> float:
    """Kolmogorov-Smirnov distance of transformed outcomes from the uniform distribution.

    Examples
    --------
    >>> import numpy as np
    >>> distance_from_uniform(np.array([0.2, 0.9]))
    0.4
    """
    u = np.sort(transformed, axis=None)
    steps = np.arange(u.size + 1) / u.size
    return float(max(np.max(u - steps[:-1]), np.max(steps[1:] - u)))


@dataclass(frozen=True, eq=False)
class ProbabilityBins:
    """Mean predicted probability, and observed frequency of the event, in B bins of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.scoring.calibration import ProbabilityBins
    >>> p, happened = np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])
    >>> bins = ProbabilityBins.from_rows(p, happened, n_bins=2)
    >>> bins.predicted.round(2), bins.observed, round(bins.error, 3)
    (array([0.15, 0.8 ]), array([0., 1.]), 0.175)
    """

    predicted: Array  # (B,)
    observed: Array  # (B,)
    counts: Array  # (B,), rows

    @classmethod
    def from_rows(cls, probability: Array, happened: ArrayLike, n_bins: int) -> Self:
        """Group rows by probability into bins of about equal size; equal ones share a bin."""
        share_before = (stats.rankdata(probability) - 0.5) / len(probability)
        _, bins = np.unique((n_bins * share_before).astype(np.intp), return_inverse=True)
        counts = np.bincount(bins).astype(np.float64)
        predicted, observed = (
            np.bincount(bins, np.asarray(values, dtype=np.float64)) / counts
            for values in (probability, happened)
        )
        return cls(predicted, observed, counts)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of frequency and probability over rows."""
        return float(np.average(np.abs(self.observed - self.predicted), weights=self.counts))
