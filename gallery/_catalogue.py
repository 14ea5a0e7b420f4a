"""Read name, title, tags and caption of the scripts of the gallery."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

GALLERY = Path(__file__).parent
OUT = GALLERY / "out"

TAG = re.compile(r"\[([A-Z][A-Za-z0-9]*(?: [^\]]+)?)\]")
TAGS_AT_THE_END = re.compile(rf"(?:\s*{TAG.pattern})+$")
LISTED = re.compile(r"^```\{gallery\}\n(.*?)^```", re.M | re.S)
NUMBER = re.compile(r"\d+\.\d+")


@dataclass(frozen=True)
class Script:
    """One script, as its docstring describes it; its code begins at ``first_line``."""

    path: Path
    title: str
    tags: tuple[str, ...]
    caption: str
    first_line: int

    @property
    def name(self) -> str:
        """Name of the script and of its picture."""
        return self.path.stem

    @property
    def picture(self) -> Path:
        """Where the script leaves its picture."""
        return self.path.parent / "out" / f"{self.name}.png"

    @property
    def figure(self) -> Path:
        """The smaller copy that the documentation shows."""
        return self.path.parents[1] / "docs" / "figures" / f"{self.name}.png"

    @property
    def numbers(self) -> frozenset[str]:
        """Numbers of the sources' figures that this one redraws, such as 8.4."""
        told = (NUMBER.findall(tag) for tag in self.tags if " Fig" in tag)
        return frozenset(number for numbers in told for number in numbers)


def read(path: Path) -> Script:
    """A script by its docstring: title and tags in the first paragraph, then the caption.

    Raises
    ------
    ValueError
        If the script has no docstring, and so no title.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = ast.get_docstring(tree)
    if not words:
        raise ValueError(f"{path.name} opens without a docstring: its first line is the title.")
    first, _, caption = words.partition("\n\n")
    headline = " ".join(first.split())
    return Script(
        path=path,
        title=TAGS_AT_THE_END.sub("", headline).removesuffix("."),
        tags=tuple(dict.fromkeys(TAG.findall(words))),
        caption=TAGS_AT_THE_END.sub("", caption),
        first_line=tree.body[1].lineno,
    )


def scripts() -> list[Script]:
    """Every script of the gallery, by name."""
    return [read(path) for path in sorted(GALLERY.glob("[!_]*.py"))]


def list_figures(text: str) -> list[str]:
    """Names that the directives ``{gallery}`` of a Markdown page list, in order."""
    return " ".join(LISTED.findall(text)).split()
