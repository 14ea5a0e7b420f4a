"""A block of a kernel matrix together with its adjoint, known or by central differences."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace

_STEP = 1e-5  # leaves errors near 1e-10: half from curvature, half from rounding


class Tangent:
    """A block of K, and its adjoint: what a change of each parameter or input does to L.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Linear
    >>> X = np.array([[1.0], [3.0]])
    >>> tangent = Linear(2.0).tangent(X)
    >>> tangent.value
    array([[ 2.,  6.],
           [ 6., 18.]])
    >>> tangent.parameters(np.ones((2, 2)))
    array([32.])
    >>> tangent.inputs(np.ones((2, 2)))
    array([[8.],
           [8.]])
    """

    def __init__(
        self,
        value: DeviceArray | Callable[[], DeviceArray],  # (N, M), or how to get it if asked
        parameters: Callable[[DeviceArray], Array],  # G (N, M) -> dL/dtheta (P,)
        inputs: Callable[[DeviceArray], DeviceArray],  # G (N, M) -> dL/dX (N, D), X the first
        both: Callable[[DeviceArray], tuple[Array, DeviceArray]] | None = None,  # if it is faster
        write: Callable[[DeviceArray], None] | None = None,  # likewise
    ) -> None:
        self._value, self.parameters, self.inputs = value, parameters, inputs
        self._both, self._write = both, write

    @functools.cached_property
    def value(self) -> DeviceArray:
        """The block, (N, M)."""
        return self._value() if callable(self._value) else self._value

    def write(self, K: DeviceArray) -> None:
        """The block into the memory of K (N, M)."""
        if self._write is None:
            K[...] = self.value
        else:
            self._write(K)

    def both(self, G: DeviceArray) -> tuple[Array, DeviceArray]:
        """dL/dtheta (P,) and dL/dX (N, D) of the same G, sharing their work."""
        return self._both(G) if self._both is not None else (self.parameters(G), self.inputs(G))


def differentiate_in_parameters(
    values: Callable[[Array], DeviceArray], theta: Array, G: DeviceArray
) -> Array:
    """dL/dtheta, (P,), given G = dL/dvalues(theta)."""
    steps = _STEP * np.eye(len(theta))
    return np.array([_slope(values(theta + h), values(theta - h), G) for h in steps])


def differentiate_in_inputs(
    values: Callable[[DeviceArray], DeviceArray], X: DeviceArray, G: DeviceArray
) -> DeviceArray:
    """dL/dX, (N, D), given G = dL/dvalues(X), (N, M), of which row n depends on row n of X."""
    xp = namespace(X)
    scale = xp.maximum(xp.max(xp.abs(X), axis=0), xp.asarray(1e-3))
    columns = []
    for d in range(X.shape[1]):
        h = _STEP * float(scale[d])
        above, below = (xp.asarray(X, copy=True) for _ in range(2))
        above[:, d] += h
        below[:, d] -= h
        columns.append(xp.sum(G * (values(above) - values(below)), axis=1) / (2.0 * h))
    return xp.stack(columns, axis=1)


def _slope(above: DeviceArray, below: DeviceArray, G: DeviceArray) -> float:
    return float(namespace(G).sum(G * (above - below))) / (2.0 * _STEP)
