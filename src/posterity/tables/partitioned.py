"""Split tables in Parquet files into partitions that workers read.

Only file footers are read here. Workers read the rows of their partitions, so all workers must see
the files under the same path.
"""

import contextlib
import functools
import itertools
import operator
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.designs import dask_graph
from posterity.tables import parquet, sources, streams, texts
from posterity.tables.columns import CellError, Column, Kind, Schema, TableError
from posterity.tables.parquet import ParquetFile
from posterity.tables.spelling import sort_labels
from posterity.tables.targets import MOST_CLASSES

_VALUES = 2**23  # numbers in a partition: 64 MiB as float64
_FEWEST_ROWS = 1_000  # minimum number of rows of a partition


@dataclass(frozen=True)
class Partition:
    """Consecutive rows of one file.

    Attributes
    ----------
    path : str
        Absolute path of the file, because workers have other working directories.
    name : str
        File name for messages.
    start, n_rows : int
        First row within the file, and number of rows.
    first : int
        First row, counted over all files.
    """

    path: str
    name: str
    start: int
    n_rows: int
    first: int

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Read the rows of the given columns."""
        place = Path(self.path)
        if not place.exists():
            raise TableError(
                f"A worker found no file {self.path}: all workers must see the files under the "
                "same path, for example in a shared folder."
            )
        with streams.convert_polars_errors(self.name):
            return parquet.read_rows(place, columns, self.start, self.n_rows)

    @contextlib.contextmanager
    def locate_errors(self, rows: NDArray[np.intp] | None = None) -> Iterator[None]:
        """Raise cell errors with the file name and the row in the file.

        ``rows`` are the rows of the partition that are used, if these are not all.
        """
        try:
            yield
        except CellError as error:
            row = error.row if rows is None else int(rows[error.row - 1]) + 1
            raise self.locate_error(CellError(row, error.column, error.trouble)) from None

    def locate_error(self, error: CellError) -> TableError:
        """Return a cell error with the file name and the row in the file."""
        return TableError(f"{self.name}: {error.shift_rows(self.start)}")


@dataclass(frozen=True)
class PartitionedSource:
    """A table in Parquet files, returned by ``open_partitions``.

    Attributes
    ----------
    path : str
        The given path of a folder or file.
    files : tuple of ParquetFile
        Files with rows, sorted by name.
    columns : tuple of str
        Names of the columns common to all files.
    notes : tuple of str
        Remarks on the files for the user.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from posterity import tables
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pl.DataFrame({"x": [1.0, 2.0]}).write_parquet(folder / "a.parquet")
    >>> pl.DataFrame({"x": [3.0]}).write_parquet(folder / "b.parquet")
    >>> source = tables.open_partitions(folder)
    >>> source.n_rows, source.columns
    (3, ('x',))
    >>> source.sample(2, seed=0).frame.height
    2
    """

    path: str
    files: tuple[ParquetFile, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows in all files."""
        return sum(file.n_rows for file in self.files)

    def partitions(self, width: int) -> tuple[Partition, ...]:
        """Split the table so that partitions of rows of this width fit in memory.

        A small file is one partition; a large file is split into partitions of equal size.
        """
        most = max(_FEWEST_ROWS, _VALUES // max(1, width))
        return tuple(_split_files(self.files, most))

    def make_empty_frame(self) -> pl.DataFrame:
        """Return a frame with these columns and no rows."""
        return pl.DataFrame(schema=self.columns)

    def locate_error(self, error: CellError, positions: NDArray[np.int64] | None) -> TableError:
        """Return a cell error of a sample with its file and the row in that file."""
        row = error.row - 1 if positions is None else int(positions[error.row - 1])
        for one in _split_files(self.files, self.n_rows):
            if row < one.first + one.n_rows:
                return one.locate_error(CellError(row - one.first + 1, error.column, error.trouble))
        return error

    def sample(self, max_rows: int | None, *, seed: int = 0) -> sources.Sample:
        """Draw a uniform random sample of rows, in row order.

        Workers read all files once and return the sampled rows.
        """
        N = self.n_rows
        n = N if max_rows is None else min(max_rows, N)
        rng = np.random.default_rng(seed)
        chosen = np.arange(N) if n == N else np.sort(rng.choice(N, n, replace=False))
        pieces = list(_assign_rows(self.partitions(len(self.columns)), chosen))
        work = functools.partial(_read_selected_rows, self.columns)
        found = dask_graph.map_and_merge(pieces, work, operator.add, description="Sampling rows")
        frame = pl.concat(found, how="vertical_relaxed", rechunk=True)
        return sources.Sample(frame, N, chosen.astype(np.int64))


def open_partitions(path: str | os.PathLike[str]) -> PartitionedSource:
    """Open a Parquet file or a folder of Parquet files; only footers are read.

    Parameters
    ----------
    path : str or path
        A file, or a folder whose .parquet and .pq files are read recursively, sorted by name. Names
        that begin with a dot or an underscore are skipped.

    Returns
    -------
    PartitionedSource

    Raises
    ------
    TableError
        If there is no such file, or the files do not have the same columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.parquet"
    >>> pl.DataFrame({"x": range(5)}).write_parquet(path)
    >>> tables.open_partitions(path).n_rows
    5
    """
    files, columns, notes = parquet.inspect_folder(Path(path))
    return PartitionedSource(os.fspath(path), files, columns, notes)


def _split_files(files: Sequence[ParquetFile], most: int) -> Iterator[Partition]:
    first = 0
    for file in files:
        n_parts = -(-file.n_rows // most)
        ends = [file.n_rows * k // n_parts for k in range(n_parts + 1)]
        for start, end in itertools.pairwise(ends):
            yield Partition(file.path, file.name, start, end - start, first + start)
        first += file.n_rows


def _assign_rows(
    partitions: Sequence[Partition], chosen: NDArray[np.intp]
) -> Iterator[tuple[Partition, NDArray[np.intp]]]:
    """Yield each partition that contains chosen rows, with those rows."""
    for one in partitions:
        a, b = np.searchsorted(chosen, (one.first, one.first + one.n_rows))
        if a < b:
            yield one, chosen[a:b] - one.first


def _read_selected_rows(
    columns: Sequence[str], piece: tuple[Partition, NDArray[np.intp]], number: int
) -> list[pl.DataFrame]:
    partition, rows = piece
    return [partition.read(columns)[rows]]


_GOLDEN = 0x9E3779B97F4A7C15  # odd, and far from any pattern: successive seeds lie far apart


@dataclass(frozen=True, eq=False)
class PartitionedTargets:
    """Summary of the targets of a partitioned table; its size does not grow with the rows.

    Attributes
    ----------
    partitions : tuple of Partition
        Partitions of the table.
    lengths : ndarray of shape (P, folds)
        Number of rows with a target in each partition and fold.
    classes : tuple of str
        Class labels in order; empty for numeric targets.
    seed : int
        Random seed of the folds.
    """

    partitions: tuple[Partition, ...]
    lengths: NDArray[np.intp]
    classes: tuple[str, ...]
    seed: int

    @classmethod
    def from_partitions(
        cls, partitions: Sequence[Partition], schema: Schema, *, folds: int, seed: int
    ) -> "PartitionedTargets":
        """Read the target column on the workers, in one pass."""
        work = functools.partial(_summarise_targets, schema, folds, seed)
        found = dask_graph.map_and_merge(
            partitions, work, operator.add, description="Reading targets"
        )
        labels = pl.Series(list(found.labels), dtype=pl.String)
        if len(labels) > MOST_CLASSES:
            raise TableError(
                f"The target {schema.target!r} has {len(labels)} distinct values, too many for "
                f"classes (at most {MOST_CLASSES}): merge rare classes, or choose another target."
            )
        lengths = np.array(found.lengths, dtype=np.intp)
        return cls(tuple(partitions), lengths, sort_labels(labels), seed)

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.lengths.shape[1])

    @property
    def present(self) -> tuple[Partition, ...]:
        """Indices of the partitions that have rows with a target."""
        counts = self.lengths.sum(axis=1)
        return tuple(one for one, n in zip(self.partitions, counts, strict=True) if n)

    @property
    def n_left_out(self) -> int:
        """Number of rows without a target."""
        return sum(one.n_rows for one in self.partitions) - int(self.lengths.sum())

    @property
    def dtype(self) -> Any:
        """Data type of encoded targets: floats, or class indices."""
        return np.int64 if self.classes else np.float64


def assign_folds(positions: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Assign rows to folds pseudo-randomly by their position in the table.

    Positions are hashed by SplitMix64, whose outputs pass tests of independence.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.tables import assign_folds
    >>> np.bincount(assign_folds(np.arange(3000), 3, seed=0)).round(-2).tolist()
    [1000, 1000, 1000]
    """
    start = np.uint64((seed + 1) * _GOLDEN % 2**64)
    z = start + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled = z ^ (z >> np.uint64(31))
    return ((scrambled >> np.uint64(33)) % np.uint64(folds)).astype(np.intp)


@dataclass(frozen=True)
class _TargetCounts:
    """Number of rows with a target in each partition, and label counts."""

    lengths: list[list[int]]
    labels: Counter[str]

    def __add__(self, later: "_TargetCounts") -> "_TargetCounts":
        return _TargetCounts(self.lengths + later.lengths, self.labels + later.labels)


def _summarise_targets(
    schema: Schema, folds: int, seed: int, partition: Partition, number: int
) -> _TargetCounts:
    """Summarise the targets of a partition, on a worker."""
    cells = partition.read([schema.target])[schema.target]
    kind: Kind = "number" if schema.task == "regression" else "category"
    column, labels = schema.outcome or Column(schema.target, kind), Counter[str]()
    with partition.locate_errors():
        if schema.task == "regression":
            has_target = ~np.isnan(texts.require_numbers(cells, column))
        else:
            found = texts.convert_labels(cells, column)
            has_target, labels = found.is_not_null().to_numpy(), Counter(found.drop_nulls())
    places = partition.first + np.flatnonzero(has_target)
    counts = np.bincount(assign_folds(places, folds, seed), minlength=folds)
    return _TargetCounts([counts.tolist()], labels)
