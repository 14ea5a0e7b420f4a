"""Split delimited text into records by the quoting rules of CSV (a state machine).

A quote opens a quoted cell only at its start (leading blanks are ignored), is doubled inside a
quoted cell, and is an ordinary character elsewhere.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from posterity import compilation

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
