"""Functions that repeat themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from posterity import arrays
from posterity.arrays import DeviceArray, namespace
from posterity.kernels import distances, rows, scales
from posterity.kernels.kernel import CorrelationKernel
from posterity.kernels.parameters import Range, positive
from posterity.kernels.stationary import movement_gradient, squares_and_movement
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form

_PERIODS_SEEN = 4.0  # at the start of the search


@dataclass(frozen=True, repr=False)
class Periodic(CorrelationKernel):
    """k(x, z) = exp(-2 sum_d sin^2(pi (x_d - z_d) / period) / length_scale^2).  [GPML 4.31]

    Each column is wound round a circle of circumference ``period``; between points on circles this
    is an RBF. Several columns repeat each by itself, with the same period. Other periods for other
    columns are ``Columns(Periodic(1.0), 0) * Columns(Periodic(7.0), 1)``.

    Parameters
    ----------
    period : float, optional
        How far one moves until the function is as before.
    length_scale : float, optional
        Large: nearly a sine; small: many wiggles within a period.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Periodic
    >>> Periodic(2.0, length_scale=1.0)(np.array([[0.0], [1.0], [2.0]])).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    period: float = positive()
    length_scale: float = positive(bounds=(3e-2, 3e1))

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        return _rbf(*self._wind(X, Z))

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        A, B = self._wind(X, Z)
        K = _rbf(A, B)
        return Tangent(
            K,
            lambda G: self._collect_gradients(
                period=lambda: self._period_gradient(X, Z, A, B, K, G),
                length_scale=lambda: float(np.sum(squares_and_movement(A, B, K, G)[0])),
            ),
            lambda G: self._unwind_gradient(A, -0.5 * movement_gradient(A, B, K, G)),
        )

    def _wind(self, X: DeviceArray, Z: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Points on circles, (N, 2 D), in units of the length scale; equal if the rows are."""
        A = self._map_to_circles(X)
        return A, A if Z is X else self._map_to_circles(Z)

    def _map_to_circles(self, X: DeviceArray) -> DeviceArray:
        xp = namespace(X)
        # Whole periods are taken off first, so that rows far from zero keep their phase.
        u = (2.0 * math.pi / self.period) * xp.remainder(X, xp.full_like(X, self.period))
        return xp.concat([xp.cos(u), xp.sin(u)], axis=1) / self.length_scale

    def _unwind_gradient(self, A: DeviceArray, dA: DeviceArray) -> DeviceArray:
        """dL/dX, given dL/dA for A on the circles: (cos, sin)' = (-sin, cos) times the speed."""
        D = A.shape[1] // 2
        cos, sin = A[:, :D], A[:, D:]
        return (2.0 * math.pi / self.period) * (dA[:, D:] * cos - dA[:, :D] * sin)

    def _period_gradient(
        self,
        X: DeviceArray,
        Z: DeviceArray,
        A: DeviceArray,
        B: DeviceArray,
        K: DeviceArray,
        G: DeviceArray,
    ) -> float:
        """dL/d log period: a longer period is a pull of all rows towards any one place."""
        xp = namespace(X)
        place = xp.mean(Z, axis=0)  # any will do; this one loses the fewest digits
        dX = self._unwind_gradient(A, movement_gradient(A, B, K, G))
        dZ = self._unwind_gradient(B, movement_gradient(B, A, K.T, G.T))
        return 0.5 * float(xp.sum((X - place) * dX) + xp.sum((Z - place) * dZ))

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        ranges = scales.column_ranges(X)
        seen = ranges[ranges > 0.0]
        r = float(np.exp(np.mean(np.log(seen)))) if seen.size else 1.0
        spacing, root = r / rows.count_rows(X), math.sqrt(len(ranges))
        return {
            "period": Range(r / _PERIODS_SEEN, min(2.0 * spacing, r / _PERIODS_SEEN), 10.0 * r),
            "length_scale": Range(root, 3e-2 * root, 3e1 * root),
        }

    def page_form(self, D: int) -> Form:
        return {"kind": "periodic", "period": self.period, "length": self.length_scale}


def _rbf(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    R = distances.squared_distances(A, B)
    R *= -0.5
    return arrays.exp_in_place(R)
