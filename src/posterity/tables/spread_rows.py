"""Encode the rows of partitions on the workers that fit a model to them."""

import contextlib
import functools
import operator
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from posterity import files
from posterity.arrays import Array
from posterity.designs import dask_graph
from posterity.tables.answers import QUANTILES, append_predictions
from posterity.tables.columns import Schema, TableError
from posterity.tables.encoding import TableEncoder
from posterity.tables.frames import require_columns
from posterity.tables.partitioned import (
    Partition,
    PartitionedSource,
    PartitionedTargets,
    assign_folds,
)
from posterity.tables.roles import find_groups_parameter
from posterity.tables.table_model import TableModel


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """The rows of a partitioned table that have a target, encoded by the workers.

    Column types and encodings are learned from a sample; classes and the number of rows from all
    rows.

    Attributes
    ----------
    model : TableModel
        Model whose encoder is fitted, but not its estimator.
    targets : PartitionedTargets
        Summary of the targets of all rows.
    pieces : tuple of dask.delayed.Delayed
        Encoded rows of each partition that has any.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from posterity import RidgeRegression, tables
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, x in (("a", [1.0, 2.0, 4.0]), ("b", [3.0, 0.5])):
    ...     frame = pl.DataFrame({"x": x, "y": [2.0 * value for value in x]})
    ...     frame.write_parquet(folder / f"{name}.parquet")
    >>> source = tables.open_partitions(folder)
    >>> sample = source.sample(None)
    >>> schema = tables.infer(sample.frame, "y", keep=["x"])
    >>> rows = tables.SpreadRows.from_source(source, sample.frame, schema)
    >>> rows.n_rows, rows.fit_estimator(RidgeRegression()).n_rows_
    (5, 5)
    """

    model: TableModel
    targets: PartitionedTargets
    pieces: tuple[Any, ...]

    @classmethod
    def from_source(
        cls,
        source: PartitionedSource,
        frame: pl.DataFrame,
        schema: Schema,
        *,
        folds: int = 1,
        seed: int = 0,
    ) -> "SpreadRows":
        """Return the rows of a table, given a sample of them and its schema.

        The target column is read once. Rows are assigned to ``folds`` folds by their position in
        the files: the same seed gives the same folds, whatever the partitions.
        """
        width = _count_numbers(schema, frame)
        partitions = source.partitions(width)
        targets = PartitionedTargets.from_partitions(partitions, schema, folds=folds, seed=seed)
        prepared = _prepare_model(replace(schema, classes=targets.classes), targets, frame)
        return cls(prepared, targets, _encode_partitions(prepared, targets))

    @property
    def schema(self) -> Schema:
        """Schema of the table, with the classes of all rows."""
        return self.model.schema_

    @property
    def n_rows(self) -> int:
        """Number of rows that have a target."""
        return int(self.targets.lengths.sum())

    @property
    def n_bytes(self) -> int:
        """Size of the encoded rows in bytes."""
        return 8 * self.n_rows * (self.model.encoder_.n_features_out_ + 1)

    def persist(self) -> "SpreadRows":
        """Return a copy whose rows stay in the memory of the workers."""
        from dask.base import persist

        return replace(self, pieces=tuple(persist(*self.pieces)))

    def make_arrays(self, without: int | None = None) -> tuple[Any, Any]:
        """Return Dask arrays X (N, D) and y (N,) of all rows, or of those outside a fold."""
        import dask.array as da
        from dask.delayed import delayed

        take = delayed(_select_rows, pure=False)
        width, kind = self.model.encoder_.n_features_out_, self.targets.dtype
        lengths = self.targets.lengths[self.targets.lengths.sum(axis=1) > 0]
        X, y = [], []
        for piece, of_folds in zip(self.pieces, lengths, strict=True):
            n = int(of_folds.sum() - (0 if without is None else of_folds[without]))
            both = take(piece, without)
            X.append(da.from_delayed(both[0], (n, width), dtype=np.float64))
            y.append(da.from_delayed(both[1], (n,), dtype=kind))
        return da.concatenate(X), da.concatenate(y)

    def fit_estimator(self, estimator: Any) -> TableModel:
        """Fit an estimator on the workers and return it as a model of raw tables."""
        if self.schema.groups and find_groups_parameter(estimator):
            raise TableError(
                f"On Dask, a {type(estimator).__name__} judges itself by rows of groups that it "
                "has seen, so --group needs the table in memory: fit without --dask, with fewer "
                "--rows if necessary."
            )
        X, y = self.make_arrays()
        found = TableModel(estimator, self.schema)
        found.schema_, found.label_kind_ = self.schema, "text"
        prepared = self.model
        found.labels_, found.encoder_ = prepared.labels_, prepared.encoder_
        found.profile_ = prepared.profile_
        found.n_rows_, found.n_left_out_ = self.n_rows, self.targets.n_left_out
        found.estimator_ = clone(estimator).fit(X, y)
        return found


@dataclass(frozen=True, eq=False)
class _EncodedRows:
    """The rows of a partition that have a target, and the fold of each."""

    X: Array
    y: NDArray[Any]
    part: NDArray[np.intp]


def _encode_partition(
    model: TableModel, folds: int, seed: int, partition: Partition
) -> _EncodedRows:
    """Encode a partition, on a worker."""
    schema = model.schema_
    names = dict.fromkeys([*(column.name for column in schema.inputs), schema.target])
    frame = partition.read(list(names))
    with partition.locate_errors():
        y, has_target = model.encode_targets(frame)
    rows = np.flatnonzero(has_target)
    with partition.locate_errors(rows):
        X = model.encode_inputs(frame[rows])
    return _EncodedRows(X, y[rows], assign_folds(partition.first + rows, folds, seed))


def _encode_partitions(model: TableModel, targets: PartitionedTargets) -> tuple[Any, ...]:
    """Return one task for each partition that has rows with a target."""
    from dask.delayed import delayed

    shared, run = delayed(model, traverse=False, pure=False), delayed(_encode_partition, pure=False)
    return tuple(run(shared, targets.folds, targets.seed, one) for one in targets.present)


def _select_rows(rows: _EncodedRows, without: int | None) -> tuple[Array, NDArray[Any]]:
    if without is None:
        return rows.X, rows.y
    outside = rows.part != without
    return rows.X[outside], rows.y[outside]


def _prepare_model(schema: Schema, targets: PartitionedTargets, frame: pl.DataFrame) -> TableModel:
    """Return a model whose encoder was fitted to a sample, without an estimator."""
    if not targets.lengths.sum():
        raise TableError(f"No row of the table has a value for the target {schema.target!r}.")
    model = TableModel(None, schema)
    model.schema_, model.label_kind_ = schema, "text"
    model.labels_ = schema.classes
    _, has_target = model.encode_targets(frame)
    rows = frame.filter(pl.Series(has_target, dtype=pl.Boolean))
    model.encoder_ = TableEncoder(schema.inputs).fit(rows)
    model.profile_ = model.encoder_.profile_
    return model


def _count_numbers(schema: Schema, frame: pl.DataFrame) -> int:
    """Return how many numbers a row has, raw and encoded together."""
    encoder = TableEncoder(schema.inputs).fit(frame)
    return len(schema.inputs) + 1 + encoder.n_features_out_


_NUMBERS = 16  # numbers a row that are predicted, besides its columns


def write_predictions(
    folder: str | os.PathLike[str],
    model: TableModel,
    source: PartitionedSource,
    *,
    quantiles: Sequence[float] = QUANTILES,
    prefix: str | None = None,
) -> tuple[int, int]:
    """Write the rows of a table with their predictions, as Parquet files in a folder.

    The files are named part-00000.parquet and so on, in row order. Workers write to a hidden
    subfolder, and the files are moved when all are complete: after an error, the folder is
    unchanged. Existing files of these names are replaced.

    Parameters
    ----------
    folder : str or path
        Created if missing. Workers must see it under the same path.
    model : TableModel
        The fitted model.
    source : PartitionedSource
        Table returned by ``open_partitions``.
    quantiles : sequence of float
        Quantiles to add for a numeric target.
    prefix : str, optional
        Prefix of the new column names; the target name by default.

    Returns
    -------
    n_rows, n_files : int
        Number of rows and files written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from posterity import RidgeRegression, tables
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> frame = pl.DataFrame({"x": [1.0, 2.0, 4.0], "y": [1.5, 3.0, 6.5]})
    >>> frame.write_parquet(place / "rows.parquet")
    >>> model = tables.TableModel(RidgeRegression(), tables.infer(frame, "y", keep=["x"]))
    >>> source = tables.open_partitions(place / "rows.parquet")
    >>> tables.write_predictions(place / "out", model.fit(frame), source, quantiles=[0.5])
    (3, 1)
    >>> pl.read_parquet(place / "out" / "part-00000.parquet").columns
    ['x', 'y', 'y_mean', 'y_std', 'y_q50', 'y_unusual']
    """
    require_columns(source.make_empty_frame(), (column.name for column in model.schema_.inputs))
    encoded = model.encoder_.n_features_out_
    partitions = source.partitions(len(source.columns) + encoded + _NUMBERS)
    with _stage_files(Path(os.path.abspath(folder))) as hidden:
        answer = functools.partial(
            append_predictions, model, quantiles=tuple(quantiles), prefix=prefix
        )
        work = functools.partial(_predict_partition, answer, source.columns, hidden)
        n_rows = dask_graph.map_and_merge(partitions, work, operator.add, description="Predicting")
    return n_rows, len(partitions)


def _predict_partition(
    answer: Callable[[pl.DataFrame], pl.DataFrame],
    columns: Sequence[str],
    folder: Path,
    partition: Partition,
    number: int,
) -> int:
    """Read a partition, predict, write, and return the number of rows, on a worker."""
    frame = partition.read(columns)
    with partition.locate_errors():
        answered = answer(frame)
    if not folder.is_dir():
        raise TableError(
            f"A worker found no folder {folder.parent}: all workers must see it under the "
            "same path, for example a shared folder."
        )
    with files.replace_atomically(folder / f"part-{number:05d}.parquet") as file:
        answered.write_parquet(file)
    return answered.height


@contextlib.contextmanager
def _stage_files(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder; move its files to the parent when the block succeeds."""
    made = not folder.exists()
    hidden = folder / f".posterity-{uuid.uuid4().hex[:12]}"
    hidden.mkdir(parents=True)
    try:
        yield hidden
        new = sorted(place.name for place in hidden.glob("part-*.parquet"))
        for name in new:
            os.replace(hidden / name, folder / name)
        for old in folder.glob("part-*.parquet"):
            if old.name not in new:
                old.unlink()
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if made:
            with contextlib.suppress(OSError):  # not empty: all went well
                folder.rmdir()
