"""The names of the columns of delimited text, and where its rows begin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from posterity.tables import columns, preambles, records, sniffing, streams

Notes: TypeAlias = tuple[str, ...]

_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(rb"(?:^|;) *-?\d+,\d+ *(?:;|\r?$)", re.MULTILINE)


@dataclass(frozen=True)
class Header:
    """Names of the columns, where the rows begin, and what a person should know of it.

    Attributes
    ----------
    separator : str
        What stands between cells.
    names : tuple of str
        One for each column, all different.
    offset : int
        Bytes before the first row.
    line : int
        Number of the line on which the first row begins.
    notes : tuple of str
        Sentences about what was found and what was decided.
    """

    separator: str
    names: tuple[str, ...]
    offset: int
    line: int
    notes: tuple[str, ...]


def find(stream: streams.Stream, separator: str | None, *, tabs: bool = False) -> Header:
    """Read the header of a text; ``tabs`` says that its name promises tabs."""
    head = stream.head(sniffing.HEAD)
    sniffing.refuse_binary(head, stream.name, 1)
    whole = head if len(head) == sniffing.HEAD or head.endswith(b"\n") else head + b"\n"
    before = preambles.find(whole, separator, tabs=tabs, name=stream.name)
    row = _first_record(whole, before, stream.name)
    texts = [decoded(cell or b"") for cell in records.cells(row, before.separator)]
    if all(_NUMBER.fullmatch(text) for text in texts):
        return _without_names(before, len(texts) + before.row_names, whole)
    return _with_names(before, [""] * before.row_names + texts, whole, before.offset + len(row))


def decoded(text: bytes) -> str:
    """Text of bytes that are UTF-8, or else what Windows wrote before it."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace")


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names with blank ones called Unnamed and repeated ones numbered."""
    taken, numbers = set(names), dict[str, int]()
    found: dict[str, None] = {}  # an ordered set
    for position, name in enumerate(names, start=1):
        stem = name or f"Unnamed_{position}"
        is_free = stem not in found if name else stem not in taken
        new = stem if is_free else _numbered(stem, taken, numbers)
        found[new] = None
        taken.add(new)
    return tuple(found)


def _numbered(stem: str, taken: set[str], numbers: dict[str, int]) -> str:
    """The stem with the next number that is free; ``numbers`` remembers where to go on."""
    number = numbers.get(stem, 1) + 1
    while f"{stem}_{number}" in taken:
        number += 1
    numbers[stem] = number
    return f"{stem}_{number}"


def _first_record(head: bytes, before: preambles.Preamble, name: str) -> bytes:
    """The bytes of the line of names."""
    found = records.scan(head[before.offset :], before.separator)
    if len(found):
        return head[before.offset : before.offset + int(found.ends[0])]
    line = 1 + head.count(b"\n", 0, before.offset)
    raise columns.TableError(
        f"The names of the columns, on line {line} of {name}, have no end: a quote is left open, "
        f"or the line is longer than {sniffing.HEAD:,} bytes."
    )


def _without_names(before: preambles.Preamble, n_columns: int, head: bytes) -> Header:
    """A header for rows of numbers that have none."""
    names = tuple(f"column_{i}" for i in range(1, n_columns + 1))
    called = names[0] if n_columns == 1 else f"{names[0]} to {names[-1]}"
    note = f"The first line holds only numbers: columns are called {called}."
    return _header(before, names, head, before.offset, (note,))


def _with_names(before: preambles.Preamble, texts: list[str], head: bytes, end: int) -> Header:
    """The header of a line of names."""
    stripped = [" ".join(text.splitlines()).strip().lstrip("\ufeff") for text in texts]
    names = unique(stripped)
    changed = [new for old, new in zip(stripped, names, strict=True) if old != new]
    listed = ", ".join(changed[:5]) + (" and others" if len(changed) > 5 else "")
    note = f"Blank or repeated names of columns were changed: {listed}."
    return _header(before, names, head, end, (note,) if changed else ())


def _header(
    before: preambles.Preamble, names: tuple[str, ...], head: bytes, end: int, notes: Notes
) -> Header:
    """The header of a text whose rows begin after ``end`` bytes."""
    commas = before.separator == ";" and _DECIMAL_COMMA.search(head, end) is not None
    further = ("Numbers seem to be written with a decimal comma.",) if commas else ()
    said = before.notes + notes + further
    return Header(before.separator, names, end, 1 + head.count(b"\n", 0, end), said)
