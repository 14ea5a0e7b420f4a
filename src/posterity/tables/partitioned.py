"""Tables in many Parquet files, or in large ones: cut into partitions that workers read.

Only the footers of the files are read here. The rows of a partition are read by whoever works on
it, so that the files must lie at the same place for all workers.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.designs import dask_graph
from posterity.tables import guards, parquet, parquet_folder, sampling
from posterity.tables.columns import CellError, TableError
from posterity.tables.parquet_folder import File

_VALUES = 2**23  # of a partition: 64 MiB as floating point
_FEWEST_ROWS = 1_000  # of a partition, however wide it is


@dataclass(frozen=True)
class Partition:
    """Rows of one file, one after the other.

    Attributes
    ----------
    path : str
        Of the file, from the root on: workers may run elsewhere.
    name : str
        The file as a person calls it.
    start, n_rows : int
        The first row within the file, and how many there are.
    first : int
        The first row, counted through all files.
    """

    path: str
    name: str
    start: int
    n_rows: int
    first: int

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """The rows, in these columns."""
        place = Path(self.path)
        if not place.exists():
            raise TableError(
                f"A worker finds no file {self.path}: all workers must see the files at the same "
                "place, such as a folder that is shared."
            )
        with guards.polars_refusing(self.name):
            return parquet.between(place, columns, self.start, self.n_rows)

    def located(self, error: CellError) -> TableError:
        """An error in a cell of this partition, with the file and the row in it."""
        return TableError(f"{self.name}: {error.below(self.start)}")


@dataclass(frozen=True)
class PartitionedSource:
    """A table in Parquet files whose footers were read; made by ``open_partitions``.

    Attributes
    ----------
    path : str
        As it was given: a folder, or one file.
    files : tuple of File
        Those with rows, in the order of their names.
    columns : tuple of str
        Names of the columns that all files have.
    notes : tuple of str
        Sentences about what was found and decided.

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
    files: tuple[File, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Of all files."""
        return sum(file.n_rows for file in self.files)

    def partitions(self, width: int) -> tuple[Partition, ...]:
        """Cut so that a worker's memory suffices for rows of this many numbers.

        A small file is one partition, a large one several of the same size.
        """
        most = max(_FEWEST_ROWS, _VALUES // max(1, width))
        return tuple(_cut(self.files, most))

    def empty(self) -> pl.DataFrame:
        """A frame with these columns and no rows."""
        return pl.DataFrame(schema=self.columns)

    def located(self, error: CellError, positions: NDArray[np.int64] | None) -> TableError:
        """An error in a cell of a sample, with the file and the row in it."""
        row = error.row - 1 if positions is None else int(positions[error.row - 1])
        for one in _cut(self.files, self.n_rows):
            if row < one.first + one.n_rows:
                return one.located(CellError(row - one.first + 1, error.column, error.trouble))
        return error

    def sample(self, max_rows: int | None, *, seed: int = 0) -> sampling.Sample:
        """Rows drawn at random, any set of them as likely as any other, in their order.

        Workers read all files once; what was drawn comes here.
        """
        N = self.n_rows
        n = N if max_rows is None else min(max_rows, N)
        rng = np.random.default_rng(seed)
        chosen = np.arange(N) if n == N else np.sort(rng.choice(N, n, replace=False))
        pieces = list(_shares(self.partitions(len(self.columns)), chosen))
        found = dask_graph.merged(
            pieces, _Chosen(self.columns), _joined, description="Sampling rows"
        )
        frame = pl.concat(found, how="vertical_relaxed", rechunk=True)
        return sampling.Sample(frame, N, chosen.astype(np.int64))


def open_partitions(path: str | os.PathLike[str]) -> PartitionedSource:
    """Look at the footers of the Parquet files in a folder, or of one file.

    Parameters
    ----------
    path : str or path
        A folder, whose files of the suffix .parquet or .pq are taken in the order of their names,
        those in folders within it included; or one file. Names that begin with a dot or an
        underscore are passed over.

    Returns
    -------
    PartitionedSource

    Raises
    ------
    TableError
        Where there is no such file, or the files do not have the same columns.

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
    files, columns, notes = parquet_folder.looked_at(Path(path))
    return PartitionedSource(os.fspath(path), files, columns, notes)


def _cut(files: Sequence[File], most: int) -> Iterator[Partition]:
    first = 0
    for file in files:
        n_parts = -(-file.n_rows // most)
        ends = [file.n_rows * k // n_parts for k in range(n_parts + 1)]
        for start, end in itertools.pairwise(ends):
            yield Partition(file.path, file.name, start, end - start, first + start)
        first += file.n_rows


def _shares(
    partitions: Sequence[Partition], chosen: NDArray[np.intp]
) -> Iterator[tuple[Partition, NDArray[np.intp]]]:
    """Each partition with those of the chosen rows that it holds, where it holds any."""
    for one in partitions:
        a, b = np.searchsorted(chosen, (one.first, one.first + one.n_rows))
        if a < b:
            yield one, chosen[a:b] - one.first


@dataclass(frozen=True)
class _Chosen:
    """Some rows of a partition."""

    columns: tuple[str, ...]

    def __call__(
        self, piece: tuple[Partition, NDArray[np.intp]], number: int
    ) -> list[pl.DataFrame]:
        partition, rows = piece
        return [partition.read(self.columns)[rows]]


def _joined(a: list[pl.DataFrame], b: list[pl.DataFrame]) -> list[pl.DataFrame]:
    return a + b
