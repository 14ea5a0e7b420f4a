"""The pages that ``make docs`` has built, as a reader of their HTML sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BUILT = Path(__file__).parents[2] / "docs/_build/html"
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_NOT_LOADED = {"canonical", "index", "search", "next", "prev", "author", "copyright", "top"}


@dataclass
class Page(HTMLParser):
    """Links, anchors, pictures and formulas of one page."""

    path: Path
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    loaded: list[str] = field(default_factory=list)
    without_words: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    headings: int = 0
    _inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.path.read_text("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if "id" in told:
            self.anchors.add(told["id"])
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if tag in _LOADED and told.get("rel", "") not in _NOT_LOADED and told.get(_LOADED[tag]):
            self.loaded.append(told[_LOADED[tag]])
        if tag == "img" and not told.get("alt"):
            self.without_words.append(told.get("src", ""))
        if tag == "math":
            self._inside.append("math")
            self.formulas.append("")
        self.headings += tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        if tag == "math" and self._inside:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.formulas[-1] += data

    def targets(self) -> Iterator[tuple[str, Path, str]]:
        """Links within the documentation: as written, the file, and the anchor."""
        for link in self.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc:
                file = self.path.parent / unquote(parts.path) if parts.path else self.path
                yield link, file.resolve(), unquote(parts.fragment)


@cache
def page(path: Path) -> Page:
    """A page, read once."""
    return Page(path)


def pages() -> list[Path]:
    """Every page that was built; none where nothing was."""
    return sorted(BUILT.rglob("*.html"))
