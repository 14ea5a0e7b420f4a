"""Draw reliability curves: observed frequency against predicted probability."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from scipy import stats

from posterity.arrays import Array
from posterity.report import scales
from posterity.report.svg import Plot

_MOST_BINS = 10
_ROWS_A_BIN = 20


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Predicted probability, observed frequency and its 90 % interval of groups of rows."""

    stated: Array
    came: Array
    low: Array
    high: Array


def group_by_probability(stated: Array, came: NDArray[np.bool_]) -> ReliabilityBins:
    """Group rows into equal bins; intervals of the frequency use a Beta(1/2, 1/2) prior."""
    order = np.argsort(stated, kind="stable")
    n_bins = int(np.clip(len(order) // _ROWS_A_BIN, 1, _MOST_BINS))
    groups = [g for g in np.array_split(order, n_bins) if len(g)]
    n = np.array([len(g) for g in groups], dtype=np.float64)
    k = np.array([np.count_nonzero(came[g]) for g in groups], dtype=np.float64)
    low, high = stats.beta(k + 0.5, n - k + 0.5).interval(0.9)
    return ReliabilityBins(np.array([stated[g].mean() for g in groups]), k / n, low, high)


def draw_reliability(stated: Array, came: NDArray[np.bool_], title: str, of: str) -> Markup:
    """Draw the curve of one class, with intervals and the diagonal."""
    found = group_by_probability(stated, came)
    plot = Plot(
        scales.percent_scale(f"predicted probability {of}"),
        scales.percent_scale("observed frequency"),
    )
    layers = [
        plot.line([0.0, 1.0], [0.0, 1.0], "rule"),
        plot.sticks(found.stated, found.low, found.high, "muted"),
        plot.line(found.stated, found.came, "accent"),
        plot.dots(found.stated, found.came, "accent", radius=4.0),
    ]
    told = f"Predicted probability {of} against observed frequency, in {len(found.stated)} groups."
    return plot.picture(*layers, title=title, description=told)
