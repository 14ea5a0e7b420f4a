"""What is wrong with a picture of the gallery, in sentences; none if nothing is."""

import re
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib import cm, colors
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from matplotlib.typing import ColorType

from posterity import displays

WIDEST = 11.5  # inches
PAGE = 740.0  # pixels that the documentation gives a picture
SMALLEST = 8.8  # pixels of a letter's height there
MAPS = {"Blues", "Greys", "gray", "viridis", "cividis"}
WORDS = re.compile(r"[A-Za-z]{2}")
PALETTE = np.array([colors.to_rgb(color) for color in displays.COLORS.values()])


def complaints(figure: Figure, *, cropped: bool = False) -> list[str]:
    """Everything that is wrong with a figure that has been drawn, and is saved as it is or cropped.

    Cropping to what is drawn cannot cut anything off.
    """
    checks = [width, labels, titles, letters, inks] + [edges] * (not cropped)
    return [sentence for check in checks for sentence in check(figure)]


def width(figure: Figure) -> Iterator[str]:
    """A wider one cannot be read on a page."""
    inches = figure.get_figwidth()
    if inches > WIDEST:
        yield f"The figure is {inches:.1f} inches wide, more than {WIDEST}."


def labels(figure: Figure) -> Iterator[str]:
    """An axis with numbers says of what, or shares them with one that does."""
    for k, ax in enumerate(plain_axes(figure)):
        for name, shared, above in (
            ("x", ax.get_shared_x_axes(), figure.get_supxlabel()),
            ("y", ax.get_shared_y_axes(), figure.get_supylabel()),
        ):
            axis = getattr(ax, f"{name}axis")
            siblings = [getattr(other, f"{name}axis") for other in shared.get_siblings(ax)]
            if numbers(axis) and not above and not any(a.get_label_text() for a in siblings):
                yield f"The {name}-axis of panel {k} ({ax.get_title('left')}) has no label."


def numbers(axis: Axis) -> bool:
    """Whether the ticks of an axis are numbered: words say what they are themselves."""
    shown = [tick.get_text() for tick in axis.get_ticklabels() if tick.get_visible()]
    return any(text and not WORDS.search(text.replace("mathdefault", "")) for text in shown)


def edges(figure: Figure) -> Iterator[str]:
    """Nothing is cut off."""
    box, (right, top) = figure.get_tightbbox(), figure.get_size_inches()
    over = {"left": -box.x0, "lower": -box.y0, "right": box.x1 - right, "upper": box.y1 - top}
    for side, inches in over.items():
        if inches > 0.03:
            yield f"Something is cut off at the {side} edge, by {inches:.2f} inches."


def titles(figure: Figure) -> Iterator[str]:
    """No title runs into another."""
    found: list[tuple[str, Bbox]] = []
    for ax in figure.axes:
        for title in (ax.title, ax._left_title, ax._right_title):
            if title.get_visible() and title.get_text():
                found.append((title.get_text(), title.get_window_extent()))
    for (one, box), (other, beside) in combinations(found, 2):
        if box.overlaps(beside):
            yield f"The titles {one!r} and {other!r} overlap."


def letters(figure: Figure) -> Iterator[str]:
    """Letters stay legible at the width of a page."""
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    for text in {t.get_text(): t for t in shown}.values():
        pixels = text.get_fontsize() * PAGE / (72.0 * figure.get_figwidth())
        if pixels < SMALLEST:
            yield f"{text.get_text()!r} is {pixels:.1f} pixels high on a page."


def inks(figure: Figure) -> Iterator[str]:
    """Colours are of the palette, grey, or of a map that everyone can read."""
    for ax in figure.axes:
        for line in ax.findobj(Line2D):
            yield from ink(line.get_color(), "line")
        for mapped in ax.findobj(Collection) + ax.findobj(AxesImage):
            if mapped.get_array() is None:
                for color in mapped.get_facecolor():
                    yield from ink(color, "mark or area")
            elif isinstance(mapped, Collection) or mapped.get_array().ndim == 2:
                yield from map_of(mapped)


def ink(color: ColorType, of: str) -> Iterator[str]:
    """A complaint if this is neither of the palette nor grey."""
    rgb = np.array(colors.to_rgb(color))
    if np.ptp(rgb) > 0.02 and np.min(np.max(np.abs(PALETTE - rgb), axis=1)) > 0.01:
        yield f"A {of} is {colors.to_hex(color)}, which is not of the palette."


def map_of(mapped: cm.ScalarMappable) -> Iterator[str]:
    """A complaint if a magnitude has another map, and not one between colours of the palette."""
    cmap = mapped.get_cmap()
    ends = [sentence for end in (cmap(0.0), cmap(1.0)) for sentence in ink(end, "end")]
    if cmap.name.removesuffix("_r") not in MAPS and ends:
        yield f"A magnitude has the colours {cmap.name!r}."


def plain_axes(figure: Figure) -> list[Axes]:
    """Panels with axes of their own: no bars of colours, no strips of images."""
    return [ax for ax in figure.axes if ax.axison and ax.get_label() != "<colorbar>"]
