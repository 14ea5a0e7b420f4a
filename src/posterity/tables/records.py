"""Split text into records and cells: by separators, or where blanks align the columns.

Delimited text follows the quoting rules of CSV, which a state machine knows.

A quote opens a quoted cell only at its start (leading blanks are ignored), is doubled inside a
quoted cell, and is an ordinary character elsewhere.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from posterity import compilation
from posterity.tables import columns, streams

SEPARATORS = (",", ";", "\t", "|")
_BLANK_SEPARATED = re.compile(rb"[^\n]+\n[-+.\d]+( [-+.\deE]+)+\r?\n[^\n]")  # names, then numbers
RECORDS_LOOKED_AT = 200
_OTHER, _SEPARATOR, _NEWLINE, _QUOTE, _BLANK, _RETURN = range(6)
_START, _PLAIN, _QUOTED, _CLOSED, _BLANKS, _RETURNED = range(6)
_STATE: Final = 7  # mask of the state; above it, what the step means
_CELL: Final = 8  # a cell ended
_RECORD: Final = 16  # a record ended
_ODD: Final = 32  # a quote or a carriage return on which strict readers disagree

_NEXT, _END, _ODDLY = _START | _CELL, _START | _RECORD, _PLAIN | _ODD
# fmt: off
_STEPS = np.array([
    # other   separator     newline  quote           blank    return
    [_PLAIN,  _NEXT,        _END,    _QUOTED,        _BLANKS, _RETURNED],  # start of a cell
    [_PLAIN,  _NEXT,        _END,    _ODDLY,         _PLAIN,  _RETURNED],  # plain
    [_QUOTED, _QUOTED,      _QUOTED, _CLOSED,        _QUOTED, _QUOTED],    # quoted
    [_ODDLY,  _NEXT,        _END,    _QUOTED,        _ODDLY,  _RETURNED],  # closed, or a quote
    [_PLAIN,  _NEXT,        _END,    _QUOTED | _ODD, _BLANKS, _RETURNED],  # blanks at the start
    [_ODDLY,  _NEXT | _ODD, _END,    _ODDLY,         _ODDLY,  _ODDLY],     # returned
], dtype=np.uint8)
# fmt: on
_BYTES = {"\n": _NEWLINE, '"': _QUOTE, " ": _BLANK, "\r": _RETURN}


@dataclass(frozen=True)
class Records:
    """The complete records of a piece of text.

    Attributes
    ----------
    ends : (R,) int64
        End offset of each record, newline included.
    n_cells : (R,) int64
        Number of cells of each record.
    odd : (R,) bool
        Whether the record has quotes or carriage returns that strict readers treat differently.
    """

    ends: np.ndarray
    n_cells: np.ndarray
    odd: np.ndarray

    def start(self, index: int) -> int:
        """Return the start offset of a record."""
        return int(self.ends[index - 1]) if index else 0

    def __len__(self) -> int:
        return len(self.ends)


def find_records(text: bytes, separator: str) -> Records:
    """Find the complete records of a text; an unfinished last record is ignored.

    Parameters
    ----------
    text : bytes
        Bytes in any encoding that extends ASCII.
    separator : str
        One ASCII character.

    Returns
    -------
    Records
        Records that end in a newline outside quotes.

    Examples
    --------
    >>> found = find_records(b'1,2\\n"a\\nb",3\\nrest', ",")
    >>> found.ends.tolist(), found.n_cells.tolist()
    ([4, 12], [2, 2])
    """
    n_lines = text.count(b"\n")
    ends, n_cells = np.empty(n_lines, dtype=np.int64), np.empty(n_lines, dtype=np.int64)
    odd = np.empty(n_lines, dtype=np.bool_)
    data = np.frombuffer(text, dtype=np.uint8)
    n = _run_transitions(data, _make_transitions(separator), ends, n_cells, odd)
    return Records(ends[:n], n_cells[:n], odd[:n])


def split_cells(record: bytes, separator: str) -> list[bytes | None]:
    """Return the unquoted cells of one record; None for empty unquoted cells."""
    body = record.removesuffix(b"\n").removesuffix(b"\r")
    sep, blanks = re.escape(separator.encode()), b"" if separator == " " else b" *"
    cell = re.compile(rb'%b"([^"]*(?:""[^"]*)*)"([^%b]*)|([^%b]*)' % (blanks, sep, sep))
    found, start = [], 0
    while True:
        match = cell.match(body, start)
        assert match is not None  # the last alternative also matches nothing
        found.append(_unquote_cell(match))
        if match.end() >= len(body):
            return found
        start = match.end() + 1


def format_record(values: list[bytes | None], separator: str) -> bytes:
    """Format cells as one strict CSV record."""
    texts = (b"" if v is None else b'"%b"' % v.replace(b'"', b'""') for v in values)
    return separator.encode().join(texts) + b"\n"


def _unquote_cell(match: re.Match[bytes]) -> bytes | None:
    """Return the text of a cell, including text after a closing quote."""
    inside, tail, plain = match.groups()
    return plain or None if inside is None else inside.replace(b'""', b'"') + tail.rstrip(b" \r")


def _make_transitions(separator: str) -> np.ndarray:
    """Return the transition table, indexed by state and byte."""
    steps = np.repeat(_STEPS[:, [_OTHER]], 256, axis=1)
    for character, kind in (_BYTES | {separator: _SEPARATOR}).items():
        steps[:, ord(character)] = _STEPS[:, kind]
    return steps


@compilation.compile_at_first_call
def _run_transitions(
    data: np.ndarray, steps: np.ndarray, ends: np.ndarray, n_cells: np.ndarray, odd: np.ndarray
) -> int:
    """Run the state machine over the bytes; return the number of records."""
    state, n, n_here, odd_here = 0, 0, 1, 0
    for i in range(data.size):
        step = steps[state, data[i]]
        state = step & _STATE
        if step > _STATE:
            odd_here |= step & _ODD
            n_here += (step & _CELL) != 0
            if step & _RECORD:
                ends[n], n_cells[n], odd[n] = i + 1, n_here, odd_here != 0
                n, n_here, odd_here = n + 1, 1, 0
    return n


def detect_separator(head: bytes) -> str | None:
    """Return the separator with the most regular number of cells, or None."""
    scores = {candidate: _measure_evenness(head, candidate) for candidate in SEPARATORS}
    best = max(scores, key=lambda candidate: scores[candidate])
    if scores[best] > (0.0, 0):
        return best
    return " " if _BLANK_SEPARATED.match(head) and _measure_evenness(head, " ")[0] == 1.0 else None


def is_delimited(head: bytes) -> bool:
    """Return whether a separator gives every record the same number of cells."""
    return any(_measure_evenness(head, candidate)[0] == 1.0 for candidate in SEPARATORS)


def count_cells(text: bytes, separator: str) -> np.ndarray:
    """Return the number of cells of the first records."""
    return find_records(text, separator).n_cells[:RECORDS_LOOKED_AT]


def _measure_evenness(head: bytes, candidate: str) -> tuple[float, int]:
    """Return the fraction of records with the typical number of cells, and that number."""
    found = count_cells(head, candidate)
    if not found.size:
        return 0.0, 0
    typical = {int(found[0]), int(np.sort(found)[found.size // 2])} - {1}
    return max(((float(np.mean(found == n)), n) for n in typical), default=(0.0, 0))


_LOOKED_AT = 200  # lines
_FEWEST = 3  # lines, of which the first has the names
_NUMBER = re.compile(rb"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
_GAP = re.compile(r"(\S*)(\s+)(\S*)")
_MARKS = re.compile(rb"[,;|\t]")
_PIECES = re.compile(rb'"[^"]*"|[^\s"]+(?:"[^\s]*)?')


@dataclass(frozen=True)
class Layout:
    """The blanks between the columns of a text.

    Attributes
    ----------
    gaps : tuple of (int, int)
        Start and end of the blanks between two columns; none if any run of blanks separates.
    """

    gaps: tuple[tuple[int, int], ...] = ()

    def split(self, line: bytes, number: int, name: str) -> list[bytes]:
        """Return the cells of a line; ``number`` and ``name`` are for messages."""
        if not self.gaps:
            return _PIECES.findall(line) if b'"' in line else line.split()
        text = streams.decode_text(line)
        cuts = [0, *(_find_cut(text, *gap) for gap in self.gaps), len(text)]
        if -1 in cuts:
            start, end = self.gaps[cuts.index(-1) - 1]
            raise columns.TableError(
                f"Line {number} of {name} has characters at positions {start + 1} to {end}, where "
                "the lines before it have blanks between two cells. Save the file as CSV."
            )
        return [text[a:b].strip().encode() for a, b in pairwise(cuts)]

    def convert(self, pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
        """Yield the text with a tab between cells, line by line."""
        rest, number = b"", 0
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            yield b"".join(
                self._convert_line(line, number + i, name) for i, line in enumerate(lines, 1)
            )
            number += len(lines)
        if rest:
            yield self._convert_line(rest, number + 1, name)

    def _convert_line(self, line: bytes, number: int, name: str) -> bytes:
        if not line.strip() or line.startswith(b"#"):
            return line.strip() + b"\n"
        return b"\t".join(map(_quote, self.split(line.rstrip(b"\r"), number, name))) + b"\n"


def find_layout(head: bytes) -> Layout | None:
    """Return how blanks separate the cells of a text; None if they do not.

    One column must hold numbers: a text of sentences has blanks too.

    Examples
    --------
    >>> find_layout(b"name    age\\nAnn      34\\nBernard  5\\n")
    Layout(gaps=())
    >>> find_layout(b"name      age\\nAnn Lee    34\\nBernard     5\\n")
    Layout(gaps=((7, 10),))
    """
    whole = head if len(head) < streams.HEAD else head[: head.rfind(b"\n")]
    lines = [line.rstrip(b"\r") for line in whole.split(b"\n") if line.strip()]
    lines = [line for line in lines if not line.startswith(b"#")][:_LOOKED_AT]
    if len(lines) < _FEWEST or _MARKS.search(lines[0]) or b"\t" in b"".join(lines):
        return None
    runs = Layout()
    cells = [runs.split(line, 0, "") for line in lines]
    counts = {len(row) for row in cells[1:]}
    n = max(counts)
    if len(counts) == 1 and n > 1 and len(cells[0]) in (n, n - 1):
        return runs if _has_numbers(cells[1:]) else None
    return _find_fixed_widths(lines)


def _find_fixed_widths(lines: list[bytes]) -> Layout | None:
    """Return the columns between positions that are blank in every line."""
    texts = [streams.decode_text(line) for line in lines]
    width = max(map(len, texts))
    if width > RECORDS_LOOKED_AT * 10:
        return None
    filled = np.zeros(width + 1, dtype=np.bool_)
    for text in texts:
        filled[: len(text)] |= [not character.isspace() for character in text]
    steps = np.diff(filled.astype(np.int8), prepend=0)
    starts, ends = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    layout = Layout(tuple(zip(ends, starts[1:], strict=False)))
    if len(starts) < 2:
        return None
    rows = [layout.split(line, 0, "") for line in lines]
    is_full = np.mean([bool(cell) for row in rows for cell in row]) >= 0.5
    return layout if all(rows[0]) and is_full and _has_numbers(rows[1:]) else None


def _find_cut(text: str, start: int, end: int) -> int:
    """Return where to cut a line between two columns, -1 if a cell is there.

    A cell may be longer than those of the first lines and reach into the gap from either side.
    """
    gap = text[start:end].ljust(end - start)
    match = _GAP.fullmatch(gap)
    before, after = text[start - 1 : start].strip(), text[end : end + 1].strip()
    if match is None or (match[1] and not before) or (match[3] and not after):
        return -1
    return start + match.end(2)


def _has_numbers(rows: list[list[bytes]]) -> bool:
    """Return whether a column holds numbers only."""
    filled = ([cell for cell in column if cell] for column in zip(*rows, strict=True))
    return any(column and all(map(_NUMBER.fullmatch, column)) for column in filled)


def _quote(cell: bytes) -> bytes:
    """Quote a cell that contains a quote or a tab."""
    if cell.startswith(b'"') and cell.endswith(b'"') and len(cell) > 1:
        return cell
    return b'"%b"' % cell.replace(b'"', b'""') if b'"' in cell or b"\t" in cell else cell


def align_stream(stream: streams.Stream) -> streams.Stream | None:
    """Return the stream with tabs between cells if blanks align its columns."""
    head = stream.read_head(streams.HEAD)
    if is_delimited(head):
        return None
    layout = find_layout(head)
    return None if layout is None else replace(stream, layout=layout)
