"""The contents of a report: a model, the rows it was scored on, and how it was made."""

import shlex
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.comparison import results

_PACKAGES = ("posterity", "numpy", "scikit-learn")


def find_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the libraries that the numbers depend on."""
    return tuple((name, metadata.version(name)) for name in _PACKAGES)


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that a report shows.

    Parameters
    ----------
    title : str
        Title of the page.
    command : str
        Command that makes the report again.
    model : tables.TableModel
        Fitted model; the winner of ``comparison`` if there is one.
    frame : polars.DataFrame
        The rows, including the target; a sample if the file is larger than memory.
    held_out : HeldOut
        Predictions for rows of ``frame``, and the observed values.
    comparison : Comparison, optional
        Scores of several models; ``held_out`` then contains only held-out rows.
    two_classes : TwoClassScores, optional
        Scores of two classes, if there is no ``comparison``, which has them.
    model_path : str, default="model.posterity"
        File of the saved model, for the suggested commands.
    source : str, default="data.csv"
        File of the table, for the suggested commands.
    dask : str, optional
        Address of the Dask cluster, for the suggested commands.
    n_rows_in_file : int, optional
        Number of rows in the file. None: as many as ``frame`` has.
    row_numbers : ndarray of shape (n,), optional
        Positions of the rows of ``frame`` in the file, from 0. None: consecutive.
    inferred : tuple of str
        Sentences that describe the inferred schema.
    notes : tuple of str
        Sentences to show at the top.
    seed : int, default=0
        Random seed.
    versions : tuple of (str, str)
        Names and versions of the libraries.
    """

    title: str
    command: str
    model: tables.TableModel
    frame: pl.DataFrame
    held_out: results.HeldOut
    comparison: results.Comparison | None = None
    two_classes: results.TwoClassScores | None = None
    model_path: str = "model.posterity"
    source: str = "data.csv"
    dask: str | None = None
    n_rows_in_file: int | None = None
    row_numbers: NDArray[Any] | None = None
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    versions: tuple[tuple[str, str], ...] = field(default_factory=find_versions)

    @property
    def schema(self) -> tables.Schema:
        """Inferred schema of the table."""
        return self.model.schema_

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.schema.task == "regression"

    @property
    def n_rows(self) -> int:
        """Number of rows in the file."""
        return self.frame.height if self.n_rows_in_file is None else self.n_rows_in_file

    @property
    def model_name(self) -> str:
        """Short name of the model, or its class."""
        if self.comparison is not None:
            return self.comparison.best.name
        return type(tables.strip_exposure(self.model.estimator_)).__name__

    @property
    def rows_description(self) -> str:
        """Description of the scored rows, for captions."""
        return "rows of the file" if self.comparison is None else "held-out rows"

    def row_number(self, row: int) -> int:
        """Return the number of a row in the file, counted from 1 below the header."""
        return 1 + int(row if self.row_numbers is None else self.row_numbers[row])

    @property
    def row_number_note(self) -> str:
        """Sentence that explains the row numbers."""
        if self.row_numbers is None and self.n_rows > self.frame.height:
            return "Rows are counted from 1 within the sample that was read."
        return "Rows are counted from 1 below the header."

    @property
    def predict_command(self) -> str:
        """Command that predicts new rows."""
        words = ["posterity", "predict", self.model_path, self.source]
        return shlex.join([*words, *(() if self.dask is None else ("--dask", self.dask))])
