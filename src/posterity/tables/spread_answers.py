"""Predict the rows of partitions on the workers; each writes one file a partition."""

import contextlib
import operator
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from posterity import files
from posterity.designs import dask_graph
from posterity.tables.answers import QUANTILES, append_predictions
from posterity.tables.columns import CellError, TableError
from posterity.tables.frames import require_columns
from posterity.tables.partitioned import Partition, PartitionedSource
from posterity.tables.table_model import TableModel

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
        work = _PredictPartition(model, source.columns, tuple(quantiles), prefix, str(hidden))
        n_rows = dask_graph.map_and_merge(partitions, work, operator.add, description="Predicting")
    return n_rows, len(partitions)


@dataclass(frozen=True, eq=False)
class _PredictPartition:
    """Task of a worker: read, predict, write, and return the number of rows."""

    model: TableModel
    columns: tuple[str, ...]
    quantiles: tuple[float, ...]
    prefix: str | None
    folder: str

    def __call__(self, partition: Partition, number: int) -> int:
        frame = partition.read(self.columns)
        try:
            answered = append_predictions(
                self.model, frame, quantiles=self.quantiles, prefix=self.prefix
            )
        except CellError as error:
            raise partition.locate_error(error) from None
        place = Path(self.folder)
        if not place.is_dir():
            raise TableError(
                f"A worker found no folder {place.parent}: all workers must see it under the "
                "same path, for example a shared folder."
            )
        with files.replace_atomically(place / f"part-{number:05d}.parquet") as file:
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
