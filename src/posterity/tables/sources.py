"""Tables in files: what one is, its rows in batches, and all of it or a sample at once."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, get_args

import numpy as np
import polars as pl

from posterity.tables import delimited, headers, json_lines, parquet, sampling, sniffing, streams

_NEVER = '"\n\r\0.+-_'  # no separators: they have a meaning inside cells


class Reader(Protocol):
    """Gives out the rows of a file, in frames of at most a number of rows."""

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]: ...


@dataclass(frozen=True)
class Source:
    """A table in a file, of which the beginning was looked at; made by ``open_source``.

    Columns of CSV files are text, as the file has it, and missing where a cell is empty; those of
    Parquet and JSON lines have the types of the file.

    Attributes
    ----------
    path : str
        As it was given; "-" is standard input.
    format : "csv", "parquet" or "jsonl"
        What kind of file it is.
    columns : tuple of str
        Names of the columns.
    separator : str or None
        What stands between the cells of a CSV file.
    compressed : bool
        Whether it is packed with gzip.
    encoding : str
        "utf-8", "utf-16", or "cp1252" where some of the first lines are no UTF-8; empty for
        Parquet. A line that is no UTF-8 is read as Windows-1252, wherever it stands.
    notes : tuple of str
        Sentences about what was found and decided.

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
    format: sniffing.Format
    columns: tuple[str, ...]
    reader: Reader = field(repr=False)
    separator: str | None = None
    compressed: bool = False
    encoding: str = ""
    notes: tuple[str, ...] = ()

    def batches(self, n_rows: int = 50_000) -> Iterator[pl.DataFrame]:
        """The rows in frames of at most ``n_rows``, in the order of the file.

        Memory does not grow with the file. There is at least one frame, without rows where the
        file has none.
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

    def read(self, max_rows: int | None = None, *, seed: int = 0) -> sampling.Sample:
        """All rows, or a uniform random sample of at most ``max_rows``, in the order of the file.

        Parameters
        ----------
        max_rows : int, optional
            How many rows at most. The file is read once and never held whole.
        seed : int, default=0
            Of the sample.

        Returns
        -------
        Sample
            The rows, and how many the file has.
        """
        if max_rows is None:
            return sampling.everything(self.batches())
        if max_rows < 1:
            raise ValueError(f"max_rows is {max_rows}, but a sample needs at least one row.")
        return sampling.reservoir(self.batches(), max_rows, np.random.default_rng(seed))


def open_source(
    path: str | os.PathLike[str], *, format: str | None = None, separator: str | None = None
) -> Source:
    """Look at the beginning of a file of rows and columns.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, Parquet or JSON-lines file, packed with gzip or not; "-" is standard input.
    format : "csv", "parquet" or "jsonl", optional
        By default the name of the file tells, or else its first bytes.
    separator : str, optional
        One character that stands between cells. By default a comma, semicolon, tab or bar,
        whichever cuts the first lines evenly.

    Returns
    -------
    Source
        What was found. Its rows come from ``batches`` and ``read``.

    Raises
    ------
    TableError
        Where the file cannot be read or is not such a table; the message says why, and on which
        line.

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
    stream = sniffing.opened(path)
    head = stream.head(sniffing.HEAD)
    promised = format or sniffing.known_format(path)
    found = sniffing.found_format(head, stream, promised)  # type: ignore[arg-type]
    if found == "parquet":
        return _parquet(path, stream)
    text = sniffing.as_text(stream, head)
    if found == "jsonl":
        return _json_lines(path, text)
    return _delimited(path, text, separator)


def read(
    path: str | os.PathLike[str], *, format: str | None = None, separator: str | None = None
) -> pl.DataFrame:
    """All rows of a file; see ``open_source`` for what it may be.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, Parquet or JSON-lines file, packed with gzip or not; "-" is standard input.
    format : "csv", "parquet" or "jsonl", optional
        By default the name of the file tells, or else its first bytes.
    separator : str, optional
        One character that stands between cells, by default found from the first lines.

    Returns
    -------
    polars.DataFrame
        Columns of text for CSV, of the file's types otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.jsonl"
    >>> _ = path.write_text('{"x": 1}\\n{"x": 2.5, "y": "b"}\\n')
    >>> tables.read(path).rows()
    [(1.0, None), (2.5, 'b')]
    """
    return open_source(path, format=format, separator=separator).read().frame


def _check_arguments(format: str | None, separator: str | None) -> None:
    """Raise where an argument cannot be meant."""
    if format is not None and format not in get_args(sniffing.Format):
        raise ValueError(f"format is {format!r}; it may be 'csv', 'parquet' or 'jsonl'.")
    if separator is not None and (
        len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in _NEVER
    ):
        raise ValueError(
            f"separator is {separator!r}; it must be one character, such as ',' ';' '|' or a tab."
        )


def _parquet(path: str | os.PathLike[str], stream: streams.Stream) -> Source:
    """The source of a Parquet file."""
    reader = parquet.opened(stream)
    left_out = ", ".join(f"'{name}'" for name in reader.left_out)
    notes = (f"Lists, structures and bytes are left out: {left_out}.",) if left_out else ()
    return Source(
        os.fspath(path), "parquet", reader.names, reader, None, stream.compressed, "", notes
    )


def _json_lines(path: str | os.PathLike[str], stream: streams.Stream) -> Source:
    """The source of JSON lines."""
    reader = json_lines.opened(stream)
    names = tuple(field.name for field in reader.fields)
    return Source(os.fspath(path), "jsonl", names, reader, None, stream.compressed, stream.encoding)


def _delimited(
    path: str | os.PathLike[str], stream: streams.Stream, separator: str | None
) -> Source:
    """The source of delimited text."""
    tabs = sniffing.without_gz(path).suffix.lower() in (".tsv", ".tab")
    header = headers.find(stream, separator, tabs=tabs)
    odd = stream.encoding == "cp1252"
    notes = ("Lines that are no UTF-8 are read as Windows-1252.",) if odd else ()
    return Source(
        path=os.fspath(path),
        format="csv",
        columns=header.names,
        reader=delimited.Reader(stream, header),
        separator=header.separator,
        compressed=stream.compressed,
        encoding=stream.encoding,
        notes=notes + header.notes,
    )
