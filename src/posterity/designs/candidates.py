"""Candidate columns, of a matrix or a kernel: standardised, in memory if they fit or else streamed.

Columns are centred by their weighted mean, if the model has an offset, and scaled by their weighted
root mean square, so weight precisions of all columns can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from posterity import arrays, kernels
from posterity.arrays import Array, DeviceArray, namespace

_CPU_VALUES = 1 << 17  # 1 MiB of float64: a block to square stays in cache
_DEVICE_VALUES = 1 << 25
_STREAMED_SHARE = 4  # copies of a block in memory at a time
_LEAST_COLUMNS = 16


class MatrixColumnSource:
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


class KernelColumnSource:
    """Columns k(rows, c) of a kernel, one for every centre c.  [P8 8.41]

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
        return kernels.rows.count_rows(self._rows)

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return kernels.rows.count_rows(self._centres)

    def block(self, places: NDArray[np.intp]) -> DeviceArray:
        """Return columns by number, (N, b)."""
        K = self._kernel(self._rows, kernels.rows.select_rows(self._centres, places))
        if array_api_compat.is_numpy_array(K) and not K.flags.writeable:
            return K.copy()
        return K


ColumnSource: TypeAlias = MatrixColumnSource | KernelColumnSource
"""Columns of N values each, some at a time, so that the whole matrix need not fit in memory."""


@dataclass(frozen=True, eq=False)
class CandidateBlock:
    """A block of standardised columns.

    Parameters
    ----------
    places : array of shape (b,)
        Column numbers.
    Z : array of shape (N, b), where the columns came from
        Standardised values; zero for constant columns.
    center, scale : array of shape (b,)
        ``Z = (raw - center) / scale``.
    varies : array of bool, of shape (b,)
        False for constant columns.
    """

    places: NDArray[np.intp]
    Z: DeviceArray
    center: Array
    scale: Array
    varies: NDArray[np.bool_]

    def project(self, R: Array) -> Array:
        """Return Z^T R, (b, k), for R of shape (N, k)."""
        return _copy_to_host((arrays.like(self.Z, R).T @ self.Z).T)  # twice as fast as Z.T @ R

    def squares(self, w: Array) -> Array:
        """Return the sums of w z^2 of each column, (b,), for w of shape (N,)."""
        total, weights = np.zeros(len(self.places)), arrays.like(self.Z, w)
        for i in _slice_for_cache(self.Z):
            few = self.Z[i, :]
            total += _copy_to_host(weights[i] @ (few * few))
        return total

    def select_columns(self, within: NDArray[np.intp]) -> Array:
        """Return columns by position in this block, (N, k), on the host."""
        index = arrays.like_index(self.Z, within)
        return _copy_to_host(namespace(self.Z).take(self.Z, index, axis=1))

    def select(self, within: NDArray[np.intp]) -> CandidateBlock:
        """Columns by their position in this block, on the host."""
        return CandidateBlock(
            self.places[within],
            self.select_columns(within),
            self.center[within],
            self.scale[within],
            self.varies[within],
        )

    def copy_to_host(self) -> Array:
        """Return Z on the host, (N, b)."""
        return _copy_to_host(self.Z)


class CandidateColumns:
    """The columns that a sparse model selects from.

    Build with :meth:`from_columns`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> columns = designs.MatrixColumnSource(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> candidates = designs.CandidateColumns.from_columns(columns, centred=True)
    >>> block = next(candidates.blocks())
    >>> block.copy_to_host(), block.varies
    (array([[-1.,  0.],
           [ 1.,  0.]]), array([ True, False]))
    """

    def __init__(
        self,
        columns: ColumnSource,
        weights: Array | None,
        centred: bool,
        rng: np.random.Generator,
        limit_bytes: int,
    ) -> None:
        self._columns, self._centred, self._rng = columns, centred, rng
        self._limit = max(
            1, limit_bytes // (8 * columns.n_rows)
        )  # maximum number of columns in memory
        shares = np.ones(columns.n_rows) if weights is None else weights
        self._shares = shares / np.sum(shares)

    @classmethod
    def from_columns(
        cls,
        columns: ColumnSource,
        weights: Array | None = None,
        *,
        centred: bool,
        rng: np.random.Generator | None = None,
        limit_bytes: int = 2**29,
    ) -> CandidateColumns:
        """Return candidates from raw columns.

        Parameters
        ----------
        columns : Columns
        weights : array of shape (N,), optional
            Repetitions of each row.
        centred : bool
            Whether columns are centred by their weighted mean.
        rng : Generator, optional
            Generator of the order in which columns are streamed; by default a fixed order.
        limit_bytes : int
            Maximum size of columns kept in memory; larger sets are streamed.
        """
        generator = np.random.default_rng(0) if rng is None else rng
        return cls(columns, weights, centred, generator, limit_bytes)

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self._columns.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return self._columns.n_columns

    @property
    def is_held(self) -> bool:
        """Whether all columns are in memory."""
        return self.n_columns <= self._limit

    def blocks(self) -> Iterator[CandidateBlock]:
        """Yield every column once: one cached block, or many blocks in random order."""
        if self.is_held:
            yield from (self._held_block,) if self.n_columns else ()
            return
        order = self._rng.permutation(self.n_columns)
        size = max(_LEAST_COLUMNS, self._limit // _STREAMED_SHARE)
        for i in range(0, self.n_columns, size):
            yield self._standardise_columns(order[i : i + size])

    def take_columns(self, places: NDArray[np.intp]) -> CandidateBlock:
        """Return the standardised columns with these numbers."""
        if not self.is_held:
            return self._standardise_columns(places)
        held, index = self._held_block, arrays.like_index(self._held_block.Z, places)
        Z = namespace(held.Z).take(held.Z, index, axis=1)
        return CandidateBlock(
            places, Z, held.center[places], held.scale[places], held.varies[places]
        )

    @cached_property
    def _held_block(self) -> CandidateBlock:
        return self._standardise_columns(np.arange(self.n_columns))

    def _standardise_columns(self, places: NDArray[np.intp]) -> CandidateBlock:
        if not len(places):  # some kernels do not accept zero rows
            none = np.empty(0)
            return CandidateBlock(
                places, np.empty((self.n_rows, 0)), none, none, none.astype(np.bool_)
            )
        Z = self._columns.block(places)
        shares = arrays.like(Z, self._shares)
        with np.errstate(over="ignore", invalid="ignore"):  # told in a sentence
            center = shares @ Z if self._centred else 0.0 * Z[0, :]
            square = _centre_in_place(Z, center, shares)
        _check_finite(square, places)
        scale, varies = _compute_scales(square, _copy_to_host(center), _compute_rounding_error(Z))
        Z *= arrays.like(Z, varies / scale)
        return CandidateBlock(places, Z, _copy_to_host(center), scale, varies)


def _centre_in_place(Z: DeviceArray, center: DeviceArray, shares: DeviceArray) -> Array:
    """Subtract the centre in place; return the weighted mean squares, (b,)."""
    total = np.zeros(Z.shape[1])
    for i in _slice_for_cache(Z):
        Z[i, :] -= center
        few = Z[i, :]
        total += _copy_to_host(shares[i] @ (few * few))
    return total


def _compute_scales(
    square: Array, center: Array, precision: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Return root mean squares; 1 for columns that are constant up to rounding."""
    scale = np.sqrt(square)
    varies = scale > precision * np.abs(center)
    return np.where(varies, scale, 1.0), varies


def _compute_rounding_error(Z: DeviceArray) -> float:
    """Return the relative rounding error of a centred constant."""
    return 8.0 * math.sqrt(Z.shape[0]) * float(namespace(Z).finfo(Z.dtype).eps)


def _slice_for_cache(Z: DeviceArray) -> Iterator[slice]:
    """Yield row slices whose values fit in cache."""
    n_rows, n_columns = Z.shape
    values = _CPU_VALUES if array_api_compat.is_numpy_array(Z) else _DEVICE_VALUES
    size = max(1, values // max(1, n_columns))
    for i in range(0, n_rows, size):
        yield slice(i, min(i + size, n_rows))


def _copy_to_host(x: DeviceArray) -> Array:
    return np.asarray(arrays.to_numpy(x), dtype=np.float64)


def _check_finite(square: Array, places: NDArray[np.intp]) -> None:
    bad = np.flatnonzero(~np.isfinite(square))
    if len(bad):
        raise ValueError(
            f"candidate column {places[bad[0]]} contains NaN or infinity, or its square "
            "overflows; check the rows for missing or very large values, or the kernel."
        )
