"""Kernels of histograms: rows of counts or shares, none below zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace, to_numpy
from posterity.kernels import parameters, rows
from posterity.kernels.kernel import CorrelationKernel, Kernel
from posterity.kernels.parameters import Range, positive
from posterity.kernels.tangent import Tangent

_TYPICAL_ROWS = 100  # from which a typical distance is taken


@dataclass(frozen=True, repr=False)
class ChiSquared(CorrelationKernel):
    """k(x, z) = exp(-scale sum_d (x_d - z_d)^2 / (x_d + z_d)), for rows of numbers not below zero.

    Bins that are empty in both rows count as equal.

    Parameters
    ----------
    scale : float, optional
        One over the chi-squared distance at which rows are correlated by exp(-1).

    See Also
    --------
    AdditiveChiSquared : the inner product that belongs to the same distance.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import ChiSquared
    >>> ChiSquared(1.0)(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4)
    array([[1.    , 0.5134],
           [0.5134, 1.    ]])
    """

    scale: float = positive()

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        return namespace(X).exp(-self._distances(X, Z))

    def _diag(self, X: DeviceArray) -> DeviceArray:
        _check_histogram(X, "X", self)
        return super()._diag(X)

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        C = self._distances(X, Z)
        K = namespace(X).exp(-C)
        xp = namespace(X)
        return Tangent(
            K,
            lambda G: self._collect_gradients(scale=lambda: -float(xp.sum(G * K * C))),
            lambda G: _movement(X, Z, -self.scale * K * G),
        )

    def _distances(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        """scale times the chi-squared distances, (N, M)."""
        _check_both(X, Z, self)
        C = rows.full_like_rows(X, (rows.count_rows(X), rows.count_rows(Z)), 0.0)
        for d in range(X.shape[1]):
            difference, total = X[:, d, None] - Z[None, :, d], _row_totals(X, Z, d)
            C += difference * difference / total
        C *= self.scale
        return C

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        some = X[:: max(1, rows.count_rows(X) // _TYPICAL_ROWS), :]
        typical = float(namespace(X).mean(ChiSquared(1.0)._distances(some, some)))
        return {"scale": parameters.range_about(1.0 / typical if typical > 0.0 else 1.0)}


class AdditiveChiSquared(Kernel):
    """k(x, z) = sum_d 2 x_d z_d / (x_d + z_d), for rows of numbers not below zero.

    Of rows that add up to one, one less half the chi-squared distance of :class:`ChiSquared`. Bins
    that are empty in both rows add nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import AdditiveChiSquared
    >>> AdditiveChiSquared()(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])
    """

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        _check_both(X, Z, self)
        K = rows.full_like_rows(X, (rows.count_rows(X), rows.count_rows(Z)), 0.0)
        for d in range(X.shape[1]):
            K += 2.0 * X[:, d, None] * Z[None, :, d] / _row_totals(X, Z, d)
        return K

    def _diag(self, X: DeviceArray) -> DeviceArray:
        _check_histogram(X, "X", self)
        return namespace(X).sum(X, axis=1)

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        # 2 x z / (x + z) is half of (x + z) less (x - z)^2 / (x + z).
        return Tangent(
            self._block(X, Z),
            lambda G: self._collect_gradients(),
            lambda G: 0.5 * (namespace(G).sum(G, axis=1)[:, None] - _movement(X, Z, G)),
        )

    def _diag_gradient(self, X: DeviceArray, g: DeviceArray) -> Array:
        return self._collect_gradients()


def _row_totals(X: DeviceArray, Z: DeviceArray, d: int) -> DeviceArray:
    """x_d + z_d, (N, M); one where both are zero, so that nothing is divided by zero."""
    xp = namespace(X)
    total = X[:, d, None] + Z[None, :, d]
    return xp.where(total > 0.0, total, xp.ones_like(total))


def _movement(X: DeviceArray, Z: DeviceArray, W: DeviceArray) -> DeviceArray:
    """sum_m W_nm (1 - 4 z^2 / (x + z)^2), (N, D): the slope in x of (x - z)^2 / (x + z)."""
    xp = namespace(X)
    shares = (Z[None, :, d] / _row_totals(X, Z, d) for d in range(X.shape[1]))
    return xp.stack([xp.sum(W * (1.0 - 4.0 * s * s), axis=1) for s in shares], axis=1)


def _check_both(X: DeviceArray, Z: DeviceArray, kernel: Kernel) -> None:
    _check_histogram(X, "X", kernel)
    if Z is not X:
        _check_histogram(Z, "Z", kernel)


def _check_histogram(X: DeviceArray, name: str, kernel: Kernel) -> None:
    """Raise with the first place that is below zero."""
    if not bool(namespace(X).any(X < 0.0)):
        return
    values = to_numpy(X)
    n, d = np.argwhere(values < 0.0)[0]
    raise ValueError(
        f"{name} is {values[n, d]:g} in row {n}, column {d}; {type(kernel).__name__} compares "
        "histograms, which are nowhere below zero. Choose other columns with Columns(...), or "
        "another kernel."
    )
