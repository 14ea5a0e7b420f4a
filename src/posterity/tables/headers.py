"""What stands before the rows of delimited text: marks, remarks and the names of the columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from posterity.tables import columns, records, sniffing, streams

_EXCEL = re.compile(rb"sep=(.)\r?\n", re.IGNORECASE)
_BLANK_LINES = re.compile(rb"(?: *\r?\n)*")
_REMARK = re.compile(rb"#[^\n]*\n")
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(rb"(?:^|;) *-?\d+,\d+ *(?:;|\r?$)", re.MULTILINE)
_WORDS = {"\t": "a tab", " ": "a blank"}


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
    excel = _EXCEL.match(whole)
    start = _after_blank_lines(whole, excel.end() if excel else 0, stream.name)
    body = _after_remarks(whole, start)
    cut = separator or (excel[1].decode("latin-1") if excel else None)
    chosen = cut or _sniffed(whole[body:], tabs)
    row = _first_record(whole, body, chosen, stream.name)
    if cut:
        _refuse_wrong_separator(row, whole[body:], chosen, stream.name)
    return _header(whole, body, row, chosen, remarks=body > start)


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


def spoken(separator: str) -> str:
    """A separator as it is called in a sentence."""
    return _WORDS.get(separator, f"'{separator}'")


def _numbered(stem: str, taken: set[str], numbers: dict[str, int]) -> str:
    """The stem with the next number that is free; ``numbers`` remembers where to go on."""
    number = numbers.get(stem, 1) + 1
    while f"{stem}_{number}" in taken:
        number += 1
    numbers[stem] = number
    return f"{stem}_{number}"


def _after_blank_lines(head: bytes, start: int, name: str) -> int:
    """Where the first line with something on it begins."""
    match = _BLANK_LINES.match(head, start)
    at = match.end() if match else start
    if at >= len(head):
        raise columns.TableError(f"{name} holds no names of columns and no rows: it is blank.")
    return at


def _after_remarks(head: bytes, start: int) -> int:
    """Where the line of names begins: remarks have another number of cells than what follows."""
    ends = [start]
    while match := _REMARK.match(head, ends[-1]):
        ends.append(match.end())
    if ends[-1] >= len(head):
        return start
    if len(ends) == 1:
        return start
    last, following = (
        _n_cells(head[at:], sniffing.separator(head[ends[-1] :])) for at in ends[-2:]
    )
    return ends[-2] if last == following > 1 else ends[-1]


def _n_cells(text: bytes, separator: str | None) -> int:
    """How many cells the first record of a text has; 1 where it has no end."""
    n_cells = records.scan(text, separator or ",").n_cells
    return int(n_cells[0]) if n_cells.size else 1


def _sniffed(text: bytes, tabs: bool) -> str:
    """The separator of a text, a comma where there seems to be a single column."""
    if tabs and b"\t" in text[: text.find(b"\n")]:
        return "\t"
    return sniffing.separator(text) or ","


def _first_record(head: bytes, start: int, separator: str, name: str) -> bytes:
    """The bytes of the line of names."""
    found = records.scan(head[start:], separator)
    if len(found):
        return head[start : start + int(found.ends[0])]
    line = 1 + head.count(b"\n", 0, start)
    raise columns.TableError(
        f"The names of the columns, on line {line} of {name}, have no end: a quote is left open, "
        f"or the line is longer than {sniffing.HEAD:,} bytes."
    )


def _refuse_wrong_separator(row: bytes, text: bytes, separator: str, name: str) -> None:
    """Raise where the given separator cuts nothing and another one would."""
    better = sniffing.separator(text)
    if len(records.cells(row, separator)) == 1 and better:
        raise columns.TableError(
            f"With {spoken(separator)} as separator {name} has a single column, "
            f"'{decoded(row).strip()[:60]}'; it seems to be separated by {spoken(better)}."
        )


def _header(head: bytes, start: int, row: bytes, separator: str, *, remarks: bool) -> Header:
    """The header of a line of names, or of a first line that has none."""
    texts = [decoded(cell or b"") for cell in records.cells(row, separator)]
    named = not all(_NUMBER.fullmatch(text) for text in texts)
    stripped = [" ".join(text.split("\n")).strip().lstrip("\ufeff") for text in texts]
    names = unique(stripped if named else [f"column_{i}" for i in range(1, len(texts) + 1)])
    end = start + len(row) if named else start
    notes = [f"Cells are separated by {spoken(separator)}."] if separator != "," else []
    if remarks:
        notes.append("Lines that begin with # before the names were left out.")
    if not named:
        notes.append(f"The first line holds only numbers: columns are called {_range(names)}.")
    elif names != tuple(stripped):
        notes.append(f"Blank or repeated names of columns were changed: {_renamed(stripped)}.")
    if separator == ";" and _DECIMAL_COMMA.search(head, end):
        notes.append("Numbers seem to be written with a decimal comma.")
    return Header(separator, names, end, 1 + head.count(b"\n", 0, end), tuple(notes))


def _range(names: Sequence[str]) -> str:
    """First and last of numbered names."""
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _renamed(old: Sequence[str]) -> str:
    """A few of the names that were changed, for a person."""
    changed = [new for before, new in zip(old, unique(old), strict=True) if before != new]
    return ", ".join(changed[:5]) + (" and others" if len(changed) > 5 else "")
