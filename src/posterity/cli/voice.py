"""What the command says: to a person in sentences and tables, to a machine in JSON."""

import json
import math
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posterity.cli import outcome

_NAME = "posterity"
_UNBOUND = 160  # columns of text that goes to a file or a pipe


class _Console(Console):
    """One that falls silent where nobody listens any more; the work goes on to its end."""

    def on_broken_pipe(self) -> None:
        """Where rich would end the program."""
        outcome.silence(self.file)


@dataclass(frozen=True)
class Voice:
    """Speaks to a person on standard output; to a machine only once, in JSON.

    Attributes
    ----------
    machine : bool
        Whether the answer is JSON; sentences are then not said.
    aside : bool
        Whether sentences go to standard error, because the answer itself fills standard output.
    """

    machine: bool = False
    aside: bool = False

    def say(self, *sentences: str) -> None:
        """Print sentences as they are: texts of a file are never taken for markup."""
        if not self.machine:
            console = self._console()
            for sentence in sentences:
                console.print(Text(sentence), highlight=False, soft_wrap=not console.is_terminal)

    def table(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1
    ) -> None:
        """Print a table whose first ``words`` columns are words and whose others are numbers.

        Numbers are never cut: columns at the end that a terminal has no room for are left out.
        """
        if self.machine:
            return
        console, body = self._console(), [list(row) for row in rows]
        shown = len(columns)
        if words < shown:
            shown = _columns_within(console.width, columns, body)
        out = Table(title=Text(title), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        for place, column in enumerate(columns[:shown]):
            number = place >= words
            whole = number or place == 0  # names are there to be typed
            side: Literal["left", "right"] = "right" if number else "left"
            out.add_column(column, justify=side, no_wrap=whole, overflow="fold")
        for row in body:
            out.add_row(*(Text(cell) for cell in row[:shown]))
        console.print(out)
        if left := ", ".join(columns[shown:]):
            self.say(f"There was no room for: {left}.")

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print what is said of each thing beside its name."""
        if self.machine:
            return
        out = Table.grid(padding=(0, 2))
        for name, fact in pairs:
            out.add_row(Text(name), Text(fact))
        self._console().print(out)

    def next(self, *words: str) -> None:
        """The command that a person would type next, on one line that can be copied."""
        if not self.machine:
            line = Text(f"\nNext: {shlex.join([program(sys.argv[0]), *words])}")
            self._console().print(line, highlight=False, soft_wrap=True)

    def give(self, answer: Mapping[str, Any]) -> None:
        """Print the answer for a machine; nothing where a person listens."""
        if self.machine:
            json.dump(plain(answer), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write("\n")
            sys.stdout.flush()  # who has left is noticed here, not as Python ends

    def _console(self) -> Console:
        console = _Console(stderr=self.aside)
        # A file or a pipe has no edge to be kept within.
        return console if console.is_terminal else _Console(stderr=self.aside, width=_UNBOUND)


def _columns_within(width: int, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How many columns fit side by side, each with two spaces behind it; at least two."""
    widths = [
        max(cell_len(cell) for cell in column) + 2 for column in zip(heads, *rows, strict=True)
    ]
    return max(2, sum(total <= width for total in accumulate(widths)))


def plain(value: Any) -> Any:
    """The same in what JSON has: numbers that are none, such as infinity, become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def program(typed: str) -> str:
    """What to type for the command: its name where a shell finds it, else as it was typed."""
    if Path(typed).name != _NAME or not Path(typed).is_file():
        return _NAME
    found = shutil.which(_NAME)
    return _NAME if found is not None and Path(found).samefile(typed) else typed
