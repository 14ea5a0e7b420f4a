"""Open tables in files, and read them in batches, whole, or as a sample."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import (
    columns,
    delimited,
    excel,
    headers,
    json_lines,
    parquet,
    records,
    streams,
)

_NEVER = '"\n\r\0.+-_'  # not allowed as separators: they have a meaning inside cells


@dataclass(frozen=True)
class Sample:
    """Sampled rows of a table.

    Attributes
    ----------
    frame : polars.DataFrame
        The rows, in file order.
    n_rows : int
        Number of rows of the file.
    positions : ndarray of shape (n,), optional
        Row numbers in the file, from 0; None if all rows were kept.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> tables.Sample(pl.DataFrame({"x": [1, 2]}), n_rows=10).frame.height
    2
    """

    frame: pl.DataFrame
    n_rows: int
    positions: NDArray[np.int64] | None = None


def keep_all_rows(batches: Iterable[pl.DataFrame]) -> Sample:
    """Return all rows as a sample."""
    frame = pl.concat(list(batches), how="vertical", rechunk=True)
    return Sample(frame, frame.height)


def sample_rows(batches: Iterable[pl.DataFrame], size: int, rng: np.random.Generator) -> Sample:
    """Draw a uniform sample of at most ``size`` rows.

    Each row gets a random number and those with the smallest are kept, so the sample does not
    depend on the batch size.
    """
    kept: list[pl.DataFrame] = []
    draws, places = np.empty(0), np.empty(0, dtype=np.int64)
    n_seen, limit = 0, np.inf
    for batch in batches:
        new = rng.random(batch.height)
        inside = np.flatnonzero(new < limit)
        kept.append(batch[inside])
        draws = np.concatenate([draws, new[inside]])
        places = np.concatenate([places, n_seen + inside])
        n_seen += batch.height
        if draws.size > 2 * size:
            kept, draws, places = _keep_smallest(kept, draws, places, size)
            limit = draws.max(initial=0.0)
    kept, draws, places = _keep_smallest(kept, draws, places, size)
    return Sample(kept[0].rechunk(), n_seen, places)


def _keep_smallest(
    frames: list[pl.DataFrame], draws: Array, places: NDArray[np.int64], size: int
) -> tuple[list[pl.DataFrame], Array, NDArray[np.int64]]:
    """Keep the rows with the smallest draws, in row order."""
    frame = pl.concat(frames, how="vertical")
    chosen = np.sort(np.argsort(draws, kind="stable")[:size])
    return [frame[chosen]], draws[chosen], places[chosen]


class BatchReader(Protocol):
    """Protocol of readers that return the rows of a file in batches."""

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]: ...


@dataclass(frozen=True)
class Source:
    """A table in a file, returned by ``open_source``.

    Columns of CSV files are text, missing where a cell is empty; columns of Parquet and JSON lines
    have the types of the file.

    Attributes
    ----------
    path : str
        The given path; "-" is standard input.
    format : "csv", "parquet", "jsonl" or "excel"
        Format of the file.
    columns : tuple of str
        Column names.
    separator : str or None
        Cell separator of a CSV file.
    compressed : bool
        Whether the file is gzip-compressed.
    encoding : str
        "utf-8", "utf-16", or "cp1252" if some of the first lines are not UTF-8; empty for Parquet.
        Any line that is not UTF-8 is read as Windows-1252.
    notes : tuple of str
        Remarks on the format for the user.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cars.csv"
    >>> _ = path.write_text("name;weight\\nKombi;1,4\\nRoller;\\n")
    >>> source = tables.open_source(path)
    >>> source.columns, source.notes[0]
    (('name', 'weight'), "Cells are separated by ';'.")
    >>> [batch.rows() for batch in source.batches()]
    [[('Kombi', '1,4'), ('Roller', None)]]
    """

    path: str
    format: streams.Format
    columns: tuple[str, ...]
    reader: BatchReader = field(repr=False)
    separator: str | None = None
    compressed: bool = False
    encoding: str = ""
    notes: tuple[str, ...] = ()

    def batches(self, n_rows: int = 50_000) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames of at most ``n_rows``, in file order.

        Memory does not grow with the file. There is at least one frame; it is empty if the file has
        no rows.
        """
        if n_rows < 1:
            raise ValueError(f"n_rows is {n_rows}, but a batch needs at least one row.")
        without_rows = pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
        n_seen = 0
        for frame in self.reader.batches(n_rows):
            n_seen += frame.height
            if frame.height:
                yield frame
            else:
                without_rows = frame
        if not n_seen:
            yield without_rows

    def read(self, max_rows: int | None = None, *, seed: int = 0) -> Sample:
        """Read all rows, or a uniform random sample of ``max_rows``, in file order.

        Parameters
        ----------
        max_rows : int, optional
            Maximum number of rows. The file is read once and never held in memory as a whole.
        seed : int, default=0
            Random seed of the sample.

        Returns
        -------
        Sample
            The rows, and the number of rows of the file.
        """
        if max_rows is None:
            return keep_all_rows(self.batches())
        if max_rows < 1:
            raise ValueError(f"max_rows is {max_rows}, but a sample needs at least one row.")
        return sample_rows(self.batches(), max_rows, np.random.default_rng(seed))


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
) -> Source:
    """Open a table file and detect its format.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, Parquet, JSON lines or Excel file, optionally gzip-compressed; "-" is standard
        input. Excel files require ``posterity[excel]``.
    format : "csv", "parquet", "jsonl" or "excel", optional
        By default detected from the file name, or else from the first bytes.
    separator : str, optional
        Cell separator, one character. By default comma, semicolon, tab, bar or blanks, as detected
        from the first lines.
    sheet : str, optional
        Sheet of an Excel file; the first one by default.

    Returns
    -------
    Source
        The opened table; read its rows with ``batches`` or ``read``.

    Raises
    ------
    TableError
        If the file cannot be read as a table; the message gives the reason and the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cars.tsv"
    >>> _ = path.write_text("name\\tweight\\nKombi\\t1400\\n")
    >>> tables.open_source(path).format
    'csv'
    """
    _check_arguments(format, separator)
    stream = streams.open_stream(path)
    head = stream.read_head(streams.HEAD)
    promised = format or streams.find_format_of_name(path)
    found = streams.detect_format(head, stream, promised)  # type: ignore[arg-type]
    if sheet is not None and found != "excel":
        raise columns.TableError(f"{stream.name} is not a workbook, so it has no sheet {sheet!r}.")
    opened = partial(Source, os.fspath(path), found, compressed=stream.compressed)
    if found == "parquet":
        file = parquet.open_parquet(stream)
        return opened(file.names, file, notes=file.notes)
    if found == "excel":
        book = excel.open_excel(stream, sheet)
        return opened(book.names, book, notes=book.notes)
    text = streams.detect_encoding(stream, head)
    if found == "jsonl":
        lines = json_lines.open_json_lines(text)
        return opened(lines.names, lines, encoding=text.encoding)
    return _open_delimited(opened, text, separator)


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
) -> pl.DataFrame:
    """Read all rows of a file; see ``open_source`` for the formats.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, Parquet, JSON lines or Excel file, optionally gzip-compressed; "-" is standard
        input. Excel files require ``posterity[excel]``.
    format : "csv", "parquet", "jsonl" or "excel", optional
        By default detected from the file name, or else from the first bytes.
    separator : str, optional
        Cell separator, one character; by default detected from the first lines.
    sheet : str, optional
        Sheet of an Excel file; the first one by default.

    Returns
    -------
    polars.DataFrame
        Text columns for CSV, columns with the types of the file otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.jsonl"
    >>> _ = path.write_text('{"x": 1}\\n{"x": 2.5, "y": "b"}\\n')
    >>> tables.read(path).rows()
    [(1.0, None), (2.5, 'b')]
    """
    return open_source(path, format=format, separator=separator, sheet=sheet).read().frame


def _check_arguments(format: str | None, separator: str | None) -> None:
    """Raise if an argument is invalid."""
    if format is not None and format not in get_args(streams.Format):
        raise ValueError(f"format is {format!r}; it must be 'csv', 'parquet', 'jsonl' or 'excel'.")
    if separator is not None and (
        len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in _NEVER
    ):
        raise ValueError(
            f"separator is {separator!r}; it must be one character, such as ',' ';' '|' or a tab."
        )


def _open_delimited(
    opened: Callable[..., Source], stream: streams.Stream, separator: str | None
) -> Source:
    """Open delimited text, or text that blanks align."""
    tabs = streams.strip_gz(stream.name).suffix.lower() in (".tsv", ".tab")
    aligned = None if separator or tabs else records.align_stream(stream)
    if aligned is not None:
        stream, tabs = aligned, True
    header = headers.find_header(stream, separator, tabs=tabs)
    odd = stream.encoding == "cp1252"
    notes: tuple[str, ...] = ("Lines that are not UTF-8 are read as Windows-1252.",) if odd else ()
    if aligned is not None:
        notes += ("Columns are aligned by blanks.",)
        tab = f"Cells are separated by {headers.name_separator(chr(9))}."
        header = replace(header, notes=tuple(note for note in header.notes if note != tab))
    return opened(
        header.names,
        delimited.DelimitedReader(stream, header),
        separator=header.separator,
        encoding=stream.encoding,
        notes=notes + header.notes,
    )
