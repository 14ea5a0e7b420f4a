"""The building blocks of a section, which the page template renders."""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from markupsafe import Markup


@dataclass(frozen=True)
class Text:
    """A paragraph of text."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "items"


@dataclass(frozen=True)
class Code:
    """A command or expression to copy."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Figure:
    """A figure with its title and caption."""

    picture: Markup
    title: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()  # CSS class of the mark, and its meaning
    broad: Markup | None = None  # the same for wide screens, over the whole width


@dataclass(frozen=True)
class Figures:
    """Figures side by side, if the page is wide enough."""

    figures: tuple[Figure, ...]
    small: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Row:
    """One row of a table; the first cell is its header."""

    cells: tuple[str, ...]
    mark: str = ""  # "chosen", "baseline" or empty
    values: tuple[float | None, ...] = ()  # by which to sort numeric cells; None: missing
    link: str = ""  # name of the element to which the header leads


@dataclass(frozen=True)
class Table:
    """A table; the columns whose positions are in ``words`` are text, all others numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    words: tuple[int, ...] = (0,)
    sortable: bool = True
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Panel:
    """The interactive panel in which the model runs in the page."""

    payload: Markup  # JSON that may stand inside a script element
    kind: ClassVar[str] = "panel"


@dataclass(frozen=True)
class Card:
    """Description of a model: its name for links, title, facts and code."""

    name: str
    title: str
    advice: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Cards:
    """Cards side by side."""

    cards: tuple[Card, ...]
    kind: ClassVar[str] = "cards"


@dataclass(frozen=True)
class Download:
    """A link that saves a file contained in the page."""

    address: str  # a data: URL
    file: str
    text: str
    kind: ClassVar[str] = "download"


Block: TypeAlias = Text | Items | Code | Figures | Table | Panel | Cards | Download


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str  # for links to it
    title: str
    lead: str
    blocks: tuple[Block, ...] = field(default=())
