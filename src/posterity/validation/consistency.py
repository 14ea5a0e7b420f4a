"""Consistency checks of objects that were read from a file.

Compiled code uses indices without bounds checks. Classes with such indices validate them here, and
objects read from files are checked before use.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Checked(Protocol):
    """Protocol of objects that can check their own consistency.

    Examples
    --------
    >>> from posterity import kernels, validation
    >>> isinstance(kernels.RBF(1.0), validation.Checked)
    True
    """

    def check_consistency(self) -> None:
        """Raise ValueError if the parts are inconsistent."""


def require(holds: bool | np.bool_, sentence: str) -> None:
    """Raise ValueError with a message unless a condition holds.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.require(1 > 2, "one is not more than two.")
    Traceback (most recent call last):
        ...
    ValueError: one is not more than two.
    """
    if not holds:
        raise ValueError(sentence)


def require_array(value: Any, name: str, dtypes: Any, shape: tuple[int | None, ...]) -> None:
    """Raise ValueError unless a value is an array of the given types and shape.

    Parameters
    ----------
    value : Any
    name : str
        Name for the message.
    dtypes : dtype or tuple of them
        Accepted data types.
    shape : tuple of int or None
        Expected shape; None matches any length.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.require_array(np.zeros((2, 3)), "gates", np.float64, (None, 3))
    >>> validation.require_array(np.zeros(2), "gates", np.float64, (None, 3))
    Traceback (most recent call last):
        ...
    ValueError: gates has shape (2,), but (any, 3) is required.
    """
    require(type(value) is np.ndarray, f"{name} is not an array but a {type(value).__name__}.")
    welcome = [np.dtype(dtype) for dtype in (dtypes if isinstance(dtypes, tuple) else (dtypes,))]
    require(
        value.dtype in welcome,
        f"{name} has type {value.dtype}, but {' or '.join(map(str, welcome))} is required.",
    )
    agrees = value.ndim == len(shape) and all(
        n is None or n == m for n, m in zip(shape, value.shape, strict=True)
    )
    needed = ", ".join("any" if n is None else str(n) for n in shape)
    comma = "," if len(shape) == 1 else ""
    require(agrees, f"{name} has shape {value.shape}, but ({needed}{comma}) is required.")


def require_within(values: NDArray[Any], name: str, least: Any, most: Any) -> None:
    """Raise ValueError unless least <= values < most.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.require_within(np.array([0, 3]), "columns", 0, 3)
    Traceback (most recent call last):
        ...
    ValueError: columns contains 3, which is not in the range 0 <= value < 3.
    """
    outside = ~((values >= least) & (values < most))  # so that NaN is outside
    if outside.any():
        found = values[outside][0]
        raise ValueError(
            f"{name} contains {found}, which is not in the range {least} <= value < {most}."
        )


def require_count(value: Any, name: str, least: int = 0) -> None:
    """Raise ValueError unless a value is an integer of at least ``least``.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.require_count(2.5, "n_leaves")
    Traceback (most recent call last):
        ...
    ValueError: n_leaves=2.5 is not a whole number of at least 0.
    """
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= least
    require(is_count, f"{name}={value!r:.40} is not a whole number of at least {least}.")


def require_positive(value: Any, name: str) -> None:
    """Raise ValueError unless a value is finite and positive.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.require_positive(0.0, "sharpness")
    Traceback (most recent call last):
        ...
    ValueError: sharpness=0.0 is not a finite number above zero.
    """
    is_number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    require(
        is_number and 0.0 < value < np.inf,
        f"{name}={value!r:.40} is not a finite number above zero.",
    )
