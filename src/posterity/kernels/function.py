"""Any function k(X, Z) as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from posterity.arrays import DeviceArray, namespace, to_numpy
from posterity.kernels import rows
from posterity.kernels.kernel import Kernel


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """k(X, Z) as a function computes it.

    It has no parameters, and its derivatives are taken by differences. Whether it is positive
    semi-definite is for its author to know: :func:`check_positive_definite` looks.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` gives the (N, M) matrix of similarities of the rows of X and of Z.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Function
    >>> def overlap(X, Z):
    ...     return np.minimum(X, Z.T)
    >>> 2.0 * Function(overlap)
    2.0 * Function(overlap)
    >>> Function(overlap)(np.array([[1.0], [3.0]]))
    array([[1., 1.],
           [1., 3.]])
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise ValueError(f"function={self.function!r} must be a function k(X, Z).")

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return _check_result(self.function(X, Z), (rows.count_rows(X), rows.count_rows(Z)), self)

    def _write(self, *, short: bool) -> str:
        return f"{type(self).__name__}({_name_function(self.function)})"


def _name_function(function: Callable[[Any, Any], Any]) -> str:
    """The name of a function where it was written; other callables as they print."""
    return getattr(function, "__name__", None) or repr(function)


def _check_result(values: Any, shape: tuple[int, int], kernel: Kernel) -> DeviceArray:
    """The result of a function as finite real numbers of the right shape, in fresh memory."""
    given = values if array_api_compat.is_array_api_obj(values) else np.asarray(values)
    xp = namespace(given)
    if tuple(given.shape) != shape:
        raise ValueError(f"{kernel} returned shape {tuple(given.shape)}; expected {shape}.")
    if not xp.isdtype(given.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"{kernel} returned {given.dtype} values; expected real numbers.")
    K = xp.astype(given, xp.float64, copy=True)
    if not bool(xp.all(xp.isfinite(K))):
        values_given = to_numpy(K)
        n, m = np.argwhere(~np.isfinite(values_given))[0]
        raise ValueError(f"{kernel} is {values_given[n, m]} for row {n} of X and row {m} of Z.")
    return K
