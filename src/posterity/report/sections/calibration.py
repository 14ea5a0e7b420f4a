"""Sections on calibration: whether predicted probabilities match observed frequencies.

Of numbers, residuals are shown too.
"""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from scipy import stats

from posterity.arrays import Array
from posterity.comparison.results import HeldOut
from posterity.report import numbers, scales
from posterity.report.contents import ReportData
from posterity.report.sections import dependence
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.svg import Plot
from posterity.scoring.calibration import ProbabilityBins

STATED = np.array([*np.arange(0.1, 0.95, 0.05), 0.95, 0.99])
_BAND = 0.9  # probability of the chance band of calibrated predictions
_ROWS_A_BIN = 25
_ROWS_A_GROUP, _MOST_GROUPS = 20, 10  # of a reliability curve
_MOST_CLASSES = 8
_FEWEST = 10  # rows of a class that gets a curve


def section(data: ReportData) -> Section | None:
    """For numbers, show PIT histogram and coverage; for classes, reliability curves."""
    held = data.contents.held_out
    if held.pit is not None:
        figures: tuple[Figure, ...] = _draw_pit_histogram(held.pit), _draw_coverage(held.pit)
    elif held.probabilities is not None:
        figures = (
            _draw_reliability(held, held.probabilities),
            *_draw_class_reliability(held, held.probabilities),
        )
    else:
        return None
    blocks = [Figures(figures), *(Figures((one,)) for one in dependence.draw_coverage(data))]
    lead = "Predicted probabilities match observed frequencies if the model is calibrated."
    stated = _state_coverage(data)
    return Section("calibration", "Calibration", f"{lead} {stated}".strip(), tuple(blocks))


def _state_coverage(data: ReportData) -> str:
    """State the coverage of all rows, and for which new rows it holds."""
    held, found = data.contents.held_out, data.contents.comparison
    if held.pit is None:
        return ""
    inside = np.abs(2.0 * held.pit - 1.0) <= dependence.NOMINAL
    return (
        f"The 90 % intervals contain {numbers.format_percent(float(inside.mean()), 1)} of the "
        f"{numbers.format_count(len(inside))} {data.contents.rows_description}"
        f"{f'; this holds {found.scope}' if found is not None and found.scope else ''}."
    )


def histogram(pit: Array) -> tuple[Array, Array]:
    """Return the edges of bins, and the ratio of observed to expected rows in each."""
    n_bins = int(np.clip(len(pit) // _ROWS_A_BIN, 4, 20))
    counts, edges = np.histogram(pit, n_bins, range=(0.0, 1.0))
    return edges, counts * (n_bins / len(pit))


def _draw_pit_histogram(pit: Array) -> Figure:
    n = len(pit)
    edges, density = histogram(pit)
    n_bins = len(density)
    low, high = np.array(stats.binom(n, 1.0 / n_bins).interval(_BAND)) * n_bins / n
    plot = Plot(
        scales.percent_scale("predicted probability of a lower value"),
        scales.scale_between(
            0.0, 1.08 * max(float(density.max()), high, 1.5), "observed / expected"
        ),
    )
    gap = 0.06 / n_bins
    layers = [
        plot.boxes(edges[:-1] + gap, edges[1:] - gap, 0.0 * density, density, "accent soft"),
        plot.area([0.0, 1.0], [low, low], [high, high], "chance"),
        plot.line([0.0, 1.0], [1.0, 1.0], "rule"),
    ]
    title = "Histogram of the probability integral transform"
    caption = (
        "The histogram of calibrated predictions is flat. A hump means that they are too wide, a "
        "valley too narrow, a slope biased. For calibrated predictions, nine in ten bars end in "
        "the grey band. " + _count_bars_in_band(density, low, high)
    )
    told = f"Histogram of the probability integral transform of {n} rows in {n_bins} bins."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)


def _count_bars_in_band(density: Array, low: float, high: float) -> str:
    inside = np.count_nonzero((low <= density) & (density <= high))
    return f"Here {inside} of {len(density)} do."


def observed_coverage(pit: Array) -> Array:
    """Return the share of rows inside each central interval, at the stated levels."""
    outside = np.abs(2.0 * pit - 1.0)
    return (outside[:, None] <= STATED).mean(axis=0)


def _draw_coverage(pit: Array) -> Figure:
    n = len(pit)
    share = observed_coverage(pit)
    low, high = np.array(stats.binom(n, STATED).interval(_BAND)) / n
    plot = Plot(scales.percent_scale("nominal coverage"), scales.percent_scale("observed coverage"))
    layers = [
        plot.area(STATED, low, high, "chance"),
        plot.line([0.0, 1.0], [0.0, 1.0], "rule"),
        plot.line(STATED, share, "accent"),
        plot.dots(STATED, share, "accent"),
    ]
    title = "Coverage of intervals"
    caption = (
        "Share of rows inside their central interval, for each nominal coverage. Above the "
        "diagonal, intervals are wider than necessary; below, too narrow. The grey band shows "
        "random variation of independent rows."
    )
    told = "Nominal against observed coverage, from 10 to 99 per cent."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)


def _draw_reliability(held: HeldOut, p: Array) -> Figure:
    if len(held.classes) == 2:
        stated, came, of = p[:, 1], held.y == 1, f"of {held.classes[1]}"
    else:
        stated, came, of = p.max(axis=1), p.argmax(axis=1) == held.y, "of the most probable class"
    found = _group_by_probability(stated, came)
    low, high = frequency_interval(found)
    plot = Plot(
        scales.percent_scale(f"predicted probability {of}"),
        scales.percent_scale("observed frequency"),
    )
    layers = [
        plot.line([0.0, 1.0], [0.0, 1.0], "rule"),
        plot.sticks(found.predicted, low, high, "muted"),
        plot.line(found.predicted, found.observed, "accent"),
        plot.dots(found.predicted, found.observed, "accent", radius=4.0),
    ]
    title = "Reliability"
    told = f"Predicted probability {of} against observed frequency, in {len(low)} groups."
    caption = (
        f"Rows grouped by the predicted probability {numbers.clip_text(of, 40)}, and its observed "
        "frequency with 90 % intervals. On the diagonal, predictions of 70 % are correct in 70 % "
        "of rows."
    )
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)


def _group_by_probability(stated: Array, came: NDArray[np.bool_]) -> ProbabilityBins:
    n_bins = int(np.clip(len(stated) // _ROWS_A_GROUP, 1, _MOST_GROUPS))
    return ProbabilityBins.from_rows(stated, came, n_bins)


def frequency_interval(found: ProbabilityBins) -> tuple[Array, Array]:
    """Return the 90 % interval of each frequency, under a Beta(1/2, 1/2) prior."""
    came = found.observed * found.counts
    low, high = stats.beta(came + 0.5, found.counts - came + 0.5).interval(0.9)
    return low, high


def _draw_class_reliability(held: HeldOut, p: Array) -> tuple[Figure, ...]:
    """Draw one curve per class if there are more than two classes."""
    if not 3 <= len(held.classes) <= _MOST_CLASSES:
        return ()
    usual = [c for c in range(len(held.classes)) if np.count_nonzero(held.y == c) >= _FEWEST]
    if not usual:
        return ()
    plot = Plot(
        scales.percent_scale("predicted probability of the class"),
        scales.percent_scale("observed frequency"),
    )
    layers: list[Markup] = [plot.line([0.0, 1.0], [0.0, 1.0], "rule")]
    for c in usual:
        found = _group_by_probability(p[:, c], held.y == c)
        layers += [
            plot.line(found.predicted, found.observed, f"c{c}"),
            plot.dots(found.predicted, found.observed, f"c{c}", radius=3.0),
        ]
    title = "Reliability by class"
    caption = "Reliability of each class: rows grouped by its predicted probability."
    legend = tuple((f"dots c{c}", held.classes[c]) for c in usual)
    told = f"Reliability of {len(usual)} classes."
    return (Figure(plot.picture(*layers, title=title, description=told), title, caption, legend),)


_SMALLEST = 1e-6  # probability at which standardised residuals are clipped
_ENDS = (0.05, 0.95)
_EVEN = (
    "Residuals should scatter evenly around zero; a bend indicates a missing effect, a funnel "
    "unequal noise."
)


def show_residuals(data: ReportData) -> Section | None:
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
    numeric = data.list_kind("number", "date")
    if not numeric:
        return []
    values = data.values(numeric[0], data.take_measured(data.shown))
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
