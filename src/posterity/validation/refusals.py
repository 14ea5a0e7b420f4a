"""Errors about invalid data that name the row or column and the remedy."""

from collections import Counter
from collections.abc import Sequence, Sized
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array

_FILL = "Fill or drop missing values first, e.g. with sklearn.impute.SimpleImputer."
_CLIP = "Clip or drop infinite values first."
_LEARNED = (
    "{model} needs its rows in memory, but X is a Dask collection: pass X.compute(), or a sample "
    "of the rows. Linear and logistic models, forests, boosted trees, and Gaussian processes with "
    "inducing points can be fitted to Dask collections."
)
_ASKED = (
    "X is a Dask collection, but this method of {model} needs rows in memory: pass X.compute(), "
    "or one partition at a time."
)


def refuse_where(bad: NDArray[np.bool_], values: Array, name: str, rule: str) -> None:
    """Raise an error that names the first invalid row."""
    rows = np.flatnonzero(bad)
    if rows.size:
        raise ValueError(
            f"{name} is {values[rows[0]]:g} in row {rows[0]}{_count_others(rows)}; {rule}."
        )


def refuse_collection(X: Any, model: str, *, learned: bool) -> None:
    """Raise for Dask collections, which NumPy would silently load into memory."""
    if arrays.is_collection(X):
        raise TypeError((_LEARNED if learned else _ASKED).format(model=model))


def refuse_collection_beside_rows(values: Any, name: str) -> None:
    """Raise for a Dask collection passed together with rows in memory."""
    if arrays.is_collection(values):
        raise TypeError(
            f"{name} is a Dask collection, but is needed in memory: pass {name}.compute()."
        )


def refuse_duplicated_names(X: Any) -> None:
    """Raise if two columns have the same name."""
    names = _column_names(X)
    repeated = [repr(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has more than one column named {', '.join(repeated)}; rename or drop duplicates."
        )


def refuse_dates(data: Any, name: str) -> None:
    """Raise for dates, which NumPy would silently convert to microseconds."""
    dtypes = data.dtypes if _column_names(data) else [getattr(data, "dtype", None)]
    for j, dtype in enumerate(dtypes):
        if str(dtype).lower().startswith(("date", "time", "duration", "period")):
            raise ValueError(
                f"Input {name} contains dates or times (column {format_column(data, j)}); convert "
                "them to numbers first, e.g. days since a fixed date."
            )


def refuse_masked(X: Any) -> None:
    """Raise for masked values, which would be treated as data."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            "X is a masked array with masked values; pass X.filled(np.nan) to mark them as missing."
        )


def refuse_empty_frame(X: Any) -> None:
    """Raise for a data frame without columns."""
    columns = getattr(X, "columns", None)
    if columns is not None and not len(columns):
        raise ValueError("X is a data frame without columns; pass at least one.")


def refuse_non_finite(
    values: Array, data: Any, name: str, *, allow_missing: bool = False, advice: str = ""
) -> None:
    """Raise an error that names the first NaN or infinite value."""
    if _all_finite(values):
        return
    nan = np.isnan(values)
    is_missing = not allow_missing and bool(nan.any())
    places = np.argwhere(nan if is_missing else np.isinf(values))
    if not len(places):
        return
    kind, remedy = ("NaN", f"{_FILL} {advice}") if is_missing else ("infinity", _CLIP)
    first = f"{_format_place(data, places[0])}{_count_others(places)}"
    raise ValueError(f"Input {name} contains {kind}: {first}. {remedy.rstrip()}")


def _all_finite(values: Array) -> bool:
    """Return whether all values are finite, by their sum if that is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())


def explain_conversion_error(
    data: Any, name: str, error: Exception, *, advice: str = ""
) -> NoReturn:
    """Return the error for the cell that is not a number, or scikit-learn's error."""
    place, value = _first_unreadable_cell(data)
    if isinstance(value, str):
        raise ValueError(
            f"Input {name}: {place} holds the text {value!r}; encode it as numbers first, "
            "e.g. with sklearn.preprocessing.OneHotEncoder."
        ) from error
    if type(value).__name__ == "NAType":
        remedy = f"{_FILL} {advice}".rstrip()
        raise ValueError(f"Input {name} contains NaN: {place}. {remedy}") from error
    if isinstance(value, int):
        raise ValueError(f"Input {name}: {place} is too large for a float64 number.") from error
    raise error


def _first_unreadable_cell(data: Any) -> tuple[str, object]:
    """Return position and value of the first cell that is not a number."""
    try:
        cells = np.asarray(data, dtype=object)
    except (ValueError, TypeError):
        return "", None
    if cells.ndim in (1, 2):
        for index in np.ndindex(cells.T.shape):
            if not _is_readable(cells.T[index]):
                return _format_place(data, index[::-1]), cells.T[index]
    return "", None


def _is_readable(value: Any) -> bool:
    """Return whether NumPy converts the value to a number; None becomes NaN."""
    try:
        return value is None or isinstance(float(value), float)
    except (TypeError, ValueError, OverflowError):
        return False


def _format_place(data: Any, index: Sequence[int]) -> str:
    """Format a position, (row,) or (row, column)."""
    if len(index) == 1:
        return f"row {index[0]}"
    return f"column {format_column(data, index[1])} (row {index[0]})"


def _count_others(places: Sized) -> str:
    """Format the number of further invalid places."""
    count = len(places) - 1
    plural = "s" if count > 1 else ""
    return f" and {count} other place{plural}" if count else ""


def format_column(data: Any, j: int) -> str:
    """Format a column: its quoted name, or its number from 0."""
    names = _column_names(data)
    return repr(names[j]) if names else str(j)


def _column_names(data: Any) -> list[object]:
    """Return the column names of a data frame; empty for arrays."""
    return list(getattr(data, "columns", ()))


_LARGEST = 1e140
"""Largest spread whose weighted sum of squares over all rows does not overflow."""
_MOST_ROWS = float(np.finfo(np.float64).eps) ** -2
_POWERS = {2: "squares", 3: "cubes", 4: "fourth powers"}


def check_spread(spread: Array, what: str, remedy: str = "rescale them", power: int = 2) -> Array:
    """Raise if the square of a column's spread overflows or underflows.

    Parameters
    ----------
    spread : ndarray of shape (K,)
        Standard deviation, range or largest deviation of each column.
    what : str
        Content of the columns for the message, in the plural.
    remedy : str
        Advice for the message.
    power : {2, 3, 4}, default=2
        Power that must be representable: 3 for likelihoods whose third derivative has the units of
        the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.check_spread(np.array([2.0, 1e-160]), "targets")
    Traceback (most recent call last):
        ...
    ValueError: The targets of column 1 vary by 1.0e-160, and squares of that are beyond double
    precision: rescale them.
    """
    bad = _is_beyond(spread, power)
    if bad.any():
        raise ValueError(
            f"The {what} of column {int(np.argmax(bad))} vary by {spread[bad][0]:.1e}, and "
            f"{_POWERS[power]} of that are beyond double precision: {remedy}."
        )
    return spread


def check_powers(rows: Array, data: Any = None, power: int = 2) -> None:
    """Raise if squares of the inputs overflow or underflow.

    Parameters
    ----------
    rows : ndarray of shape (N, D)
        Validated inputs; NaN is ignored.
    data : array-like or data frame, optional
        The inputs as given by the user, for column names.
    power : {2, 4}, default=2
        Power that must be representable: 4 for models that square products of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.check_powers(np.array([[1.0, 0.0], [2.0, 1e200]]))
    Traceback (most recent call last):
        ...
    ValueError: Input X: column 1 holds values up to 1.0e+200, whose squares are beyond double
    precision; divide the column by 1e+200.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norm = np.sqrt(np.einsum("nd,nd->d", rows, rows))
        least = norm / np.sqrt(max(1, len(rows)))  # the largest entry is between the two
        doubtful = ~(_is_within(norm, power) & _is_within(least, power))
    size = np.ones_like(norm)
    size[doubtful] = np.fmax.reduce(np.abs(rows[:, doubtful]), axis=0, initial=0.0)
    bad = np.flatnonzero(_is_beyond(size, power))
    if bad.size:
        column, value = format_column(data, bad[0]), float(size[bad[0]])
        unit = f"1e{np.floor(np.log10(value)):+.0f}"
        raise ValueError(
            f"Input X: column {column} holds values up to {value:.1e}, whose {_POWERS[power]} are "
            f"beyond double precision; divide the column by {unit}."
        )


def check_total(weights: Array) -> None:
    """Raise if the weights add up to more rows than double precision can count.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.validation import refusals
    >>> refusals.check_total(np.full(4, 1e300))
    Traceback (most recent call last):
        ...
    ValueError: sample_weight adds up to 4e+300 rows, and counts above 2e+31 are beyond double
    precision; divide the weights by their mean, 1e+300, if each row counts once.
    """
    with np.errstate(over="ignore"):
        total, mean = float(weights.sum()), float(np.sum(weights / len(weights)))
    if total > _MOST_ROWS:
        raise ValueError(
            f"sample_weight adds up to {total:.3g} rows, and counts above {_MOST_ROWS:.0e} are "
            f"beyond double precision; divide the weights by their mean, {mean:.3g}, if each row "
            "counts once."
        )


def _is_beyond(size: Array, power: int = 2) -> NDArray[np.bool_]:
    return (size != 0.0) & (size == size) & ~_is_within(size, power)


def _is_within(size: Array, power: int) -> NDArray[np.bool_]:
    largest = _LARGEST ** (2.0 / power)
    return (size <= largest) & (size >= 1.0 / largest)
