"""Convert tables of any library to polars frames."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from posterity.tables import texts
from posterity.tables.columns import TableError


def as_frame(X: Any) -> pl.DataFrame:
    """Convert a table to a polars frame.

    Parameters
    ----------
    X : polars.DataFrame, polars.LazyFrame, pandas.DataFrame or dict of columns
        Columns of equal length with string names.

    Returns
    -------
    polars.DataFrame

    Examples
    --------
    >>> from posterity import tables
    >>> tables.as_frame({"size": [1.5, None], "colour": ["red", "blue"]}).shape
    (2, 2)
    """
    if isinstance(X, pl.DataFrame):
        return X
    if isinstance(X, pl.LazyFrame):
        return X.collect()
    if isinstance(X, Mapping):
        return _assemble_frame([_make_series(str(name), values) for name, values in X.items()])
    if type(X).__module__.partition(".")[0] == "pandas" and np.ndim(X) == 2:
        names = [str(name) for name in X.columns]
        return _assemble_frame(
            [_make_series(name, X.iloc[:, place]) for place, name in enumerate(names)]
        )
    raise TypeError(
        f"A table is a polars or pandas DataFrame or a dict of columns, not {type(X).__name__}."
    )


def require_columns(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if columns are missing, and suggest similar names."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        shown = ", ".join(repr(name) for name in absent[:5])
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        columns = "There is no column" if len(absent) == 1 else "There are no columns"
        raise TableError(
            f"{columns} {shown}{more} in the table. {_suggest_names(absent[0], frame)}"
        )


def _suggest_names(name: str, frame: pl.DataFrame) -> str:
    """Suggest column names similar to a missing one."""
    lowered = {column.lower(): column for column in frame.columns}
    close = [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=3)]
    if close:
        return "Did you mean " + " or ".join(repr(match) for match in close) + "?"
    shown = ", ".join(repr(column) for column in frame.columns[:10])
    return f"Its columns are {shown}{', ...' if frame.width > 10 else ''}."


def _assemble_frame(columns: list[pl.Series]) -> pl.DataFrame:
    try:
        return pl.DataFrame(columns)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise ValueError(f"These columns do not form a table: {error}") from error


def _make_series(name: str, values: Any) -> pl.Series:
    """Convert one column; values that are neither numbers nor dates become text."""
    if isinstance(values, pl.Series):
        return values.rename(name)
    if type(values).__module__.partition(".")[0] == "pandas":
        return _from_pandas(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufMm":
        return pl.Series(name, values, nan_to_null=values.dtype.kind == "f")
    return _from_cells(name, [None if cell != cell else cell for cell in values])


def _from_pandas(name: str, values: Any) -> pl.Series:
    """Convert a pandas column without the optional dependencies of polars."""
    if values.dtype.kind in "biufMm" and isinstance(values.dtype, np.dtype):
        return _make_series(name, values.to_numpy())
    missing = values.isna().to_numpy()
    cells = values.to_numpy(dtype=object, copy=True)
    cells[missing] = None
    if values.dtype.name == "category":  # stays one, also where its labels are numbers
        labels = texts.convert_labels(_from_cells(name, cells.tolist()))
        return labels.cast(pl.Categorical).rename(name)
    return _from_cells(name, cells.tolist())


def _from_cells(name: str, cells: list[Any]) -> pl.Series:
    """Convert Python objects; mixed types become text."""
    try:
        return pl.Series(name, cells)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells])
