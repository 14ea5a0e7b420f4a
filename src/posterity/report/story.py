"""What a report is about: a model, the rows it was measured on, and how it came to be."""

import shlex
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.comparison import results

_PACKAGES = ("posterity", "numpy", "scikit-learn")


def _versions() -> tuple[tuple[str, str], ...]:
    """Of the libraries that the numbers depend on."""
    return tuple((name, metadata.version(name)) for name in _PACKAGES)


@dataclass(frozen=True, eq=False)
class Story:
    """Everything a report tells.

    Parameters
    ----------
    title : str
        Of the page; the name of the file, as a rule.
    command : str
        What to type to make the report again.
    model : tables.TableModel
        Fitted; the winner of ``comparison`` where there is one.
    frame : polars.DataFrame
        The rows, target included; a sample where the file is larger than memory.
    held_out : HeldOut
        What was said of rows of ``frame``, and what came.
    comparison : Comparison, optional
        Where several models were measured. ``held_out`` are then rows that the model had not seen.
    model_path : str, default="model.posterity"
        Where the model was saved, for the commands that a reader may type.
    source : str, default="data.csv"
        The file that the rows came from, for the same commands.
    dask : str, optional
        The cluster that worked on the rows, for the same commands.
    n_rows_in_file : int, optional
        None: as many as ``frame`` has.
    row_numbers : ndarray of shape (n,), optional
        Where the rows of ``frame`` stand in the file, from 0. None: one after the other.
    inferred : tuple of str
        Sentences saying what the table was taken to be.
    notes : tuple of str
        Sentences that a reader should see.
    seed : int, default=0
        Of what is left to chance.
    versions : tuple of (str, str)
        Of the libraries.
    """

    title: str
    command: str
    model: tables.TableModel
    frame: pl.DataFrame
    held_out: results.HeldOut
    comparison: results.Comparison | None = None
    model_path: str = "model.posterity"
    source: str = "data.csv"
    dask: str | None = None
    n_rows_in_file: int | None = None
    row_numbers: NDArray[Any] | None = None
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    versions: tuple[tuple[str, str], ...] = field(default_factory=_versions)

    @property
    def schema(self) -> tables.Schema:
        """What the table was taken to be."""
        return self.model.schema

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.schema.task == "regression"

    @property
    def n_rows(self) -> int:
        """Rows in the file."""
        return self.frame.height if self.n_rows_in_file is None else self.n_rows_in_file

    @property
    def model_name(self) -> str:
        """The short name of the model, or its class."""
        if self.comparison is not None:
            return self.comparison.best.name
        return type(self.model.estimator_).__name__

    @property
    def seen(self) -> str:
        """What the measured rows are, for captions."""
        return "rows of the file" if self.comparison is None else "rows it had not seen"

    def row_number(self, row: int) -> int:
        """Where a row of the frame stands in the file, counted from 1 below the header."""
        return 1 + int(row if self.row_numbers is None else self.row_numbers[row])

    @property
    def counting(self) -> str:
        """A sentence on what row numbers mean."""
        if self.row_numbers is None and self.n_rows > self.frame.height:
            return "Rows are counted from 1 within the sample that was read."
        return "Rows are counted from 1 below the header."

    @property
    def predict_command(self) -> str:
        """What to type for predictions of new rows."""
        words = ["posterity", "predict", self.model_path, self.source]
        return shlex.join([*words, *(() if self.dask is None else ("--dask", self.dask))])
