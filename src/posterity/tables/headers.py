"""Find the column names of delimited text, and where its rows begin."""

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
    """Column names of a text file, and where its rows begin.

    Attributes
    ----------
    separator : str
        Cell separator.
    names : tuple of str
        Unique column names.
    offset : int
        Number of bytes before the first row.
    line : int
        Line number of the first row.
    notes : tuple of str
        Remarks on the format for the user.
    """

    separator: str
    names: tuple[str, ...]
    offset: int
    line: int
    notes: tuple[str, ...]


def find_header(stream: streams.Stream, separator: str | None, *, tabs: bool = False) -> Header:
    """Read the header of a text; ``tabs`` if its file name implies tabs."""
    head = stream.read_head(sniffing.HEAD)
    sniffing.refuse_binary(head, stream.name, 1)
    whole = head if len(head) == sniffing.HEAD or head.endswith(b"\n") else head + b"\n"
    before = preambles.find_preamble(whole, separator, tabs=tabs, name=stream.name)
    row = _read_first_record(whole, before, stream.name)
    texts = [decode_text(cell or b"") for cell in records.split_cells(row, before.separator)]
    if all(_NUMBER.fullmatch(text) for text in texts):
        return _generate_names(before, len(texts) + before.row_names, whole)
    return _make_header_from_names(
        before, [""] * before.row_names + texts, whole, before.offset + len(row)
    )


def decode_text(text: bytes) -> str:
    """Decode bytes as UTF-8, or else as Windows-1252."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace")


def make_names_unique(names: Sequence[str]) -> tuple[str, ...]:
    """Make names unique: blank names become Unnamed, repeated names are numbered."""
    taken, numbers = set(names), dict[str, int]()
    found: dict[str, None] = {}  # an ordered set
    for position, name in enumerate(names, start=1):
        stem = name or f"Unnamed_{position}"
        is_free = stem not in found if name else stem not in taken
        new = stem if is_free else _append_number(stem, taken, numbers)
        found[new] = None
        taken.add(new)
    return tuple(found)


def _append_number(stem: str, taken: set[str], numbers: dict[str, int]) -> str:
    """Append the next free number to a name; ``numbers`` holds the last one used."""
    number = numbers.get(stem, 1) + 1
    while f"{stem}_{number}" in taken:
        number += 1
    numbers[stem] = number
    return f"{stem}_{number}"


def _read_first_record(head: bytes, before: preambles.Preamble, name: str) -> bytes:
    """Return the bytes of the header line."""
    found = records.find_records(head[before.offset :], before.separator)
    if len(found):
        return head[before.offset : before.offset + int(found.ends[0])]
    line = 1 + head.count(b"\n", 0, before.offset)
    raise columns.TableError(
        f"The header on line {line} of {name} does not end: a quote is not closed, or the line "
        f"is longer than {sniffing.HEAD:,} bytes."
    )


def _generate_names(before: preambles.Preamble, n_columns: int, head: bytes) -> Header:
    """Return generated column names for numbers without a header."""
    names = tuple(f"column_{i}" for i in range(1, n_columns + 1))
    called = names[0] if n_columns == 1 else f"{names[0]} to {names[-1]}"
    note = f"The first line contains only numbers, so the columns are named {called}."
    return _make_header(before, names, head, before.offset, (note,))


def _make_header_from_names(
    before: preambles.Preamble, texts: list[str], head: bytes, end: int
) -> Header:
    """Return the header of a line of names."""
    stripped = [" ".join(text.splitlines()).strip().lstrip("\ufeff") for text in texts]
    names = make_names_unique(stripped)
    changed = [new for old, new in zip(stripped, names, strict=True) if old != new]
    listed = ", ".join(changed[:5]) + (" and others" if len(changed) > 5 else "")
    note = f"Blank or repeated column names were changed: {listed}."
    return _make_header(before, names, head, end, (note,) if changed else ())


def _make_header(
    before: preambles.Preamble, names: tuple[str, ...], head: bytes, end: int, notes: Notes
) -> Header:
    """Return the header of a text whose rows begin after ``end`` bytes."""
    commas = before.separator == ";" and _DECIMAL_COMMA.search(head, end) is not None
    further = ("Numbers appear to use a decimal comma.",) if commas else ()
    said = before.notes + notes + further
    return Header(before.separator, names, end, 1 + head.count(b"\n", 0, end), said)
