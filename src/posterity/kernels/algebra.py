"""Sums, products and multiples of kernels."""

from __future__ import annotations

import abc
import numbers
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.kernels import parameters, rows
from posterity.kernels.kernel import Kernel
from posterity.kernels.parameters import Range, positive
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """k(x, z) = variance: an unknown constant.

    Parameters
    ----------
    variance : float, optional
        Of the intercept.

    Examples
    --------
    >>> from posterity.kernels import RBF, Constant
    >>> RBF(0.5) + 3.0
    RBF(0.5) + 3.0
    >>> RBF(0.5) + 3.0 == RBF(0.5) + Constant(3.0)
    True
    """

    variance: float = positive()

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return rows.full_like_rows(X, (rows.count_rows(X), rows.count_rows(Z)), self.variance)

    def _diag(self, X: Any) -> DeviceArray:
        return rows.full_like_rows(X, (rows.count_rows(X),), self.variance)

    def _tangent(self, X: Any, Z: Any) -> Tangent:
        return Tangent(self._block(X, Z), self._gradient, lambda G: 0.0 * X)

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        return self._gradient(g)

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        return 0.0 * X

    def _gradient(self, G: DeviceArray) -> Array:
        return self._collect_gradients(variance=lambda: self.variance * float(namespace(G).sum(G)))

    def _search_ranges(self, X: Any, variance: float) -> Mapping[str, Range]:
        return {"variance": parameters.range_about(variance)}

    def page_form(self, D: int) -> Form:
        return {"kind": "constant", "variance": self.variance}


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """k(x, z) times a variance; ``2.0 * kernel`` is one.

    Parameters
    ----------
    kernel : Kernel
    variance : float, optional
        The factor.

    Examples
    --------
    >>> from posterity.kernels import RBF, Scaled
    >>> Scaled(RBF(0.5), 2.0)
    2.0 * RBF(0.5)
    """

    kernel: Kernel
    variance: float = positive()

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return self.variance * self.kernel(X, Z)

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        K = self.kernel(X, Z)
        K *= self._with_neutral_values().variance
        return K

    def _diag(self, X: Any) -> DeviceArray:
        return self.variance * self.kernel.diag(X)

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        inner, s = self.kernel.tangent(X, Z), self._with_neutral_values().variance

        def both(G: DeviceArray) -> tuple[Array, DeviceArray]:
            theta, moved = inner.both(G)
            return s * self._with_inner(lambda: _inner_product(G, inner.value), theta), s * moved

        def write(K: DeviceArray) -> None:
            inner.write(K)
            K *= s

        return Tangent(
            lambda: s * inner.value,
            lambda G: (
                s * self._with_inner(lambda: _inner_product(G, inner.value), inner.parameters(G))
            ),
            lambda G: s * inner.inputs(G),
            both,
            write,
        )

    def page_form(self, D: int) -> Form:
        return {"kind": "scaled", "variance": self.variance, "of": self.kernel.page_form(D)}

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        inner, d = self.kernel.diag_pullback(X, self.variance * g), self._diag(X)
        return self._with_inner(lambda: _inner_product(g, d), inner)

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        return self.kernel.diag_pullback_inputs(X, self.variance * g)

    def _with_inner(self, own: Callable[[], float], inner: Array) -> Array:
        return np.concatenate([self._collect_gradients(variance=own), inner])

    def _search_ranges(self, X: Any, variance: float) -> Mapping[str, Range]:
        return {"variance": parameters.range_about(variance)}

    def _write(self, *, short: bool) -> str:
        if self.variance is None or _is_marked(self):
            return super()._write(short=short)
        factor = parameters.write_value(self.variance, short)
        return f"{factor} * {_write_bracketed(self.kernel, (Sum, Product, Scaled), short)}"


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels combined, entry by entry."""

    left: Kernel
    right: Kernel

    _kind: ClassVar[str]
    _combine: ClassVar[Any]  # a function of two
    _combine_in_place: ClassVar[Any]  # a function of two

    @abc.abstractmethod
    def _share(
        self, G: DeviceArray, a: Callable[[], DeviceArray], b: Callable[[], DeviceArray]
    ) -> tuple[DeviceArray, DeviceArray]:
        """dL/dA and dL/dB, given G = dL/dK and how to get the parts A and B."""

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return self(X, Z)

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        return self._combine_in_place(self.left(X, Z), self.right(X, Z))

    def diag(self, X: Any) -> DeviceArray:
        """The vector of k(x_n, x_n), (N,)."""
        return self._combine(self.left.diag(X), self.right.diag(X))

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        a, b = self.left.tangent(X, Z), self.right.tangent(X, Z)

        def share(G: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
            return self._share(G, lambda: a.value, lambda: b.value)

        def parameters(G: DeviceArray) -> Array:
            A, B = share(G)
            return np.concatenate([a.parameters(A), b.parameters(B)])

        def inputs(G: DeviceArray) -> DeviceArray:
            A, B = share(G)
            return a.inputs(A) + b.inputs(B)

        def both(G: DeviceArray) -> tuple[Array, DeviceArray]:
            (theta, moved), (other, along) = (
                t.both(H) for t, H in zip((a, b), share(G), strict=True)
            )
            return np.concatenate([theta, other]), moved + along

        return Tangent(lambda: self._combine(a.value, b.value), parameters, inputs, both)

    def diag_pullback(self, X: Any, g: DeviceArray) -> Array:
        """dL/dtheta, (P,), given g = dL/d diag(K)."""
        a, b = self._share_diagonal(X, g)
        return np.concatenate([self.left.diag_pullback(X, a), self.right.diag_pullback(X, b)])

    def page_form(self, D: int) -> Form:
        return {"kind": self._kind, "of": [self.left.page_form(D), self.right.page_form(D)]}

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        a, b = self._share_diagonal(X, g)
        return self.left.diag_pullback_inputs(X, a) + self.right.diag_pullback_inputs(X, b)

    def _share_diagonal(self, X: Any, g: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        return self._share(g, lambda: self.left.diag(X), lambda: self.right.diag(X))


class Sum(_Pair):
    """The kernel of f + g for independent f and g.

    Examples
    --------
    >>> from posterity.kernels import RBF, White
    >>> (RBF(0.5) + White(0.1)).left
    RBF(0.5)
    """

    _kind = "sum"
    _combine, _combine_in_place = staticmethod(operator.add), staticmethod(operator.iadd)

    def _share(
        self, G: DeviceArray, a: Callable[[], DeviceArray], b: Callable[[], DeviceArray]
    ) -> tuple[DeviceArray, DeviceArray]:
        return G, G

    def _write(self, *, short: bool) -> str:
        if isinstance(self.right, Constant):  # two bare numbers would add up to one
            return f"{_write_bracketed(self.left, (), short)} + {_write_term(self.right, short)}"
        return f"{_write_term(self.left, short)} + {_write_bracketed(self.right, (Sum,), short)}"


class Product(_Pair):
    """The kernel whose features are all products of a feature of one and one of the other.

    Examples
    --------
    >>> from posterity.kernels import RBF, Periodic
    >>> (RBF(10.0) * Periodic(1.0)).right
    Periodic(1.0)
    """

    _kind = "product"
    _combine, _combine_in_place = staticmethod(operator.mul), staticmethod(operator.imul)

    def _share(
        self, G: DeviceArray, a: Callable[[], DeviceArray], b: Callable[[], DeviceArray]
    ) -> tuple[DeviceArray, DeviceArray]:
        return G * b(), G * a()

    def _write(self, *, short: bool) -> str:
        left, right = _write_bracketed(self.left, (Sum,), short), self.right
        return f"{left} * {_write_bracketed(right, (Sum, Product, Scaled), short)}"


def add(left: Kernel | float, right: Kernel | float) -> Kernel:
    """The sum of two kernels, or of a kernel and an intercept of this variance."""
    if not (_is_operand(left) and _is_operand(right)):
        return NotImplemented
    return Sum(_as_kernel(left), _as_kernel(right))


def multiply(kernel: Kernel, other: Kernel | float) -> Kernel:
    """The product of two kernels, or of a kernel and a variance."""
    if not _is_operand(other):
        return NotImplemented
    return Product(kernel, other) if isinstance(other, Kernel) else Scaled(kernel, other)


def _is_operand(other: Any) -> TypeGuard[Kernel | float]:
    return isinstance(other, Kernel | numbers.Real) and not isinstance(other, bool)


def _as_kernel(other: Kernel | float) -> Kernel:
    return other if isinstance(other, Kernel) else Constant(float(other))


def _inner_product(G: DeviceArray, K: DeviceArray) -> float:
    return float(namespace(G, K).tensordot(G, K, axes=G.ndim))


def _write_bracketed(kernel: Kernel, within: tuple[type, ...], short: bool) -> str:
    text = kernel._write(short=short)
    return f"({text})" if isinstance(kernel, within) else text


def _write_term(kernel: Kernel, short: bool) -> str:
    """A constant in a sum is written as its number."""
    if isinstance(kernel, Constant) and kernel.variance is not None and not _is_marked(kernel):
        return parameters.write_value(kernel.variance, short)
    return kernel._write(short=short)


def _is_marked(kernel: Kernel) -> bool:
    return bool(kernel.held or kernel.limits)
