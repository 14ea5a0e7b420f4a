"""Find the column names of delimited text, and where its rows begin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from posterity.tables import columns, records, streams

_EXCEL = re.compile(rb'sep=([^"\w\s\x80-\xff]|\t)\r?\n', re.IGNORECASE)
_BLANK_LINES = re.compile(rb"(?: *\r?\n)*")
_REMARK = re.compile(rb"#[^\n]*\n(?: *\r?\n)*")
_NUMERAL = re.compile(rb"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_SEPARATOR_NAMES = {"\t": "a tab", " ": "a blank"}
_MOST_TITLES = 5


@dataclass(frozen=True)
class Preamble:
    """Position of the header line.

    Attributes
    ----------
    offset : int
        Number of bytes before the header.
    separator : str
        Cell separator.
    row_names : bool
        Whether rows have one cell more than the header, as written by R.
    notes : tuple of str
        Remarks on the format for the user.
    """

    offset: int
    separator: str
    row_names: bool
    notes: tuple[str, ...]


def find_preamble(head: bytes, separator: str | None, *, tabs: bool, name: str) -> Preamble:
    """Skip byte-order marks, comments and titles; ``tabs`` if the file name implies tabs."""
    excel = _EXCEL.match(head)
    start = _skip_blank_lines(head, excel.end() if excel else 0, name)
    body = _skip_comments(head, start)
    given = separator or (excel[1].decode() if excel else None)
    if given:
        _refuse_wrong_separator(head[body:], given, name)
    chosen = given or _detect_separator(head[body:], tabs)
    n_before, row_names = _measure_titles(head[body:], chosen)
    notes = {
        f"Cells are separated by {name_separator(chosen)}.": chosen != ",",
        "Lines before the header that begin with # were skipped.": body > start,
        "Short lines before the header were skipped.": n_before > 0,
        "Rows have one cell more than the header: the first column holds row names.": row_names,
    }
    said = tuple(note for note, holds in notes.items() if holds)
    return Preamble(body + n_before, chosen, row_names, said)


def name_separator(separator: str) -> str:
    """Name a separator for messages."""
    return _SEPARATOR_NAMES.get(separator, f"'{separator}'")


def _skip_blank_lines(head: bytes, start: int, name: str) -> int:
    """Return the offset of the first line that is not blank."""
    match = _BLANK_LINES.match(head, start)
    at = match.end() if match else start
    if at >= len(head):
        raise columns.TableError(f"{name} is blank: it has no header and no rows.")
    return at


def _skip_comments(head: bytes, start: int) -> int:
    """Return the offset after comments, whose number of cells differs from the table."""
    ends = [start]
    while match := _REMARK.match(head, ends[-1]):
        ends.append(match.end())
    if len(ends) == 1 or ends[-1] >= len(head):
        return start
    sep = records.detect_separator(head[ends[-1] :]) or ","
    last, following = (records.count_cells(head[at:], sep)[:1].tolist() for at in ends[-2:])
    return ends[-2] if last == following != [1] else ends[-1]


def _detect_separator(text: bytes, tabs: bool) -> str:
    """Detect the separator of a text; a comma if there is a single column."""
    if tabs and b"\t" in text[: text.find(b"\n")]:
        return "\t"
    return records.detect_separator(text) or ","


def _refuse_wrong_separator(text: bytes, separator: str, name: str) -> None:
    """Raise if the given separator finds one column and another separator more."""
    better = records.detect_separator(text)
    if better and np.all(records.count_cells(text, separator) == 1):
        line = text[: text.find(b"\n")].decode("utf-8", "replace").strip()
        raise columns.TableError(
            f"With {name_separator(separator)} as separator {name} has a single column, "
            f"'{line[:60]}'; it "
            f"seems to be separated by {name_separator(better)}."
        )


def _measure_titles(text: bytes, separator: str) -> tuple[int, bool]:
    """Return the size of title lines, and whether the header lacks the row names."""
    found = records.find_records(text, separator)
    filled = np.flatnonzero(~_find_blank_records(text, found))[: records.RECORDS_LOOKED_AT]
    n_cells = found.n_cells[filled]
    uneven = np.flatnonzero(n_cells != n_cells[-1]) if n_cells.size else filled
    n_first = int(uneven[-1]) + 1 if uneven.size else 0
    enough = 1 <= n_first <= _MOST_TITLES and n_cells.size >= n_first + 2
    if not enough or np.any(n_cells[:n_first] >= n_cells[-1]):
        return 0, False
    is_followed_at_once = filled[1] == filled[0] + 1
    if n_first == 1 and n_cells[0] == n_cells[-1] - 1 and is_followed_at_once:
        start = found.start(int(filled[1]))
        if not _begins_with_names(text[start : found.start(int(filled[2]) + 1)], separator):
            return 0, True
    return found.start(int(filled[n_first])), False


def _begins_with_names(text: bytes, separator: str) -> bool:
    """Return whether a record of texts is followed by one with a number."""
    found = records.find_records(text, separator)
    cells = [
        records.split_cells(text[found.start(i) : found.start(i + 1)], separator) for i in (0, 1)
    ]
    named, numbered = ([bool(cell and _NUMERAL.fullmatch(cell)) for cell in row] for row in cells)
    return not any(named) and any(numbered)


def _find_blank_records(text: bytes, found: records.Records) -> np.ndarray:
    """Return which records are blank lines."""
    data = np.frombuffer(text, dtype=np.uint8)
    starts = np.concatenate([[0], found.ends[:-1]]).astype(np.int64)[: len(found)]
    sizes = found.ends - starts
    return (sizes == 1) | ((sizes == 2) & (data[starts] == ord("\r")))


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
    head = stream.read_head(streams.HEAD)
    streams.refuse_binary(head, stream.name, 1)
    whole = head if len(head) == streams.HEAD or head.endswith(b"\n") else head + b"\n"
    before = find_preamble(whole, separator, tabs=tabs, name=stream.name)
    row = _read_first_record(whole, before, stream.name)
    texts = [
        streams.decode_text(cell or b"") for cell in records.split_cells(row, before.separator)
    ]
    if all(_NUMBER.fullmatch(text) for text in texts):
        end, (names, notes) = before.offset, _number_names(len(texts) + before.row_names)
    else:
        end = before.offset + len(row)
        names, notes = _clean_names([""] * before.row_names + texts)
    if before.separator == ";" and _DECIMAL_COMMA.search(whole, end) is not None:
        notes += ("Numbers appear to use a decimal comma.",)
    line = 1 + whole.count(b"\n", 0, end)
    return Header(before.separator, names, end, line, before.notes + notes)


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


def _read_first_record(head: bytes, before: Preamble, name: str) -> bytes:
    """Return the bytes of the header line."""
    found = records.find_records(head[before.offset :], before.separator)
    if len(found):
        return head[before.offset : before.offset + int(found.ends[0])]
    line = 1 + head.count(b"\n", 0, before.offset)
    raise columns.TableError(
        f"The header on line {line} of {name} does not end: a quote is not closed, or the line "
        f"is longer than {streams.HEAD:,} bytes."
    )


def describe_renaming(old: Sequence[str], new: Sequence[str]) -> Notes:
    """Return a sentence that names the columns with other names than the file has."""
    changed = [b for a, b in zip(old, new, strict=True) if a != b]
    listed = ", ".join(changed[:5]) + (" and others" if len(changed) > 5 else "")
    return (f"Blank or repeated column names were changed: {listed}.",) if changed else ()


def _number_names(n_columns: int) -> tuple[tuple[str, ...], Notes]:
    """Return names for columns of numbers without a header, and a sentence about them."""
    names = tuple(f"column_{i}" for i in range(1, n_columns + 1))
    called = names[0] if n_columns == 1 else f"{names[0]} to {names[-1]}"
    return names, (f"The first line contains only numbers, so the columns are named {called}.",)


def _clean_names(texts: Sequence[str]) -> tuple[tuple[str, ...], Notes]:
    """Return the names of a header line made unique, and a sentence if they were changed."""
    stripped = [" ".join(text.splitlines()).strip().lstrip("\ufeff") for text in texts]
    names = make_names_unique(stripped)
    return names, describe_renaming(stripped, names)
