"""Rows of delimited text, in frames of text columns, whatever the size of the file.

The text is cut into whole records here, so that every complaint can name its line; polars then
takes the cells apart, and is only given text on which it cannot stumble.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from posterity.tables import columns, guards, headers, preambles, records, sniffing, streams

MAX_RECORD = 1 << 24  # bytes


@dataclass(frozen=True)
class Reader:
    """Text of which the header was read."""

    stream: streams.Stream
    header: headers.Header

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Frames of at most ``n_rows`` rows, in the order of the file."""
        for block in self._blocks():
            blank = self._checked(block)
            for low in range(0, len(block.found), n_rows):
                chosen = slice(low, min(low + n_rows, len(block.found)))
                text = _strict(block, chosen, blank[chosen], self.header.separator)
                n_kept = int(np.sum(~blank[chosen]))
                yield self._frame(text, n_kept)

    def _blocks(self) -> Iterator["_Block"]:
        """Whole records, a piece of the file at a time."""
        rest, line = b"", self.header.line
        for piece in streams.gathered(_after(self.stream, self.header.offset), streams.PIECE):
            text = rest + piece
            sniffing.refuse_binary(text, self.stream.name, line)
            block = _Block(text, records.scan(text, self.header.separator), line)
            if len(block.found):
                yield block
            line += text.count(b"\n", 0, block.size)
            rest = text[block.size :]
            if len(rest) > MAX_RECORD:
                raise self._endless(line, f"is longer than {MAX_RECORD:,} bytes")
        if rest:
            last = _Block(rest + b"\n", records.scan(rest + b"\n", self.header.separator), line)
            if last.size <= len(rest):
                raise self._endless(line + last.text.count(b"\n", 0, last.size), "has no end")
            yield last

    def _checked(self, block: "_Block") -> np.ndarray:
        """Which records are blank lines; raises where one has the wrong number of cells."""
        n_columns = len(self.header.names)
        blank = np.zeros(len(block.found), dtype=np.bool_)
        for i in np.flatnonzero(block.found.n_cells != n_columns).tolist():
            if block.record(i).strip():
                raise self._ragged(block, i)
            blank[i] = True
        return blank

    def _frame(self, text: bytes, n_rows: int) -> pl.DataFrame:
        """The frame of records that are known to be regular."""
        names, separator = self.header.names, self.header.separator
        # A first line of our own: polars takes a text that begins with x^ for a zlib archive.
        first = separator.join(map(str, range(len(names)))).encode()
        with guards.polars_refusing(self.stream.name):
            frame = pl.read_csv(b"%b\n%b" % (first, text), separator=separator, infer_schema=False)
        if frame.shape != (n_rows, len(names)):
            raise columns.TableError(
                f"{self.stream.name} was cut into {frame.height:,} rows where {n_rows:,} were "
                "counted; its quotes may be damaged. Save it again as CSV."
            )
        frame.columns = list(names)
        return frame

    def _ragged(self, block: "_Block", index: int) -> columns.TableError:
        """What to say of a record with too many or too few cells."""
        record, n_cells = block.record(index), int(block.found.n_cells[index])
        n_columns, line = len(self.header.names), block.line_of(index)
        said = (
            f"Line {line} of {self.stream.name} has {n_cells:,} "
            f"{'cell' if n_cells == 1 else 'cells'} where the header has {n_columns:,}"
        )
        advice = _advice(record, self.header.separator, too_few=n_cells < n_columns)
        return columns.TableError(f"{said}{advice}")

    def _endless(self, line: int, what: str) -> columns.TableError:
        """What to say of a record whose end is not found."""
        return columns.TableError(
            f"The record that begins on line {line} of {self.stream.name} {what}: a quote is left "
            "open there, or this is not a table of text."
        )


@dataclass(frozen=True)
class _Block:
    """A text, its whole records, and the number of its first line."""

    text: bytes
    found: records.Records
    line: int

    @property
    def size(self) -> int:
        """Bytes in whole records."""
        return self.found.start(len(self.found))

    def record(self, index: int) -> bytes:
        """The bytes of one record."""
        return self.text[self.found.start(index) : self.found.start(index + 1)]

    def line_of(self, index: int) -> int:
        """Number of the line on which a record begins."""
        return self.line + self.text.count(b"\n", 0, self.found.start(index))


def _after(stream: streams.Stream, offset: int) -> Iterator[bytes]:
    """The pieces of a stream from an offset on."""
    to_skip = offset
    for piece in stream.pieces():
        yield piece[to_skip:]
        to_skip = max(0, to_skip - len(piece))


def _advice(record: bytes, separator: str, *, too_few: bool) -> str:
    """What a person may do about a record with the wrong number of cells."""
    n_lines = record.count(b"\n")
    if n_lines > 1:
        return f", and runs over {n_lines} lines: a quote may be left open in it."
    if record.startswith(b"#"):
        return ": if it is a remark, take it out."
    if b'\\"' in record:
        return ': a quote inside a quoted cell is written twice, "", not \\".'
    if too_few:
        return f": an empty cell, too, needs {preambles.spoken(separator)} beside it."
    return f": a cell that holds {preambles.spoken(separator)} must stand in quotes."


def _strict(block: _Block, chosen: slice, blank: np.ndarray, separator: str) -> bytes:
    """The chosen records as UTF-8 that a strict reader takes, blank lines left out."""
    text = block.text[block.found.start(chosen.start) : block.found.start(chosen.stop)]
    odd = block.found.odd[chosen]
    if not (blank.any() or odd.any()) and _is_utf8(text):
        return text
    ends = [block.found.start(chosen.start), *block.found.ends[chosen].tolist()]
    return b"".join(
        _strict_record(block.text[ends[i] : ends[i + 1]], separator if odd[i] else None)
        for i in np.flatnonzero(~blank).tolist()
    )


def _strict_record(record: bytes, separator: str | None) -> bytes:
    """One record as UTF-8, its cells quoted anew where a separator is given."""
    plain = records.quoted(records.cells(record, separator), separator) if separator else record
    return plain if _is_utf8(plain) else headers.decoded(plain).encode()


def _is_utf8(text: bytes) -> bool:
    """Whether a text can be read as UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
