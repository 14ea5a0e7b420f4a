"""Section on the residuals of predictions of numbers."""

import numpy as np
from scipy import stats

from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.svg import Plot

_SMALLEST = 1e-6  # probability at which standardised residuals are clipped
_ENDS = (0.05, 0.95)
_EVEN = (
    "Residuals should scatter evenly around zero; a bend indicates a missing effect, a funnel "
    "unequal noise."
)


def section(data: ReportData) -> Section | None:
    """Draw residuals over the prediction and the most important number, and their quantiles."""
    held = data.contents.held_out
    if held.mean is None or held.pit is None:
        return None
    k = data.shown
    left = held.y[k].astype(np.float64) - held.mean[k]
    if not np.isfinite(left).any():
        return None
    figures = [_draw_residuals(held.mean[k], left, "the prediction", "predicted mean", _EVEN)]
    figures += [*_draw_over_input(data, left), _draw_quantiles(standardise_residuals(held.pit))]
    lead = "Observed value minus predicted mean; a pattern is something that the model misses."
    return Section("residuals", "Residuals", lead, (Figures(tuple(figures)),))


def standardise_residuals(pit: Array) -> Array:
    """Transform residuals to standard normals under the predicted distributions, and sort them."""
    return np.sort(stats.norm.ppf(np.clip(pit, _SMALLEST, 1.0 - _SMALLEST)))


def _draw_residuals(
    x: Array, left: Array, what: str, title: str, caption: str, *, dates: bool = False
) -> Figure:
    shown = np.isfinite(x) & np.isfinite(left)
    axis = scales.date_scale if dates else scales.linear_scale
    plot = Plot(axis(x[shown], title), scales.linear_scale(np.append(left[shown], 0.0), "residual"))
    layers = [
        plot.line([plot.x.low, plot.x.high], [0.0, 0.0], "rule"),
        plot.dots(x[shown], left[shown], "ink"),
    ]
    name = f"Residuals over {numbers.clip_text(what, 40)}"
    told = f"{np.count_nonzero(shown)} rows."
    return Figure(plot.picture(*layers, title=name, description=told), name, caption)


def _draw_over_input(data: ReportData, left: Array) -> list[Figure]:
    numeric = data.of_kind("number", "date")
    if not numeric:
        return []
    values = data.values(numeric[0], data.measured(data.shown))
    dates = data.kind(numeric[0]) == "date"
    if not np.isfinite(values).any():
        return []
    caption = f"The same rows over {numeric[0]}, the most important number."
    return [_draw_residuals(values, left, numeric[0], numeric[0], caption, dates=dates)]


def _draw_quantiles(z: Array) -> Figure:
    n = len(z)
    rank = np.unique(np.linspace(0, n - 1, min(n, 300)).astype(np.intp))
    expected = stats.norm.ppf((rank + 0.5) / n)
    low, high = (stats.norm.ppf(stats.beta.ppf(p, rank + 1, n - rank)) for p in _ENDS)
    everything = np.concatenate([z, expected, low, high])
    plot = Plot(
        scales.linear_scale(expected, "standard normal quantile"),
        scales.linear_scale(everything, "standardised residual"),
    )
    ends = np.array([plot.x.low, plot.x.high])
    layers = [
        plot.area(expected, low, high, "chance"),
        plot.line(ends, ends, "rule"),
        plot.dots(expected, z[rank], "ink", radius=2.0),
    ]
    title = "Quantiles of standardised residuals"
    caption = (
        "On the diagonal, the predicted distributions have the correct shape. Ends outside the "
        "grey band indicate heavier (steeper) or lighter (flatter) tails than predicted."
    )
    told = f"Quantiles of {n} standardised residuals against those of a normal."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)
