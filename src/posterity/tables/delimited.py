"""Read delimited text in batches of text columns, for files of any size.

Records are split here, so that errors can name their line. Polars then splits the cells; it only
receives text that it parses without error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from posterity.tables import columns, headers, records, streams

MAX_RECORD = 1 << 24  # bytes


@dataclass(frozen=True)
class DelimitedReader:
    """A reader of delimited text whose header is known."""

    stream: streams.Stream
    header: headers.Header

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in file order."""
        for block in self._blocks():
            blank = self._find_blank_records(block)
            for low in range(0, len(block.found), n_rows):
                chosen = slice(low, min(low + n_rows, len(block.found)))
                text = _format_strict_records(block, chosen, blank[chosen], self.header.separator)
                n_kept = int(np.sum(~blank[chosen]))
                yield self._parse_frame(text, n_kept)

    def _blocks(self) -> Iterator["_RecordBlock"]:
        """Yield blocks of whole records."""
        rest, line = b"", self.header.line
        for piece in _skip_bytes(self.stream, self.header.offset):
            text = rest + piece
            streams.refuse_binary(text, self.stream.name, line)
            block = _RecordBlock(text, records.find_records(text, self.header.separator), line)
            if len(block.found):
                yield block
            line += text.count(b"\n", 0, block.size)
            rest = text[block.size :]
            if len(rest) > MAX_RECORD:
                raise self._make_unclosed_record_error(line, f"is longer than {MAX_RECORD:,} bytes")
        if rest:
            last = _RecordBlock(
                rest + b"\n", records.find_records(rest + b"\n", self.header.separator), line
            )
            if last.size <= len(rest):
                raise self._make_unclosed_record_error(
                    line + last.text.count(b"\n", 0, last.size), "has no end"
                )
            yield last

    def _find_blank_records(self, block: "_RecordBlock") -> np.ndarray:
        """Return which records are blank; raise if one has the wrong number of cells."""
        n_columns = len(self.header.names)
        blank = np.zeros(len(block.found), dtype=np.bool_)
        for i in np.flatnonzero(block.found.n_cells != n_columns).tolist():
            if block.record(i).strip():
                raise self._make_cell_count_error(block, i)
            blank[i] = True
        return blank

    def _parse_frame(self, text: bytes, n_rows: int) -> pl.DataFrame:
        """Parse records that were checked into a frame."""
        names, separator = self.header.names, self.header.separator
        # Prepend a header line: polars treats text that begins with x^ as a zlib archive.
        first = separator.join(map(str, range(len(names)))).encode()
        with streams.convert_polars_errors(self.stream.name):
            frame = pl.read_csv(b"%b\n%b" % (first, text), separator=separator, infer_schema=False)
        if frame.shape != (n_rows, len(names)):
            raise columns.TableError(
                f"{self.stream.name} was parsed into {frame.height:,} rows, but {n_rows:,} were "
                "counted; its quotes may be damaged. Save the file again as CSV."
            )
        frame.columns = list(names)
        return frame

    def _make_cell_count_error(self, block: "_RecordBlock", index: int) -> columns.TableError:
        """Return the error for a record with too many or too few cells."""
        record, n_cells = block.record(index), int(block.found.n_cells[index])
        n_columns, line = len(self.header.names), block.line_of(index)
        said = (
            f"Line {line} of {self.stream.name} has {n_cells:,} "
            f"{'cell' if n_cells == 1 else 'cells'} but the header has {n_columns:,}"
        )
        advice = (
            _advise_on_cell_count(record, self.header.separator, too_few=n_cells < n_columns)
            if self.stream.layout is None
            else ": cells that are aligned by blanks must not be empty or contain blanks. Save the "
            "file as CSV."
        )
        return columns.TableError(f"{said}{advice}")

    def _make_unclosed_record_error(self, line: int, what: str) -> columns.TableError:
        """Return the error for a record without an end."""
        return columns.TableError(
            f"The record that begins on line {line} of {self.stream.name} {what}: a quote is not "
            "closed, or the file is not a text table."
        )


@dataclass(frozen=True)
class _RecordBlock:
    """A piece of text, its whole records, and its first line number."""

    text: bytes
    found: records.Records
    line: int

    @property
    def size(self) -> int:
        """Number of bytes in whole records."""
        return self.found.start(len(self.found))

    def record(self, index: int) -> bytes:
        """Return the bytes of one record."""
        return self.text[self.found.start(index) : self.found.start(index + 1)]

    def line_of(self, index: int) -> int:
        """Return the line number at which a record starts."""
        return self.line + self.text.count(b"\n", 0, self.found.start(index))


def _skip_bytes(stream: streams.Stream, offset: int) -> Iterator[bytes]:
    """Yield the pieces of a stream starting at an offset."""
    to_skip = offset
    for piece in stream.pieces():
        yield piece[to_skip:]
        to_skip = max(0, to_skip - len(piece))


def _advise_on_cell_count(record: bytes, separator: str, *, too_few: bool) -> str:
    """Return advice for a record with the wrong number of cells."""
    n_lines = record.count(b"\n")
    if n_lines > 1:
        return f", and spans {n_lines} lines: a quote may not be closed."
    if record.startswith(b"#"):
        return ": if it is a comment, remove it."
    if b'\\"' in record:
        return ': write a quote inside a quoted cell twice, "", not \\".'
    if too_few:
        return f": separate empty cells with {headers.name_separator(separator)} too."
    return f": put cells that contain {headers.name_separator(separator)} in quotes."


def _format_strict_records(
    block: _RecordBlock, chosen: slice, blank: np.ndarray, separator: str
) -> bytes:
    """Return the chosen records as strict UTF-8 CSV, without blank lines."""
    text = block.text[block.found.start(chosen.start) : block.found.start(chosen.stop)]
    odd = block.found.odd[chosen]
    if not (blank.any() or odd.any()) and _is_utf8(text):
        return text
    ends = [block.found.start(chosen.start), *block.found.ends[chosen].tolist()]
    return b"".join(
        _format_strict_record(block.text[ends[i] : ends[i + 1]], separator if odd[i] else None)
        for i in np.flatnonzero(~blank).tolist()
    )


def _format_strict_record(record: bytes, separator: str | None) -> bytes:
    """Return one record as UTF-8, with its cells requoted if a separator is given."""
    plain = (
        records.format_record(records.split_cells(record, separator), separator)
        if separator
        else record
    )
    return plain if _is_utf8(plain) else streams.decode_text(plain).encode()


def _is_utf8(text: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
