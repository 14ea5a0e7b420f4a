"""Read columns that are aligned by blanks, as text with tabs between cells."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from posterity.tables import columns, headers, sniffing, streams

_LOOKED_AT = 200  # lines
_FEWEST = 3  # lines, of which the first has the names
_NUMBER = re.compile(rb"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
_GAP = re.compile(r"(\S*)(\s+)(\S*)")
_SEPARATOR = re.compile(rb"[,;|\t]")
_CELL = re.compile(rb'"[^"]*"|[^\s"]+(?:"[^\s]*)?')


@dataclass(frozen=True)
class Layout:
    """How blanks separate cells.

    Attributes
    ----------
    gaps : tuple of (int, int)
        Start and end of the blanks between two columns; none if any run of blanks separates.
    """

    gaps: tuple[tuple[int, int], ...] = ()

    def split(self, line: bytes, number: int, name: str) -> list[bytes]:
        """Return the cells of a line; ``number`` and ``name`` are for messages."""
        if not self.gaps:
            return _CELL.findall(line) if b'"' in line else line.split()
        text = headers.decode_text(line)
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
    whole = head if len(head) < sniffing.HEAD else head[: head.rfind(b"\n")]
    lines = [line.rstrip(b"\r") for line in whole.split(b"\n") if line.strip()]
    lines = [line for line in lines if not line.startswith(b"#")][:_LOOKED_AT]
    if len(lines) < _FEWEST or _SEPARATOR.search(lines[0]) or b"\t" in b"".join(lines):
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
    texts = [headers.decode_text(line) for line in lines]
    width = max(map(len, texts))
    if width > sniffing.RECORDS_LOOKED_AT * 10:
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
    head = stream.read_head(sniffing.HEAD)
    if sniffing.is_delimited(head):
        return None
    layout = find_layout(head)
    return None if layout is None else replace(stream, layout=layout)
