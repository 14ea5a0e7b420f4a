"""Convert tables of any library to polars frames."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from posterity.tables import texts
from posterity.tables.columns import TableError, list_names


def as_frame(X: Any) -> pl.DataFrame:
    """Convert a table to a polars frame.

    Parameters
    ----------
    X : polars.DataFrame, polars.LazyFrame, pandas.DataFrame, Arrow table, array or dict of columns
        Columns of equal length. The columns of a two-dimensional array are called x0, x1 and so
        on, those of a structured array by its fields.

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
    if isinstance(X, np.ndarray):
        return _from_array(X)
    if hasattr(X, "__arrow_c_stream__"):
        return pl.DataFrame(X)
    raise TypeError(
        "A table is a polars or pandas DataFrame, an Arrow table, a two-dimensional array or a "
        f"dict of columns, not {type(X).__name__}."
    )


def append_targets(
    frame: pl.DataFrame, y: Any, name: str | None = None
) -> tuple[pl.DataFrame, str]:
    """Append targets to a table as a column; return the table and the name of the column.

    The name is the given one, whose column is replaced; otherwise that of ``y`` if it has one, or
    "target", and a column of that name must be ``y`` itself.

    Examples
    --------
    >>> from posterity import tables
    >>> frame, name = tables.append_targets(tables.as_frame({"x": [1.0, 2.0]}), [3.0, 4.0])
    >>> name, frame.columns
    ('target', ['x', 'target'])
    """
    chosen = name or str(getattr(y, "name", None) or "target")
    targets = as_frame({chosen: y})[chosen]
    if len(targets) != frame.height:
        raise ValueError(f"The table has {frame.height:,} rows and y has {len(targets):,}.")
    if name is None and chosen in frame.columns:
        _require_equal(frame[chosen], targets)
    return frame.with_columns(targets), chosen


def require_columns(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if columns are missing, and suggest similar names."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        columns = "There is no column" if len(absent) == 1 else "There are no columns"
        shown = list_names(list(map(repr, absent)))
        raise TableError(f"{columns} {shown} in the table. {_suggest_names(absent[0], frame)}")


def _require_equal(column: pl.Series, targets: pl.Series) -> None:
    """Refuse targets named like a column with other values: whether it is an input is unknown."""
    is_number = column.dtype.is_numeric() and targets.dtype.is_numeric()
    cells = [
        one.cast(pl.Float64).fill_nan(None) if is_number else one.cast(pl.String)
        for one in (column, targets)
    ]
    differs = cells[0].ne_missing(cells[1])
    if differs.any():
        row = int(differs.arg_max() or 0)
        raise TableError(
            f"y is called {column.name!r} like a column of the table, but has other values (in row "
            f"{row + 1} {targets[row]} instead of {column[row]}). If the column is an input, "
            "give y another name, as in pandas.Series(y, name='outcome'); if it is not, drop it."
        )


def _from_array(X: np.ndarray) -> pl.DataFrame:
    """Convert a structured or a two-dimensional array."""
    if X.dtype.names:
        return _assemble_frame([_make_series(name, X[name]) for name in X.dtype.names])
    if X.ndim != 2:
        raise ValueError(f"A table has rows and columns, but the array has shape {X.shape}.")
    return _assemble_frame([_make_series(f"x{k}", column) for k, column in enumerate(X.T)])


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
    """Convert a pandas column or array without the optional dependencies of polars."""
    if values.dtype.kind in "biufMm" and isinstance(values.dtype, np.dtype):
        return _make_series(name, values.to_numpy())
    missing = np.asarray(values.isna())
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
