"""Columns of categories: two values are the same, or they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace, to_numpy
from posterity.kernels import rows, scales
from posterity.kernels.kernel import CorrelationKernel
from posterity.kernels.parameters import Range, Value, by_column, positive
from posterity.kernels.tangent import Tangent

_SHORT, _LONG = 3e-2, 1e4  # similarities of about 1e-15, and of all but one


@dataclass(frozen=True, repr=False)
class Categorical(CorrelationKernel):
    """k(x, z) = exp(-sum_d [x_d is not z_d] / length_scale_d).

    Two different categories of a column have similarity exp(-1 / length_scale), whichever they
    are and however many there are: close to 0 for a short length scale, where a category says
    nothing of the others, and close to 1 for a long one, where the column does not matter. Codes
    may be any numbers, and their order means nothing. The derivative in them counts as zero.

    Parameters
    ----------
    length_scale : float, or one per column, optional
        How alike different categories are.
    ard : bool, default=False
        Whether an unset ``length_scale`` is started, and then tuned, for each column by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Categorical
    >>> Categorical(1.0)(np.array([[0.0, 7.0], [0.0, 3.0], [1.0, 4.0]])).round(4)
    array([[1.    , 0.3679, 0.1353],
           [0.3679, 1.    , 0.1353],
           [0.1353, 0.1353, 1.    ]])
    """

    length_scale: Value = positive(per_column=True, bounds=(_SHORT, _LONG))
    ard: bool = by_column("length_scale")

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        R = rows.full_like_rows(X, (rows.count_rows(X), rows.count_rows(Z)), 0.0)
        for different, l in zip(_iterate_differences(X, Z), self._lengths(X).tolist(), strict=True):
            R -= different / l
        return namespace(X).exp(R)

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        K = self._block(X, Z)
        return Tangent(
            K,
            lambda G: self._collect_gradients(
                length_scale=lambda: self._length_gradient(X, Z, K * G)
            ),
            lambda G: 0.0 * X,
        )

    def _length_gradient(self, X: DeviceArray, Z: DeviceArray, W: DeviceArray) -> Array | float:
        """sum_nm W_nm [x_nd is not z_md] / l_d: dL/d log length_scale, W = K dL/dK."""
        xp = namespace(W)
        S = np.array([float(xp.sum(W * different)) for different in _iterate_differences(X, Z)])
        each = S / self._lengths(X)
        return each if isinstance(self.length_scale, tuple) else float(np.sum(each))

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        self._lengths(X)
        differing = np.array([_chance_of_difference(column) for column in to_numpy(X).T])
        if self.ard or isinstance(self.length_scale, tuple):
            starts = np.where(differing > 0.0, len(differing) * differing, 1.0)
            return {"length_scale": Range(tuple(starts), _SHORT, _LONG)}
        return {"length_scale": Range(float(np.sum(differing)) or 1.0, _SHORT, _LONG)}

    def _lengths(self, X: DeviceArray) -> Array:
        l = scales.broadcast_to_columns(self.length_scale, X, self)
        return np.full(X.shape[1], l) if isinstance(l, float) else to_numpy(l)


def _iterate_differences(X: DeviceArray, Z: DeviceArray) -> Iterator[DeviceArray]:
    """1.0 where x_d is not z_d, (N, M), one column after another."""
    xp = namespace(X, Z)
    for d in range(X.shape[1]):
        yield xp.astype(X[:, d, None] != Z[None, :, d], X.dtype)


def _chance_of_difference(column: Array) -> float:
    """That two rows drawn at random are of different categories."""
    _, counts = np.unique(column, return_counts=True)
    return float(1.0 - np.sum((counts / len(column)) ** 2))
