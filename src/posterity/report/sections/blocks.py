"""What a section is made of; the template of the page knows how to show each."""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from markupsafe import Markup


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "items"


@dataclass(frozen=True)
class Code:
    """Something to type."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Figure:
    """A picture, what it shows in a word, and how to read it in a sentence."""

    picture: Markup
    title: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()  # class of the mark, and what it stands for
    wide: bool = False


@dataclass(frozen=True)
class Figures:
    """Pictures side by side where there is room."""

    figures: tuple[Figure, ...]
    small: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Row:
    """One line of a table; the first cell names it."""

    cells: tuple[str, ...]
    mark: str = ""  # "best", "baseline" or nothing


@dataclass(frozen=True)
class Table:
    """Rows under a head; columns named in ``words`` are texts, all others numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    words: tuple[int, ...] = (0,)
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Panel:
    """Where the page lets a reader ask the model itself."""

    payload: Markup  # JSON that may stand inside a script element
    kind: ClassVar[str] = "panel"


Block: TypeAlias = Text | Items | Code | Figures | Table | Panel


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading."""

    name: str  # for links to it
    title: str
    lead: str
    blocks: tuple[Block, ...] = field(default=())
