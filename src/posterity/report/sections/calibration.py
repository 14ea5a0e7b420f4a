"""Whether stated chances are those that are observed."""

import numpy as np
from markupsafe import Markup
from scipy import stats

from posterity.arrays import Array
from posterity.comparison.results import HeldOut
from posterity.report import numbers, scales
from posterity.report.material import Material
from posterity.report.sections import reliability
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.svg import Plot

STATED = np.array([*np.arange(0.1, 0.95, 0.05), 0.95, 0.99])
_BAND = 0.9  # of what right predictions would give by chance
_ROWS_A_BIN = 25
_MOST_CLASSES = 8
_FEWEST = 10  # rows of a class, for a curve of its own


def section(material: Material) -> Section | None:
    """For numbers the transform and the coverage, for several classes the reliability of each."""
    held = material.story.held_out
    if held.pit is not None:
        figures: tuple[Figure, ...] = _transform(held.pit), _coverage(held.pit)
    elif held.probabilities is not None:
        figures = _overall(held, held.probabilities), *_by_class(held, held.probabilities)
    else:
        return None
    lead = "Whether a stated chance is the share that is observed: can the uncertainty be trusted?"
    return Section("calibration", "How sure it may be", lead, (Figures(figures),))


def histogram(pit: Array) -> tuple[Array, Array]:
    """Edges of bins, and the share of rows in each as a multiple of what is expected."""
    n_bins = int(np.clip(len(pit) // _ROWS_A_BIN, 4, 20))
    counts, edges = np.histogram(pit, n_bins, range=(0.0, 1.0))
    return edges, counts * (n_bins / len(pit))


def _transform(pit: Array) -> Figure:
    n = len(pit)
    edges, density = histogram(pit)
    n_bins = len(density)
    low, high = np.array(stats.binom(n, 1.0 / n_bins).interval(_BAND)) * n_bins / n
    plot = Plot(
        scales.shares("predicted chance of a lower value"),
        scales.between(0.0, 1.08 * max(float(density.max()), high, 1.5), "observed / expected"),
    )
    gap = 0.06 / n_bins
    layers = [
        plot.boxes(edges[:-1] + gap, edges[1:] - gap, 0.0 * density, density, "accent soft"),
        plot.area([0.0, 1.0], [low, low], [high, high], "chance"),
        plot.line([0.0, 1.0], [1.0, 1.0], "rule"),
    ]
    title = "Where values fell in their predictions"
    caption = (
        "Flat is right. A hump: the predictions are too wide; a valley: too narrow; a slope: they "
        "lie to one side. Of right predictions nine in ten bars end in the grey band. "
        + _verdict(density, low, high)
    )
    told = f"Histogram of the probability integral transform of {n} rows in {n_bins} bins."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)


def _verdict(density: Array, low: float, high: float) -> str:
    inside = np.count_nonzero((low <= density) & (density <= high))
    return f"Here {inside} of {len(density)} do."


def coverage(pit: Array) -> Array:
    """The share of rows within each central interval, at the stated levels."""
    outside = np.abs(2.0 * pit - 1.0)
    return (outside[:, None] <= STATED).mean(axis=0)


def _coverage(pit: Array) -> Figure:
    n = len(pit)
    share = coverage(pit)
    low, high = np.array(stats.binom(n, STATED).interval(_BAND)) / n
    plot = Plot(scales.shares("stated coverage of the interval"), scales.shares("rows inside"))
    layers = [
        plot.area(STATED, low, high, "chance"),
        plot.line([0.0, 1.0], [0.0, 1.0], "rule"),
        plot.line(STATED, share, "accent"),
        plot.dots(STATED, share, "accent"),
    ]
    title = "Coverage of intervals"
    nominal = int(np.argmin(np.abs(STATED - 0.9)))
    caption = (
        "How many rows lie in the central interval of each stated coverage. Above the diagonal the "
        "intervals are wider than needed, below they promise too much; the grey band is chance. "
        f"The interval of 90 % holds {numbers.percent(float(share[nominal]), 1)}."
    )
    told = "Stated against observed coverage, from 10 to 99 per cent."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption)


def _overall(held: HeldOut, p: Array) -> Figure:
    if len(held.classes) == 2:
        stated, came, of = p[:, 1], held.y == 1, f"of {held.classes[1]}"
    else:
        stated, came, of = p.max(axis=1), p.argmax(axis=1) == held.y, "of the most probable class"
    title = "Reliability"
    caption = (
        f"Rows gathered by the stated probability {numbers.clipped(of, 40)}, and how often it "
        "came, with 90 % intervals. On the diagonal, what is called 70 % happens in 70 % of rows."
    )
    return Figure(reliability.picture(stated, came, title, of), title, caption)


def _by_class(held: HeldOut, p: Array) -> tuple[Figure, ...]:
    """One curve a class, where there are more than two."""
    if not 3 <= len(held.classes) <= _MOST_CLASSES:
        return ()
    usual = [c for c in range(len(held.classes)) if np.count_nonzero(held.y == c) >= _FEWEST]
    if not usual:
        return ()
    plot = Plot(scales.shares("stated probability of the class"), scales.shares("share that came"))
    layers: list[Markup] = [plot.line([0.0, 1.0], [0.0, 1.0], "rule")]
    for c in usual:
        found = reliability.bins(p[:, c], held.y == c)
        layers += [
            plot.line(found.stated, found.came, f"c{c}"),
            plot.dots(found.stated, found.came, f"c{c}", radius=3.0),
        ]
    title = "Reliability by class"
    caption = "The same for each class by itself: rows gathered by its stated probability."
    legend = tuple((f"dots c{c}", held.classes[c]) for c in usual)
    told = f"Reliability of {len(usual)} classes."
    return (Figure(plot.picture(*layers, title=title, description=told), title, caption, legend),)
