"""Writing rows as they come, to a file that is there whole or not at all."""

import contextlib
import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal, TypeAlias, get_args

import polars as pl

from posterity import files
from posterity.tables import columns, sniffing

Kind: TypeAlias = Literal["csv", "tsv", "parquet", "jsonl"]

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_SUFFIXES: dict[str, Kind] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


def write_batches(
    path: str | os.PathLike[str], batches: Iterable[pl.DataFrame], *, format: str | None = None
) -> int:
    """Write frames of the same columns, one below the other, to one file.

    Parameters
    ----------
    path : str or path
        Its suffix says the format: .csv, .tsv, .parquet or .jsonl, the texts also with .gz behind.
        "-" is standard output. What stood there is replaced when all is written, and not before.
    batches : iterable of polars.DataFrame
        The rows; each frame is let go before the next is asked for.
    format : "csv", "tsv", "parquet" or "jsonl", optional
        By default that of the suffix; CSV on standard output.

    Returns
    -------
    int
        How many rows were written.

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
    kind = _format(path, format)
    with _destination(path) as file:
        if kind == "parquet":
            return _write_parquet(file, _agreeing(batches))
        with _packed(file, path) as text:
            return _write_text(text, _agreeing(batches), kind)


def _format(path: str | os.PathLike[str], format: str | None) -> Kind:
    """The format that is asked for, in words or by the suffix."""
    if format is not None and format not in get_args(Kind):
        raise ValueError(f"format is {format!r}; it may be 'csv', 'tsv', 'parquet' or 'jsonl'.")
    kind = next((k for k in get_args(Kind) if k == format), None) or _by_suffix(path)
    if kind == "parquet" and _is_gzip(path):
        raise columns.TableError(
            f"{path} would be Parquet packed with gzip, but Parquet packs itself: leave .gz out."
        )
    return kind


def _by_suffix(path: str | os.PathLike[str]) -> Kind:
    """The format of a file's name."""
    if os.fspath(path) == "-":
        return "csv"
    plain = sniffing.without_gz(path)
    if plain.suffix.lower() not in _SUFFIXES:
        raise columns.TableError(
            f"{path} does not say what to write: let it end in .csv, .tsv, .parquet or .jsonl, "
            "or in .csv.gz and the like."
        )
    return _SUFFIXES[plain.suffix.lower()]


@contextlib.contextmanager
def _destination(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Where the bytes go; what the system says against it becomes a sentence."""
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(path).is_dir():
        raise columns.TableError(f"{path} is a folder; name a file in it.")
    try:
        with files.replacing(path) as file:
            yield file
    except FileNotFoundError as error:
        raise columns.TableError(
            f"{path} cannot be written: there is no folder {Path(path).parent}."
        ) from error
    except OSError as error:
        raise columns.TableError(f"{path} cannot be written: {error.strerror or error}.") from error


@contextlib.contextmanager
def _packed(file: IO[bytes], path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The file itself, or around it gzip that gives the same bytes for the same rows."""
    if not _is_gzip(path):
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
        yield packed  # type: ignore[misc]  # a GzipFile is a binary file in all but its type


def _is_gzip(path: str | os.PathLike[str]) -> bool:
    """Whether a name asks for gzip."""
    return Path(path).suffix.lower() == ".gz"


def _write_text(file: IO[bytes], frames: Iterable[pl.DataFrame], kind: Kind) -> int:
    """Write the frames as lines; the names of the columns once."""
    n_rows = 0
    for number, frame in enumerate(frames):
        # As text first: polars does not say which error of the system it met while writing.
        file.write(_lines(frame, kind, include_header=number == 0).encode())
        n_rows += frame.height
    return n_rows


def _lines(frame: pl.DataFrame, kind: Kind, *, include_header: bool) -> str:
    """The rows as text."""
    if kind == "jsonl":
        return frame.write_ndjson()
    return frame.write_csv(include_header=include_header, separator=_SEPARATORS[kind])


def _write_parquet(file: IO[bytes], frames: Iterable[pl.DataFrame]) -> int:
    """Write the frames side by side to a folder, then one after the other into the file."""
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


def _agreeing(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same frames; raises where one has other columns than the first."""
    names: list[str] | None = None
    for frame in batches:
        names = names or frame.columns
        if frame.columns != names:
            raise ValueError(
                f"A batch has the columns {frame.columns}, but the first had {names}: all must "
                "agree."
            )
        yield frame
