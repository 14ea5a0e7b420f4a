"""Write batches of rows to a file atomically."""

import contextlib
import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal, TypeAlias

import polars as pl

from posterity import files
from posterity.tables import columns, streams

Kind: TypeAlias = Literal["csv", "tsv", "parquet", "jsonl"]

_OF_KIND: dict[Kind, str] = {
    "csv": ".csv .txt",
    "tsv": ".tsv .tab",
    "parquet": ".parquet .pq",
    "jsonl": ".jsonl .ndjson .json",
}
_SUFFIXES = {suffix: kind for kind, suffixes in _OF_KIND.items() for suffix in suffixes.split()}


def write_batches(
    path: str | os.PathLike[str], batches: Iterable[pl.DataFrame], *, format: str | None = None
) -> int:
    """Write frames with the same columns to one file.

    Parameters
    ----------
    path : str or path
        File whose suffix sets the format: .csv, .tsv, .parquet or .jsonl; text formats may end in
        .gz. "-" is standard output. An existing file is replaced only when all rows are written.
    batches : iterable of polars.DataFrame
        The rows; each frame is released before the next is requested.
    format : "csv", "tsv", "parquet" or "jsonl", optional
        By default from the suffix; CSV on standard output.

    Returns
    -------
    int
        Number of rows written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> tables.write_batches(path, [pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [3]})])
    3
    >>> path.read_text().split()
    ['x', '1', '2', '3']
    """
    kind, packed = _find_format(path, format), Path(path).suffix.lower() == ".gz"
    if packed and kind == "parquet":
        raise columns.TableError(
            f"{path} would be a gzip-compressed Parquet file, but Parquet is compressed already: "
            "remove .gz."
        )
    frames = _check_columns(batches)
    with _open_destination(path) as file:
        if kind == "parquet":
            return _write_parquet(file, frames)
        if not packed:
            return _write_text(file, frames, kind)
        # A name and a time would make equal tables different files.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as text:
            return _write_text(text, frames, kind)


def _find_format(path: str | os.PathLike[str], format: str | None) -> Kind:
    """Return the format from the argument or the suffix."""
    if format is not None and format not in _OF_KIND:
        raise ValueError(f"format is {format!r}; it must be 'csv', 'tsv', 'parquet' or 'jsonl'.")
    default = "csv" if os.fspath(path) == "-" else None
    suffix = streams.strip_gz(path).suffix.lower()
    kind = next((k for k in _OF_KIND if k == (format or default)), None) or _SUFFIXES.get(suffix)
    if kind is None:
        raise columns.TableError(
            f"{path} has no known format: use a name that ends in .csv, .tsv, .parquet or "
            ".jsonl, or for example .csv.gz."
        )
    return kind


@contextlib.contextmanager
def _open_destination(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open the destination; convert operating system errors to TableError."""
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(path).is_dir():
        raise columns.TableError(f"{path} is a folder; name a file in it.")
    try:
        with files.replace_atomically(path) as file:
            yield file
    except FileNotFoundError as error:
        raise columns.TableError(
            f"{path} cannot be written: there is no folder {Path(path).parent}."
        ) from error
    except OSError as error:
        raise columns.TableError(f"{path} cannot be written: {error.strerror or error}.") from error


def _write_text(file: IO[bytes] | gzip.GzipFile, frames: Iterable[pl.DataFrame], kind: Kind) -> int:
    """Write the frames as lines, with one header."""
    n_rows, separator = 0, "\t" if kind == "tsv" else ","
    for number, frame in enumerate(frames):
        # Format first: polars does not report operating system errors while writing.
        text = (
            frame.write_ndjson()
            if kind == "jsonl"
            else frame.write_csv(include_header=number == 0, separator=separator)
        )
        file.write(text.encode())
        n_rows += frame.height
    return n_rows


def _write_parquet(file: IO[bytes], frames: Iterable[pl.DataFrame]) -> int:
    """Write the frames to a temporary folder, then stream them into one file."""
    n_rows, parts = 0, list[pl.LazyFrame]()
    with tempfile.TemporaryDirectory(prefix="posterity-") as folder:
        for number, frame in enumerate(frames):
            part = Path(folder) / f"{number}.parquet"
            frame.write_parquet(part)
            parts.append(pl.scan_parquet(part))
            n_rows += frame.height
        if parts:
            pl.concat(parts, how="vertical_relaxed").sink_parquet(file)
    return n_rows


def _check_columns(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the frames; raise if one has other columns than the first."""
    names: list[str] | None = None
    for frame in batches:
        names = names or frame.columns
        if frame.columns != names:
            raise ValueError(
                f"A batch has the columns {frame.columns}, but the first had {names}: all "
                "batches must have the same columns."
            )
        yield frame
