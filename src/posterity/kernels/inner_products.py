"""Kernels of the inner product x.z: straight lines, polynomials, angles."""

from __future__ import annotations

import functools
import numbers
import operator
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace, to_numpy
from posterity.kernels import parameters, scales
from posterity.kernels.kernel import CorrelationKernel, Kernel
from posterity.kernels.parameters import Range, Value, by_column, positive
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """k(x, z) = sum_d variance_d x_d z_d: straight lines through the origin.  [P8 8.4]

    Parameters
    ----------
    variance : float, or one per column, optional
        Of the slopes: one number for all columns, or one for each.
    ard : bool, default=False
        Whether an unset ``variance`` is started, and then tuned, for each column by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Linear
    >>> Linear(2.0)(np.array([[1.0], [3.0]]))
    array([[ 2.,  6.],
           [ 6., 18.]])
    """

    variance: Value = positive(per_column=True)
    ard: bool = by_column("variance")

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        if isinstance(self.variance, tuple):
            A = X * namespace(X).sqrt(self._variances(X))
            return A @ (A if Z is X else Z * namespace(Z).sqrt(self._variances(Z))).T
        K = X @ Z.T
        K *= self.variance
        return K

    def _diag(self, X: DeviceArray) -> DeviceArray:
        return namespace(X).sum(X * X * self._variances(X), axis=1)

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        xp = namespace(X)
        return Tangent(
            self._block(X, Z),
            lambda G: self._gradient(X, xp.sum(X * (G @ Z), axis=0)),
            lambda G: (G @ Z) * self._variances(X),
        )

    def _diag_gradient(self, X: DeviceArray, g: DeviceArray) -> Array:
        return self._gradient(X, g @ (X * X))

    def _diag_inputs(self, X: DeviceArray, g: DeviceArray) -> DeviceArray:
        return 2.0 * g[:, None] * X * self._variances(X)

    def _gradient(self, X: DeviceArray, S: DeviceArray) -> Array:
        """dL/d log variance, given S_d = dL/d variance_d."""
        each = to_numpy(S * self._variances(X))
        together = not isinstance(self.variance, tuple)
        return self._collect_gradients(variance=lambda: float(np.sum(each)) if together else each)

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        self._variances(X)
        squares = scales.mean_squares(X)
        if not (self.ard or isinstance(self.variance, tuple)):
            return {"variance": parameters.range_about(variance / float(np.sum(squares)))}
        v = variance / (len(squares) * squares)
        return {"variance": Range(tuple(v), tuple(1e-6 * v), tuple(1e6 * v))}

    def _variances(self, X: DeviceArray) -> DeviceArray | float:
        return scales.broadcast_to_columns(self.variance, X, self)

    def page_form(self, D: int) -> Form:
        variances = scales.list_by_column(self.variance, D)
        return {"kind": "linear", "centre": [0.0] * D, "variances": variances}


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """k(x, z) = ``(x.z + offset)^degree``: all products of up to ``degree`` columns.  [P8 8.4]

    Products of exactly ``degree`` columns are ``Linear(1.0) * Linear(1.0)`` and so on.

    Parameters
    ----------
    degree : int, default=2
    offset : float, optional
        Large: products of few columns weigh more; small: those of many.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Polynomial
    >>> Polynomial(3, offset=1.0)(np.array([[1.0], [2.0]]))
    array([[  8.,  27.],
           [ 27., 125.]])
    """

    degree: int = 2
    offset: float = positive()

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.degree, numbers.Integral) and not isinstance(self.degree, bool)
        if not whole or self.degree < 1:
            raise ValueError(
                f"Polynomial.degree={self.degree!r} must be a whole number of at least 1."
            )
        object.__setattr__(self, "degree", int(self.degree))

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        return _power(self._sums(X, Z), self.degree)

    def _diag(self, X: DeviceArray) -> DeviceArray:
        return _power(self._self_sums(X), self.degree)

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        S = self._sums(X, Z)
        slope = self._slope(S)
        return Tangent(
            slope * S / self.degree,
            lambda G: self._gradient(G * slope),
            lambda G: (G * slope) @ Z,
        )

    def _diag_gradient(self, X: DeviceArray, g: DeviceArray) -> Array:
        return self._gradient(g * self._slope(self._self_sums(X)))

    def _diag_inputs(self, X: DeviceArray, g: DeviceArray) -> DeviceArray:
        return 2.0 * (g * self._slope(self._self_sums(X)))[:, None] * X

    def _gradient(self, W: DeviceArray) -> Array:
        return self._collect_gradients(offset=lambda: self.offset * float(namespace(W).sum(W)))

    def _sums(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        S = X @ Z.T
        S += self.offset
        return S

    def _self_sums(self, X: DeviceArray) -> DeviceArray:
        return namespace(X).sum(X * X, axis=1) + self.offset

    def _slope(self, S: DeviceArray) -> DeviceArray:
        return self.degree * _power(S, self.degree - 1)

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        return {"offset": parameters.range_about(float(np.sum(scales.mean_squares(X))))}

    def page_form(self, D: int) -> Form:
        return {"kind": "polynomial", "degree": self.degree, "offset": self.offset}


def _power(S: DeviceArray, n: int) -> DeviceArray:
    """S^n by products, which for small n are several times faster than powers of real numbers."""
    if n == 0:
        return namespace(S).ones_like(S)
    return functools.reduce(operator.mul, [S] * n)


class Cosine(CorrelationKernel):
    """k(x, z) = x.z / (|x| |z|): the cosine of the angle between two rows.  [P8 8.4]

    A row of zeros has no direction. It is like every other such row (1) and unlike all the rest
    (0), as if having none were a direction of its own: the matrix stays positive semi-definite and
    its diagonal is one. There the kernel jumps, and its derivative counts as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Cosine
    >>> Cosine()(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        u, _, none = _directions(X)
        v, _, none_too = (u, _, none) if Z is X else _directions(Z)
        K = u @ v.T
        K += none[:, None] * none_too[None, :]
        return K

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        def inputs(G: DeviceArray) -> DeviceArray:
            u, lengths, none = _directions(X)
            pull = G @ _directions(Z)[0]
            across = pull - u * namespace(X).sum(pull * u, axis=1)[:, None]
            return across * (1.0 - none)[:, None] / lengths[:, None]

        return Tangent(self._block(X, Z), lambda G: self._collect_gradients(), inputs)


def _directions(X: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Rows of length one, their former lengths, and 1.0 for rows of zeros, whose length is 1."""
    xp = namespace(X)
    largest = xp.max(xp.abs(X), axis=1)
    none = xp.astype(largest == 0.0, X.dtype)
    scaled = X / (largest + none)[:, None]  # squares neither overflow nor vanish
    norms = xp.sqrt(xp.sum(scaled * scaled, axis=1)) + none
    return scaled / norms[:, None], norms * (largest + none), none
