"""Checks for numbers whose squares overflow or underflow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.validation import refusals

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
        column, value = refusals.format_column(data, bad[0]), float(size[bad[0]])
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
    >>> from posterity.validation import ranges
    >>> ranges.check_total(np.full(4, 1e300))
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
