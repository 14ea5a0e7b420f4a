"""Draw figures as inline SVG: elements, marks on two scales, and the frame around them.

Marks have CSS classes instead of colours, which the style sheet of the page defines for light mode,
dark mode and print.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from posterity.report import numbers
from posterity.report.scales import AxisScale

_NO_MARKUP = Markup()
_LETTER = 8.4  # mean width of a character in labels, on small screens

BROAD = 800.0
"""Width of a figure that is drawn over the whole width of a wide screen."""


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """Return one element; texts and attributes are escaped, underscores become hyphens.

    Examples
    --------
    >>> from posterity.report import svg
    >>> print(svg.element("text", "a < b", class_="name", x=1.26))
    <text class="name" x="1.3">a &lt; b</text>
    """
    pairs = ((_name(key), value) for key, value in attributes.items() if value is not None)
    head = _NO_MARKUP.join(Markup(' {}="{}"').format(key, _value(value)) for key, value in pairs)
    inside = _NO_MARKUP.join(children)
    if not children:
        return Markup("<{}{}/>").format(Markup(tag), head)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), head, inside)


@dataclass(frozen=True)
class Plot:
    """Two scales and the size of the figure.

    Attributes
    ----------
    x, y : AxisScale
        Horizontal and vertical scale.
    width, height : float
        Size of the whole figure, in its own units.
    left, right, top, bottom : float
        Margins around the marks, for labels.
    """

    x: AxisScale
    y: AxisScale
    width: float = 440.0
    height: float = 300.0
    left: float = 66.0
    right: float = 22.0
    top: float = 10.0
    bottom: float = 46.0

    def x_positions(self, values: ArrayLike) -> list[str]:
        """Return the horizontal positions of values of x, as text."""
        return _texts(self.left + self.x.place(values) * (self.width - self.left - self.right))

    def y_positions(self, values: ArrayLike) -> list[str]:
        """Return the vertical positions of values of y, as text."""
        return _texts(self.height - self.bottom - self.y.place(values) * self._room)

    @property
    def _room(self) -> float:
        return self.height - self.top - self.bottom

    def dots(
        self,
        x: ArrayLike,
        y: ArrayLike,
        name: str,
        *,
        radius: float = 2.6,
        tips: Iterable[str] = (),
    ) -> Markup:
        """Draw a dot with a tooltip for each pair."""
        texts = list(tips)
        marks = (
            element("circle", *_tooltip(texts, k), cx=a, cy=b, r=radius)
            for k, (a, b) in enumerate(zip(self.x_positions(x), self.y_positions(y), strict=True))
        )
        return element("g", _NO_MARKUP.join(marks), class_=f"dots {name}")

    def line(self, x: ArrayLike, y: ArrayLike, name: str) -> Markup:
        """Draw a line through the pairs."""
        return element(
            "path", class_=f"line {name}", d=_path(self.x_positions(x), self.y_positions(y))
        )

    def area(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, name: str) -> Markup:
        """Fill the area between two lines."""
        across = self.x_positions(x)
        there = _path(across, self.y_positions(high))
        back = _path(across[::-1], self.y_positions(low)[::-1]).replace("M", "L", 1)
        return element("path", class_=f"area {name}", d=f"{there}{back}Z")

    def sticks(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, name: str) -> Markup:
        """Draw a vertical line at each x."""
        places = zip(
            self.x_positions(x), self.y_positions(low), self.y_positions(high), strict=True
        )
        return element(
            "path", class_=f"stick {name}", d="".join(f"M{a} {b}V{c}" for a, b, c in places)
        )

    def bars(self, low: ArrayLike, high: ArrayLike, y: ArrayLike, name: str) -> Markup:
        """Draw a horizontal line at each y."""
        places = zip(
            self.x_positions(low), self.x_positions(high), self.y_positions(y), strict=True
        )
        return element(
            "path", class_=f"stick {name}", d="".join(f"M{a} {c}H{b}" for a, b, c in places)
        )

    def boxes(
        self, left: ArrayLike, right: ArrayLike, low: ArrayLike, high: ArrayLike, name: str
    ) -> Markup:
        """Draw filled rectangles."""
        sides = zip(
            self.x_positions(left),
            self.x_positions(right),
            self.y_positions(low),
            self.y_positions(high),
            strict=True,
        )
        shapes = "".join(f"M{a} {c}H{b}V{d}H{a}Z" for a, b, c, d in sides)
        return element("path", class_=f"box {name}", d=shapes)

    def texts(self, x: ArrayLike, y: ArrayLike, words: Iterable[str], name: str) -> Markup:
        """Draw a centred word at each position."""
        marks = (
            element("text", word, x=a, y=b, dy="0.35em")
            for a, b, word in zip(self.x_positions(x), self.y_positions(y), words, strict=True)
        )
        return element("g", _NO_MARKUP.join(marks), class_=f"words {name}")

    def picture(self, *layers: Markup, title: str, description: str, grid: bool = True) -> Markup:
        """Draw the layers from back to front in their frame, with title and description."""
        return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>').format(
            _value(self.width),
            _value(self.height),
            f"{title}. {description}",
            _NO_MARKUP.join([element("title", title), element("desc", description)]),
            _NO_MARKUP.join([self._frame(grid), *layers]),
        )

    def _frame(self, grid: bool) -> Markup:
        floor, wall = self.height - self.bottom, self.width - self.right
        x, y = self.x_positions(self.x.ticks), self.y_positions(self.y.ticks)
        rules = "".join(f"M{a} {self.top:g}V{floor:g}" for a in x) + "".join(
            f"M{self.left:g} {b}H{wall:g}" for b in y
        )
        below = (
            element("text", t, x=a, y=floor + 18) for a, t in zip(x, self.x.labels, strict=True)
        )
        beside = (
            element("text", t, x=self.left - 6, y=b, dy="0.35em")
            for b, t in zip(y, self.y.labels, strict=True)
        )
        return _NO_MARKUP.join(
            [
                element("path", class_="grid", d=rules) if grid else _NO_MARKUP,
                element("g", *below, class_="ticks below") if x else _NO_MARKUP,
                element("g", *beside, class_="ticks beside") if y else _NO_MARKUP,
                *self._titles(floor),
            ]
        )

    def _titles(self, floor: float) -> Iterable[Markup]:
        if self.x.title:
            middle = 0.5 * (self.left + self.width - self.right)
            title = numbers.clip_text(self.x.title, int(self.width / 9.0))
            yield element("text", title, class_="axis", x=middle, y=floor + 38)
        if self.y.title:
            middle = 0.5 * (self.top + floor)
            turned = f"rotate(-90 12 {middle:g})"
            title = numbers.clip_text(self.y.title, int(self._room / 8.0))
            yield element(
                "text", title, class_="axis", x=12, y=middle, dy="0.3em", transform=turned
            )


def label_margin(scale: AxisScale) -> float:
    """Return the margin that the labels of a vertical axis need."""
    return max(66.0, 16.0 + _LETTER * max(map(len, scale.labels), default=0))


def _path(across: list[str], up: list[str]) -> str:
    pairs = [f"{a} {b}" for a, b in zip(across, up, strict=True)]
    return "M" + "L".join(pairs)


def _texts(places: ArrayLike) -> list[str]:
    """Format positions to tenths, which keeps the page small."""
    return [_value(v) for v in np.atleast_1d(np.asarray(places, dtype=np.float64)).tolist()]


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def _name(key: str) -> str:
    return key if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _tooltip(texts: list[str], k: int) -> tuple[Markup, ...]:
    return (element("title", texts[k]),) if texts else ()
