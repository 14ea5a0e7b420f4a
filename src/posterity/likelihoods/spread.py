"""How widely observations scatter, where the search for a likelihood's parameters begins."""

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.likelihoods import exposed_counts

_EPS = float(np.finfo(np.float64).eps)
_MAD_OF_NORMAL = 0.6744897501960817  # the upper quartile of a standard normal


def scale(y: Array, weights: Array) -> float:
    """Standard deviation of y; the size of y, or else 1, where all are equal."""
    centre = float(np.average(y, weights=weights))
    return _fall_back_on_size(float(np.sqrt(np.average((y - centre) ** 2, weights=weights))), y)


def robust_scale(y: Array, weights: Array) -> float:
    """Scale of y from the median distance from the median; as ``scale`` where that is zero."""
    distances = np.abs(y - median(y, weights))
    deviation = median(distances, weights) / _MAD_OF_NORMAL
    return deviation if deviation > _EPS * np.max(np.abs(y)) else scale(y, weights)


def median(y: Array, weights: Array) -> float:
    """The weighted median: the middle of two values of y where both are medians."""
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    last = len(y) - 1
    low, high = (min(int(np.searchsorted(reached, half, side=s)), last) for s in ("left", "right"))
    return 0.5 * float(y[order[low]] + y[order[high]])


def fit_rate(y: Array, weights: Array) -> tuple[float, float]:
    """Log of the mean of counts in a unit of exposure, and the variance that one row leaves it."""
    k, e = exposed_counts.separate(y, 0.0)[0], exposed_counts.exposures(y)
    exposed = weights * e
    events, total = float(weights @ k), float(np.sum(exposed))
    if events > 0.0:
        rate = events / total
        # Of rows that differ in what explains them, one tells less of their mean than its own
        # count would: as much as counts scatter.
        scatter = float(exposed @ (k / (rate * e) - 1.0) ** 2) / total
        return float(np.log(rate)), max(float(np.sum(weights)) / events, scatter)
    # Rows without an event tell no rate. Half an event stands for them, and the prior is what
    # it tells: no worth of a row can be taken from rows that tell nothing.
    return float(np.log(0.5 / total)), 2.0


def require_positive(y: Array, kind: str) -> None:
    """Raise where y is not positive."""
    _refuse(y, ~(y > 0.0), f"a {kind} likelihood needs positive targets", ", such as Normal")


def require_counts(y: Array, kind: str) -> None:
    """Raise where y is not a count."""
    k = exposed_counts.separate(y, 0.0)[0]
    wrong = ~((k >= 0.0) & (k == np.floor(k)) & np.isfinite(k))
    _refuse(k, wrong, f"a {kind} likelihood needs counts, 0, 1, 2 and so on", "")


def _refuse(y: Array, wrong: NDArray[np.bool_], need: str, example: str) -> None:
    """Name the first wrong row."""
    bad = np.flatnonzero(wrong)
    if bad.size:
        raise ValueError(
            f"y is {y[bad[0]]:g} in row {bad[0]}; {need}. Leave such rows out, or use a "
            f"likelihood that allows them{example}."
        )


def _fall_back_on_size(deviation: float, y: Array) -> float:
    """The deviation; the size of y, or else 1, where it is rounding only."""
    size = float(np.max(np.abs(y)))
    return deviation if deviation > 8.0 * _EPS * size else size or 1.0
