"""Parquet files as a source of rows, with a few blocks in memory at a time.

A file is read in ranges of rows. Polars may hold a whole compressed row group to decode a range, so
memory use is one row group and a few blocks. A file with a few very large row groups needs more
memory and time than one that was written with smaller row groups.
"""

from __future__ import annotations

import glob
import os
import textwrap
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent import futures
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import polars as pl
from numpy.typing import NDArray

from posterity.designs import sources
from posterity.designs.blocks import Parts

S = TypeVar("S")
T = TypeVar("T")

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Pages are decoded whole; most writers make pages of 1 MiB, with this many float64 values.
_PAGE_ROWS = 2**17
# Wide rows are read in less than a page, to keep a read below 64 MiB.
_READ_VALUES = 2**23


@dataclass(frozen=True, eq=False)
class ParquetRows:
    """The rows of several files, in pieces."""

    files: tuple[Path, ...]
    starts: tuple[int, ...]  # the first row of each file and, at the end, the number of all rows
    features: tuple[str, ...]
    target: str | tuple[str, ...] | None
    sample_weight: str | None
    rows: int
    rereadable: bool = True

    @classmethod
    def open_files(
        cls,
        path: Paths,
        *,
        target: str | Sequence[str] | None,
        features: Sequence[str] | None,
        sample_weight: str | None,
        rows: int,
    ) -> ParquetRows:
        """Read the columns and numbers of rows of the files."""
        files = _find_files(path)
        schemas = [pl.scan_parquet(file).collect_schema() for file in files]
        others = convert_names(target) + convert_names(sample_weight)
        rest = [name for name in schemas[0] if name not in others]
        inputs = convert_names(rest if features is None else features)
        _check_arguments(inputs, target, others)
        for file, schema in zip(files, schemas, strict=True):
            _check_columns(inputs + others, schema, file)
        starts = tuple(accumulate(map(_count_rows, files), initial=0))
        if not starts[-1]:
            raise ValueError(f"{files[0]} and the other files have no rows.")
        targets = target if target is None or isinstance(target, str) else convert_names(target)
        return cls(files, starts, inputs, targets, sample_weight, rows)

    @property
    def n_rows(self) -> int:
        """The number of rows in all files."""
        return self.starts[-1]

    def read_head(self) -> Parts:
        """Return the first row."""
        return self._read_span(range(1))

    def read_rows(self, start: int, stop: int | None) -> Generator[Parts, None, None]:
        """Yield the rows in whole pages, with one read ahead."""
        fit = min(_PAGE_ROWS, _READ_VALUES // (len(self.features) + 1))
        n_read = self.rows * max(1, fit // self.rows)
        end = self.n_rows if stop is None else min(stop, self.n_rows)
        spans = (range(i, min(i + n_read, end)) for i in range(start, end, n_read))
        with closing(read_ahead(self._read_span, spans)) as reads:
            for raw in reads:
                n = len(raw[0])
                for first in range(0, n, self.rows):
                    yield sources.slice_parts(raw, first, min(first + self.rows, n))

    def _read_span(self, span: range) -> Parts:
        """Read a range of rows over several files; missing values become NaN."""
        frame = pl.concat(self._slice_files(span)).collect()
        X = frame.select(self.features).to_numpy()
        y = None if self.target is None else _convert_frame(frame, self.target)
        return (
            X,
            y,
            None if self.sample_weight is None else _convert_frame(frame, self.sample_weight),
        )

    def _slice_files(self, span: range) -> list[pl.LazyFrame]:
        """Yield the slice of each file in a range of rows."""
        columns = [*self.features, *convert_names(self.target), *convert_names(self.sample_weight)]
        numbers = pl.col(columns).cast(pl.Float64)
        slices = []
        first_file = bisect_right(self.starts, span.start) - 1
        for k in range(first_file, bisect_left(self.starts, span.stop)):
            low = max(span.start, self.starts[k])
            high = min(span.stop, self.starts[k + 1])
            file = pl.scan_parquet(self.files[k])
            slices.append(file.slice(low - self.starts[k], high - low).select(numbers))
        return slices


def _convert_frame(frame: pl.DataFrame, columns: str | tuple[str, ...]) -> NDArray[Any]:
    """Convert one column to (n,), several to (n, K)."""
    if isinstance(columns, str):
        return frame[columns].to_numpy()
    return frame.select(columns).to_numpy()


def convert_names(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Convert one name, several or None to a tuple."""
    if columns is None:
        return ()
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _count_rows(file: Path) -> int:
    """Return the number of rows of a file from its footer."""
    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


def _find_files(path: Paths) -> tuple[Path, ...]:
    """Return the files of a path, folder, pattern, or list of these."""
    if not isinstance(path, str | os.PathLike):
        found = tuple(file for entry in path for file in _find_files(entry))
    elif Path(path).is_dir():
        found = tuple(sorted(Path(path).glob("*.parquet")))
    elif Path(path).is_file():
        found = (Path(path),)
    else:
        found = tuple(Path(name) for name in sorted(glob.glob(str(path), recursive=True)))
    if not found:
        raise FileNotFoundError(
            f"no Parquet file was found at {path}; pass a file, a list of files, a folder with "
            "files named *.parquet, or a pattern such as 'data/**/*.parquet'."
        )
    return found


def _check_arguments(
    inputs: tuple[str, ...], target: str | Sequence[str] | None, others: tuple[str, ...]
) -> None:
    """Raise if there are no input columns, or a column is named twice."""
    for name, empty in (("features", not inputs), ("target", target is not None and not target)):
        if empty:
            raise ValueError(
                f"{name} is empty; name at least one column. Pass target=None if there are no "
                "targets."
            )
    repeated = [repr(name) for name, count in Counter(inputs + others).items() if count > 1]
    if repeated:
        raise ValueError(
            f"column {', '.join(repeated)} is named twice among features, target and "
            "sample_weight; name each column once."
        )


def _check_columns(columns: tuple[str, ...], schema: pl.Schema, file: Path) -> None:
    """Raise if a column is missing or not numeric."""
    for name in columns:
        if name not in schema:
            raise ValueError(
                f"{file.name} has no column {name!r}; its columns are "
                f"{textwrap.shorten(', '.join(schema), 200, placeholder=' ...')}."
            )
    for name in columns:
        if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
            raise ValueError(
                f"column {name!r} of {file.name} has type {schema[name]}, which is not numeric; "
                "encode it as numbers first, or select the inputs with features=[...]."
            )


def read_ahead(read: Callable[[S], T], spans: Iterable[S]) -> Generator[T, None, None]:
    """``map(read, spans)``, in order, with one read ahead in a separate thread.

    An error of ``read`` is raised at its position. If the caller stops early, the current read is
    awaited and its result dropped: no thread outlives the generator.

    Examples
    --------
    >>> from posterity.designs import parquet
    >>> list(parquet.read_ahead(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    with futures.ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as thread:
        pending: futures.Future[T] | None = None
        for span in spans:
            upcoming = thread.submit(read, span)
            if pending is not None:
                yield pending.result()
            pending = upcoming
        if pending is not None:
            yield pending.result()
