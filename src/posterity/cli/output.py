"""Print the output of a command, as sentences and tables or as JSON, and check where files go."""

import json
import math
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posterity.cli import outcome

_NAME = "posterity"
_UNBOUND = 160  # columns of text that goes to a file or a pipe


class _Console(Console):
    """A console that discards output after the reader has closed it, so that work continues."""

    def on_broken_pipe(self) -> None:
        """Discard further output, where rich would end the program."""
        outcome.silence(self.file)


@dataclass(frozen=True)
class OutputPrinter:
    """Prints either text for people or one JSON document.

    Attributes
    ----------
    machine : bool
        Whether the output is JSON; text is then suppressed.
    aside : bool
        Whether text goes to standard error, because standard output carries the data.
    """

    machine: bool = False
    aside: bool = False

    def say(self, *sentences: str) -> None:
        """Print sentences verbatim: text from a file is never interpreted as markup."""
        console = self._console()
        for sentence in sentences:
            console.print(Text(sentence), highlight=False, soft_wrap=not console.is_terminal)

    def table(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1
    ) -> None:
        """Print a table whose first ``words`` columns are text and whose others are numbers.

        Numbers are never truncated: columns that do not fit the terminal are omitted.
        """
        console, body = self._console(), [list(row) for row in rows]
        shown = len(columns)
        heads = _stack_heads(columns, body)
        if words < shown:
            shown = _count_fitting_columns(console.width, heads, body)
        out = Table(title=Text(title), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        for place, column in enumerate(heads[:shown]):
            number = place >= words
            whole = number or place == 0  # names are copied into commands
            side: Literal["left", "right"] = "right" if number else "left"
            out.add_column(column, justify=side, no_wrap=whole, overflow="fold")
        for row in body:
            out.add_row(*(Text(cell) for cell in row[:shown]))
        console.print(out)
        if left := ", ".join(columns[shown:]):
            self.say(f"Columns omitted because the terminal is too narrow: {left}.")

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print pairs of a name and its value in two columns."""
        out = Table.grid(padding=(0, 2))
        for name, fact in pairs:
            out.add_row(Text(name), Text(fact))
        self._console().print(out)

    def next(self, *words: str) -> None:
        """Print the command to run next, on one line that can be copied."""
        line = Text(f"\nNext: {shlex.join([command_name(sys.argv[0]), *words])}")
        self._console().print(line, highlight=False, soft_wrap=True)

    def give(self, answer: Mapping[str, Any]) -> None:
        """Print the answer as JSON, if JSON was asked for."""
        if self.machine:
            json.dump(
                to_json_types(answer), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False
            )
            sys.stdout.write("\n")
            sys.stdout.flush()  # a closed pipe is noticed here, not when Python exits

    def _console(self) -> Console:
        how: dict[str, Any] = {"stderr": self.aside, "quiet": self.machine}
        console = _Console(**how)
        # A file or a pipe has no width limit.
        return console if console.is_terminal else _Console(**how, width=_UNBOUND)


def _stack_heads(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Break heads that are wider than their columns into two lines."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        head.replace(" ", "\n", 1) if cell_len(head) > width else head
        for head, width in zip(heads, widths, strict=True)
    ]


def _count_fitting_columns(width: int, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns, each followed by two spaces, fit the width; at least two."""
    widths = [
        max(cell_len(line) for cell in column for line in cell.splitlines() or [""]) + 2
        for column in zip(heads, *rows, strict=True)
    ]
    return max(2, sum(total <= width for total in accumulate(widths)))


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON types; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(item) for item in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def command_name(typed: str) -> str:
    """Return the command name if the shell finds it, else the path that was typed."""
    if Path(typed).name != _NAME or not Path(typed).is_file():
        return _NAME
    found = shutil.which(_NAME)
    return _NAME if found is not None and Path(found).samefile(typed) else typed


_UNITS = ("B", "kB", "MB", "GB")


def format_duration(seconds: float) -> str:
    """Format a duration with the most readable unit."""
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def format_size(n_bytes: int) -> str:
    """Format a number of bytes with the most readable unit."""
    value = float(n_bytes)
    for unit in _UNITS[:-1]:
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000.0
    return f"{value:.3g} {_UNITS[-1]}"


REPORT_MARK = b"<!-- posterity report -->"


def check_output_file(path: str, *, force: bool, inputs: tuple[str, ...] = ()) -> None:
    """Refuse an output file that cannot be written or would destroy data, before any work.

    Reports and models written by posterity are replaced; other files only with ``force``, and
    the input never.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise typer.BadParameter(
            f"cannot write {path!r}: the folder {str(place.parent)!r} does not exist."
        )
    if place.is_dir():
        raise typer.BadParameter(f"{path!r} is a folder; give the name of a file.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise typer.BadParameter(f"No permission to write {path!r}.")
    if not place.exists():
        return
    if any(name != "-" and Path(name).exists() and place.samefile(name) for name in inputs):
        raise typer.BadParameter(f"{path!r} is the input; give the output another name.")
    if not force and not is_posterity_file(place):
        raise typer.BadParameter(
            f"{path!r} already exists; choose another name, or overwrite it with --force."
        )


def check_output_folder(
    path: str,
    *,
    force: bool,
    inputs: tuple[str, ...] = (),
    why: str = "--dask writes one file per partition",
    option: str = "--out",
) -> None:
    """Refuse an output folder that cannot be written, is not empty, or contains the input.

    ``why`` says why a folder is needed, and ``option`` names it.
    """
    place = Path(path)
    if path == "-":
        raise typer.BadParameter(f"{why}: add {option} FOLDER.")
    if any(name for name in inputs if _is_inside(place, Path(name))):
        raise typer.BadParameter(f"{path!r} is inside the input folder; choose another folder.")
    if not place.is_dir():
        if place.exists():
            raise typer.BadParameter(f"{path!r} is a file; {why}, which needs an output folder.")
        check_output_file(path, force=force, inputs=inputs)
        return
    if any(Path(name).exists() and _is_inside(Path(name), place) for name in inputs):
        raise typer.BadParameter(f"{path!r} contains the input; choose another output folder.")
    if not os.access(place, os.W_OK):
        raise typer.BadParameter(f"No permission to write {path!r}.")
    if not force and any(place.iterdir()):
        raise typer.BadParameter(
            f"the folder {path!r} is not empty; choose another, or replace files in it with "
            "--force."
        )


def _is_inside(inner: Path, outer: Path) -> bool:
    return inner.resolve().is_relative_to(outer.resolve())


def is_posterity_file(place: Path) -> bool:
    """Return whether a file is a report or a model written by posterity."""
    from posterity import persistence  # which output without files should not load

    with place.open("rb") as file:
        if REPORT_MARK in file.read(200):
            return True
    try:
        persistence.describe(place)
    except persistence.FileError:
        return False
    return True
