"""Write what is found picture by picture, scores, figures, and what the demo shows."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import typer

from posterity import displays, files
from posterity.cli import output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STDOUT = "-"


@dataclass(frozen=True)
class Kind:
    """Kind of things that are found in pictures: their name, and the columns of a table of them."""

    key: str  # empty: JSON has only what is about each picture
    columns: tuple[str, ...] = ()
    pictures: str = "images"


@dataclass(frozen=True, eq=False)
class PictureResult:
    """Findings in a picture, or why it could not be read."""

    name: str
    found: Iterable[dict[str, Any]] | None
    error: str = ""
    about: dict[str, Any] = field(default_factory=dict)  # further keys in JSON

    def list_found(self) -> list[dict[str, Any]]:
        """Return what was found; nothing in a picture that could not be read."""
        return list(self.found or ())

    def as_record(self, kind: Kind) -> dict[str, Any]:
        """Return the result as JSON types."""
        if self.found is None:
            return {"image": self.name, "error": self.error}
        own = {kind.key: self.list_found()} if kind.key else {}
        return {"image": self.name, **self.about, **own}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a model on labelled images.

    Attributes
    ----------
    answer : dict
        All scores, as JSON types.
    sheet : (columns, rows)
        What a CSV file shows.
    draw : callable
        Draws the scores on a figure.
    table : (title, columns, rows)
        What is printed for people, the first ``n_words`` columns as text.
    sentences : sequence of str
        What is printed after the table.
    """

    answer: dict[str, Any]
    sheet: tuple[Sequence[str], Iterable[Sequence[Any]]]
    draw: Callable[[Figure], None]
    table: tuple[str, Sequence[str], Iterable[Sequence[str]]]
    sentences: Sequence[str]
    n_words: int = 1


Writer: TypeAlias = Callable[[PictureResult], None]
"""Writes one result after the other."""


def _start_csv(file: TextIO, kind: Kind) -> Writer:
    """Write a row for each thing that is found."""
    rows = csv.DictWriter(file, ("image", *kind.columns), lineterminator="\n")
    rows.writeheader()

    def write(result: PictureResult) -> None:
        # Names of files may be bytes that are not text.
        name = result.name.encode("utf-8", "backslashreplace").decode()
        for one in result.list_found():
            rows.writerow({"image": name, **one})
        file.flush()  # a reader of standard output gets each frame at once

    return write


def _start_json(file: TextIO, kind: Kind) -> Writer:
    """Write a list of pictures, one per line: what was found in each, or its error."""
    before = ""

    def write(result: PictureResult) -> None:
        nonlocal before
        file.write(f"{before}\n{json.dumps(result.as_record(kind))}")
        before = ","

    return write


@contextlib.contextmanager
def open_writer(out: str | None, kind: Kind) -> Iterator[Writer]:
    """Yield a function that writes results; a file appears when the block succeeds."""
    if out is None:
        yield lambda result: None
    elif out == STDOUT:
        yield _start_csv(sys.stdout, kind)
        sys.stdout.flush()
    else:
        with files.replace_atomically(out) as raw, _as_text(raw) as file:
            if find_format(out) == "csv":
                yield _start_csv(file, kind)
            else:
                file.write(f'{{"{kind.pictures}": [')
                yield _start_json(file, kind)
                file.write("\n]}\n")


@contextlib.contextmanager
def _as_text(raw: Any) -> Iterator[TextIO]:
    """Yield a text file that leaves the binary one open."""
    file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
    yield file
    file.flush()
    file.detach()


def check_out(out: str | None, *, force: bool, inputs: tuple[str, ...]) -> None:
    """Refuse a file of answers that cannot be written."""
    if out is not None and out != STDOUT:
        find_format(out)
        output.check_output_file(out, force=force, inputs=inputs)


def find_format(out: str) -> str:
    """Return json or csv, as the name of the file says; refuse other names."""
    kind = Path(out).suffix.lower().removeprefix(".")
    if kind not in ("json", "csv"):
        raise typer.BadParameter(f"--out {out!r} must end in .json or .csv.")
    return kind


def make_printable(text: str) -> str:
    """Escape characters of file names that would change a terminal.

    Examples
    --------
    >>> from posterity.vision.commands import results
    >>> results.make_printable("a\\x1b[31m.png")
    'a\\\\x1b[31m.png'
    """
    return text if text.isprintable() else ascii(text)[1:-1]


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue().encode()


@contextlib.contextmanager
def start_figure(width: float, height: float) -> Iterator[Figure]:
    """Yield a figure in the style of the library, without pyplot, which would keep it."""
    with displays.style():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout="constrained")


def save_figure(path: str | Path, figure: Figure, **options: Any) -> None:
    """Write a figure in the format that the name of the file says."""
    with files.replace_atomically(path) as file:
        figure.savefig(file, format=Path(path).suffix.lower().removeprefix("."), **options)


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A figure of a system at work, and what to try next.

    Attributes
    ----------
    name : str
        Short name, in letters and hyphens; the picture is saved under it.
    title : str
        What is found, as a heading.
    sentence : str
        What the system has learned from, and what it was asked.
    figure : matplotlib Figure
        Made without pyplot, which would keep it.
    caption : str
        What the figure shows, with the numbers that were measured.
    command : tuple of str
        Words of a command that works on the files left in the folder; empty if there is none.
    """

    name: str
    title: str
    sentence: str
    figure: Figure
    caption: str
    command: tuple[str, ...] = ()


def hide_axes(axes: Iterable[Axes]) -> None:
    """Leave only the pictures of axes, without ticks and frames."""
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
