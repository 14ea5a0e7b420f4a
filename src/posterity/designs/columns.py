"""Sources of raw columns: a matrix, or a kernel matrix.

A source returns some columns at a time, so that the whole matrix need not fit in memory.
"""

from __future__ import annotations

import abc
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from posterity import arrays, kernels
from posterity.arrays import DeviceArray, namespace
from posterity.kernels import rows


class ColumnSource(abc.ABC):
    """A source of columns of N values each, selected by number.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> columns = designs.MatrixColumnSource(np.eye(3))
    >>> isinstance(columns, designs.ColumnSource), columns.n_columns
    (True, 3)
    """

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows N."""

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """Number of columns M."""

    @abc.abstractmethod
    def block(self, places: NDArray[np.intp]) -> DeviceArray:
        """Return columns by number, (N, b), in memory owned by the caller."""


class MatrixColumnSource(ColumnSource):
    """The columns of a matrix in memory or on a device.

    Parameters
    ----------
    Z : array of shape (N, M), of any array library

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> designs.MatrixColumnSource(np.array([[1.0, 2.0, 3.0]])).block(np.array([2, 0]))
    array([[3., 1.]])
    """

    def __init__(self, Z: DeviceArray) -> None:
        self._Z = Z

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self._Z.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return int(self._Z.shape[1])

    def block(self, places: NDArray[np.intp]) -> DeviceArray:
        """Return columns by number, (N, b), as floating-point numbers."""
        xp = namespace(self._Z)
        Z = xp.take(self._Z, arrays.like_index(self._Z, places), axis=1)
        return Z if xp.isdtype(Z.dtype, "real floating") else xp.astype(Z, xp.float64)


class KernelColumnSource(ColumnSource):
    """One column k(rows, c) for every centre c.  [P8 8.41]

    Parameters
    ----------
    kernel : Kernel
        Kernel with all parameters set.
    rows : array of shape (N, D) of any array library, or a sequence of N objects
    centres : array of shape (M, D), or a sequence of M objects, optional
        Centres; the rows by default.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs, kernels
    >>> columns = designs.KernelColumnSource(kernels.Linear(1.0), np.array([[1.0], [2.0], [3.0]]))
    >>> columns.block(np.array([1]))
    array([[2.],
           [4.],
           [6.]])
    """

    def __init__(self, kernel: kernels.Kernel, rows: Any, centres: Any = None) -> None:
        self._kernel, self._rows = kernel, rows
        self._centres = rows if centres is None else centres

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return rows.count_rows(self._rows)

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return rows.count_rows(self._centres)

    def block(self, places: NDArray[np.intp]) -> DeviceArray:
        """Return columns by number, (N, b)."""
        K = self._kernel(self._rows, rows.select_rows(self._centres, places))
        if array_api_compat.is_numpy_array(K) and not K.flags.writeable:
            return K.copy()
        return K
