"""What was not made by its own constructor, as when it is read from a file, and has to agree.

Compiled code follows numbers into memory without a look at them. A class whose numbers it follows
says here what they have to be; whoever builds objects from a file asks each that can say.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Checked(Protocol):
    """An object that knows whether its parts agree.

    Examples
    --------
    >>> from posterity import kernels, validation
    >>> isinstance(kernels.RBF(1.0), validation.Checked)
    True
    """

    def check_consistency(self) -> None:
        """Raise ValueError, with a sentence, where they do not."""


def require(holds: bool | np.bool_, sentence: str) -> None:
    """Raise ValueError with the sentence unless this holds.

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
    """Raise ValueError unless this is an array of one of the types, and of the shape.

    Parameters
    ----------
    value : Any
    name : str
        For the message.
    dtypes : dtype or tuple of them
        Those that are welcome.
    shape : tuple of int or None
        None: any number.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.require_array(np.zeros((2, 3)), "gates", np.float64, (None, 3))
    >>> validation.require_array(np.zeros(2), "gates", np.float64, (None, 3))
    Traceback (most recent call last):
        ...
    ValueError: gates has shape (2,) where (any, 3) is needed.
    """
    require(type(value) is np.ndarray, f"{name} is not an array but a {type(value).__name__}.")
    welcome = [np.dtype(dtype) for dtype in (dtypes if isinstance(dtypes, tuple) else (dtypes,))]
    require(
        value.dtype in welcome,
        f"{name} holds {value.dtype} where {' or '.join(map(str, welcome))} is needed.",
    )
    agrees = value.ndim == len(shape) and all(
        n is None or n == m for n, m in zip(shape, value.shape, strict=True)
    )
    needed = ", ".join("any" if n is None else str(n) for n in shape)
    comma = "," if len(shape) == 1 else ""
    require(agrees, f"{name} has shape {value.shape} where ({needed}{comma}) is needed.")


def require_within(values: NDArray[Any], name: str, least: Any, most: Any) -> None:
    """Raise ValueError unless all values lie from the least on and are less than ``most``.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import validation
    >>> validation.require_within(np.array([0, 3]), "columns", 0, 3)
    Traceback (most recent call last):
        ...
    ValueError: columns holds 3, which is not from 0 on and less than 3.
    """
    outside = ~((values >= least) & (values < most))  # so that NaN is outside
    if outside.any():
        found = values[outside][0]
        raise ValueError(
            f"{name} holds {found}, which is not from {least} on and less than {most}."
        )


def require_count(value: Any, name: str, least: int = 0) -> None:
    """Raise ValueError unless this is a whole number of at least so many.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.require_count(2.5, "n_leaves")
    Traceback (most recent call last):
        ...
    ValueError: n_leaves=2.5 is not a whole number from 0 on.
    """
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= least
    require(is_count, f"{name}={value!r:.40} is not a whole number from {least} on.")


def require_positive(value: Any, name: str) -> None:
    """Raise ValueError unless this is a finite number above zero.

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
