"""What every kernel answers, and the general answers for those that know no better.

A kernel answers blocks ``k(X, Z)``, the diagonal ``k.diag(X)``, and adjoints: given G = dL/dK it
returns dL/dtheta and dL/dX. No matrix of derivatives is ever formed, so that a gradient costs the
memory of one block.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.kernels import differences, rows
from posterity.kernels.parameters import Range
from posterity.kernels.values import ParameterTree

_DIAGONAL_ROWS = 64


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


@dataclass(frozen=True, repr=False)
class AbstractKernel(ParameterTree, abc.ABC):
    """A positive semi-definite function k(x, z), before it can be added and multiplied."""

    @property
    def takes_vectors(self) -> bool:
        """Whether rows are vectors; False for kernels of strings, trees or graphs."""
        return all(child.takes_vectors for _, child in self._children())

    @property
    def tells_rows_apart(self) -> bool:
        """Whether two rows that hold the same are different to the kernel, as to a white one."""
        return any(child.tells_rows_apart for _, child in self._children())

    @abc.abstractmethod
    def _block(self, X: Any, Z: Any) -> DeviceArray:
        """The matrix of k(x_n, z_m), (N, M); every parameter is set when this is called."""

    def _diag(self, X: Any) -> DeviceArray:
        """The vector of k(x_n, x_n), (N,)."""
        starts = range(0, max(1, rows.count(X)), _DIAGONAL_ROWS)
        few = (rows.between(X, i, i + _DIAGONAL_ROWS) for i in starts)
        blocks = [self._block(x, x) for x in few]
        xp = namespace(*blocks)
        return xp.concat([xp.linalg.diagonal(K) for K in blocks])

    def _tangent(self, X: Any, Z: Any) -> Tangent:
        """The block and its adjoint; by central differences where a subclass knows no better."""
        return Tangent(
            self._block(X, Z),
            lambda G: differences.in_parameters(
                lambda theta: self.at(theta)._block(X, Z), self.theta, G
            ),
            lambda G: differences.in_inputs(lambda moved: self._block(moved, Z), X, G),
        )

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        """dL/dtheta given g = dL/d diag(K)."""
        return differences.in_parameters(lambda theta: self.at(theta)._diag(X), self.theta, g)

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        """dL/dX given g = dL/d diag(K); both arguments move, by symmetry each adds as much."""
        starts = range(0, max(1, rows.count(X)), _DIAGONAL_ROWS)
        few = ([rows.between(a, i, i + _DIAGONAL_ROWS) for a in (X, g)] for i in starts)
        parts = [self.tangent(x, x).inputs(h[:, None] * rows.identity(x)) for x, h in few]
        return 2.0 * namespace(*parts).concat(parts)

    def _ranges(self, X: Any, variance: float) -> Mapping[str, Range]:
        """Where to start and to stay, for rows like X and functions of this variance."""
        del X, variance
        return {}

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        """The matrix of k(x_n, z_m), (N, M); of the rows of X among themselves without Z."""
        return self._settled()._block(X, X if Z is None else Z)

    def diag(self, X: Any) -> DeviceArray:
        """The vector of k(x_n, x_n), (N,)."""
        return self._settled()._diag(X)

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        return self._settled()._tangent(X, X if Z is None else Z)

    def pullback(self, X: Any, Z: Any, G: DeviceArray) -> Array:
        """dL/dtheta, (P,), given G = dL/dK for K = k(X, Z); ``Z=None`` for X with itself."""
        return self.tangent(X, Z).parameters(G)

    def pullback_inputs(self, X: Any, Z: Any, G: DeviceArray) -> DeviceArray:
        """dL/dX, (N, D), given G = dL/dK, as the first argument alone changes."""
        return self.tangent(X, Z).inputs(G)

    def diag_pullback(self, X: Any, g: DeviceArray) -> Array:
        """dL/dtheta, (P,), given g = dL/d diag(K)."""
        return self._settled()._diag_gradient(X, g)

    def diag_pullback_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        """dL/dX, (N, D), given g = dL/d diag(K); zero for a kernel of differences."""
        return self._settled()._diag_inputs(X, g)

    def start(self, X: Any, *, variance: float = 1.0) -> Self:
        """The kernel with its unset parameters at a sensible start for these rows.

        Parameters
        ----------
        X : array (N, D), or a sequence of objects where the kernel takes those
        variance : float, default=1.0
            Of the function that the kernel is to describe.
        """
        return self.tuned(X, variance=variance)[0]

    def tuned(self, X: Any, *, variance: float = 1.0) -> tuple[Self, Array]:
        """The kernel at its start, and the log bounds (P, 2) between which to tune ``theta``."""
        tree, bounds = self._tuned(self._ranges(X, variance))
        changes, parts = {}, [bounds]
        for at, child in tree._children():
            changes[at], inner = child.tuned(X, variance=variance)
            parts.append(inner)
        return replace(tree, **changes) if changes else tree, np.concatenate(parts)

    def bind(self, names: Sequence[str] | None) -> Self:
        """The kernel with column names turned into positions among ``names``."""
        changes = {at: child.bind(names) for at, child in self._children()}
        return replace(self, **changes) if changes else self
