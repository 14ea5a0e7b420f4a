"""A block of a kernel matrix together with its adjoint."""

from __future__ import annotations

import functools
from collections.abc import Callable

from posterity.arrays import Array, DeviceArray


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
