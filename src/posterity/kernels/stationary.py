"""Kernels of the scaled distance r = |(x - z) / length_scale| only."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from posterity import arrays
from posterity.arrays import Array, DeviceArray, namespace, to_numpy
from posterity.kernels import distances, scales
from posterity.kernels.kernel import CorrelationKernel
from posterity.kernels.parameters import Range, Value, by_column, positive
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form


@dataclass(frozen=True, repr=False)
class Stationary(CorrelationKernel):
    """k(x, z) = c(r^2) with c(0) = 1; a subclass writes c and its slope.

    Parameters
    ----------
    length_scale : float, or one per column, optional
        How far one moves before the function changes: one number for all columns, or one for each
        (automatic relevance determination).
    ard : bool, default=False
        Whether an unset ``length_scale`` is started, and then tuned, for each column by itself.
    """

    length_scale: Value = positive(per_column=True)
    ard: bool = by_column("length_scale")

    @abc.abstractmethod
    def _correlation(self, R: DeviceArray) -> DeviceArray:
        """c at squared scaled distances R; may be computed in the memory of R."""

    @abc.abstractmethod
    def _correlation_and_slope(self, R: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """c at R, and its derivative with respect to -R / 2; may overwrite R."""

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        return self._correlation(distances.squared_distances(*self._scale_rows(X, Z)))

    def _tangent(self, X: DeviceArray, Z: DeviceArray) -> Tangent:
        A, B = self._scale_rows(X, Z)
        R = distances.squared_distances(A, B)
        K, slope = self._correlation_and_slope(R)

        def parameters(G: DeviceArray, squares: Array | None = None) -> Array:
            return self._collect_gradients(
                length_scale=lambda: self._sum_for_lengths(
                    sum_squares(A, B, slope, G) if squares is None else squares
                ),
                **self._other_gradients(R, K, G),
            )

        def both(G: DeviceArray) -> tuple[Array, DeviceArray]:
            S, moved = squares_and_movement(A, B, slope, G)
            return parameters(G, S), -0.5 * moved / self._lengths(X)

        def inputs(G: DeviceArray) -> DeviceArray:
            return -0.5 * movement_gradient(A, B, slope, G) / self._lengths(X)

        return Tangent(K, parameters, inputs, both)

    def _other_gradients(
        self, R: DeviceArray, K: DeviceArray, G: DeviceArray
    ) -> Mapping[str, Callable[[], float]]:
        """dL/d log of parameters beside the length scale, each as a function."""
        del R, K, G
        return {}

    def _search_ranges(self, X: DeviceArray, variance: float) -> Mapping[str, Range]:
        self._lengths(X)
        each = self.ard or isinstance(self.length_scale, tuple)
        return {"length_scale": scales.length_scale_range(X, each=each)}

    def _scale_rows(self, X: DeviceArray, Z: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """The rows in units of the length scales; the same array twice for the same rows."""
        l = self._lengths(X)
        A = X / l
        return A, A if Z is X else Z / l

    def _lengths(self, X: DeviceArray) -> DeviceArray | float:
        return scales.broadcast_to_columns(self.length_scale, X, self)

    def _sum_for_lengths(self, S: Array) -> Array | float:
        """dL/d log length_scale from sums S of W (a_d - b_d)^2 a column, W = dL/d(-r^2 / 2)."""
        return S if isinstance(self.length_scale, tuple) else float(np.sum(S))


def movement_gradient(
    A: DeviceArray, B: DeviceArray, S: DeviceArray, G: DeviceArray
) -> DeviceArray:
    """2 sum_m W_nm (a_nd - b_md), (N, D): how moving a row of A changes sum W r^2."""
    xp, d = namespace(A, B, S, G), B.shape[1]
    centre = xp.mean(B, axis=0)
    b = B - centre
    V = distances.weighted_product(
        S, G, xp.concat([b, xp.ones_like(b[:, :1])], axis=1), hollow=A is B
    )
    return 2.0 * (V[:, d:] * (A - centre) - V[:, :d])


def squares_and_movement(
    A: DeviceArray, B: DeviceArray, S: DeviceArray, G: DeviceArray
) -> tuple[Array, DeviceArray]:
    """sum_nm W_nm (a_nd - b_md)^2 of each column d, W = S G, and `movement`, in one pass."""
    xp, d = namespace(A, B, S, G), B.shape[1]
    centre = xp.mean(B, axis=0)
    a, b = A - centre, B - centre
    powers = xp.concat([b, b * b, xp.ones_like(b[:, :1])], axis=1)
    V = distances.weighted_product(S, G, powers, hollow=A is B)
    first, second, total = V[:, :d], V[:, d : 2 * d], V[:, 2 * d :]
    squares = xp.sum(total * (a * a) + second - 2.0 * (a * first), axis=0)
    return to_numpy(squares), 2.0 * (total * a - first)


def sum_squares(A: DeviceArray, B: DeviceArray, S: DeviceArray, G: DeviceArray) -> Array:
    """sum_nm W_nm (a_nd - b_md)^2 of each column d, W = S G."""
    xp = namespace(A, B, S, G)
    centre = xp.mean(B, axis=0)
    a, b = A - centre, B - centre
    across, rows, columns = distances.weighted_sums(S, G, b, hollow=A is B)
    squares = rows @ (a * a) + columns @ (b * b) - 2.0 * xp.sum(a * across, axis=0)
    return to_numpy(squares)


class RBF(Stationary):
    """c(r^2) = exp(-r^2 / 2): infinitely smooth functions.  [P8 8.27]

    Parameters
    ----------
    length_scale : float, or one per column, optional
        How far one moves before the function changes: one number for all columns, or one for each
        (automatic relevance determination).
    ard : bool, default=False
        Whether an unset ``length_scale`` is started, and then tuned, for each column by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import RBF
    >>> RBF(2.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> RBF([1.0, 100.0])
    RBF([1.0, 100.0])
    """

    def _correlation(self, R: DeviceArray) -> DeviceArray:
        R *= -0.5
        return arrays.exp_in_place(R)

    def _correlation_and_slope(self, R: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        K = self._correlation(R)
        return K, K

    def page_form(self, D: int) -> Form:
        return {"kind": "rbf", "lengths": scales.list_by_column(self.length_scale, D)}


@dataclass(frozen=True, repr=False)
class Matern(Stationary):
    """Functions that are (smoothness - 1/2) times differentiable.  [GPML 4.14]

    c = exp(-s), (1 + s) exp(-s) or (1 + s + s^2 / 3) exp(-s) with s = sqrt(2 smoothness) r.

    Parameters
    ----------
    length_scale : float, or one per column, optional
        How far one moves before the function changes: one number for all columns, or one for each
        (automatic relevance determination).
    ard : bool, default=False
        Whether an unset ``length_scale`` is started, and then tuned, for each column by itself.
    smoothness : {0.5, 1.5, 2.5}, default=2.5
        0.5: continuous, no slope anywhere; 1.5: one derivative; 2.5: two.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import Matern
    >>> Matern(2.0, smoothness=0.5)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    smoothness: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smoothness not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern.smoothness={self.smoothness!r} must be 0.5, 1.5 or 2.5.")

    def _correlation(self, R: DeviceArray) -> DeviceArray:
        return self._correlation_and_slope(R)[0]

    def _correlation_and_slope(self, R: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        xp = namespace(R)
        s = xp.sqrt(2.0 * self.smoothness * R)
        E = xp.exp(-s)
        if self.smoothness == 0.5:
            # The slope in r^2 is infinite at r = 0, where r^2 itself has none: it counts as zero.
            return E, E / xp.where(s > 0.0, s, xp.asarray(xp.inf, dtype=s.dtype))
        if self.smoothness == 1.5:
            return (1.0 + s) * E, 3.0 * E
        return (1.0 + s + s * s / 3.0) * E, (5.0 / 3.0) * (1.0 + s) * E

    def page_form(self, D: int) -> Form:
        return {
            "kind": "matern",
            "lengths": scales.list_by_column(self.length_scale, D),
            "smoothness": self.smoothness,
        }


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    """c(r^2) = (1 + r^2 / (2 shape))^-shape: a mixture of RBFs of many lengths.  [GPML 4.19]

    Parameters
    ----------
    length_scale : float, or one per column, optional
        How far one moves before the function changes: one number for all columns, or one for each
        (automatic relevance determination).
    ard : bool, default=False
        Whether an unset ``length_scale`` is started, and then tuned, for each column by itself.
    shape : float, optional
        Small: lengths spread over decades; large: a single one, the RBF.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import RationalQuadratic
    >>> RationalQuadratic(2.0, shape=1.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])
    """

    shape: float = positive(bounds=(1e-2, 3e2))  # beyond, it is an RBF, and a plateau

    def _correlation(self, R: DeviceArray) -> DeviceArray:
        xp = namespace(R)
        return xp.exp(-self.shape * xp.log1p(R / (2.0 * self.shape)))

    def _correlation_and_slope(self, R: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        K = self._correlation(R)
        return K, K / (1.0 + R / (2.0 * self.shape))

    def _other_gradients(
        self, R: DeviceArray, K: DeviceArray, G: DeviceArray
    ) -> Mapping[str, Callable[[], float]]:
        return {"shape": lambda: self._shape_gradient(R, K * G)}

    def _shape_gradient(self, R: DeviceArray, W: DeviceArray) -> float:
        """dL/d log shape = sum W (u / (1 + u) - log(1 + u)) shape, u = r^2 / (2 shape)."""
        xp = namespace(R)
        u = R / (2.0 * self.shape)
        return self.shape * float(xp.sum(W * (u / (1.0 + u) - xp.log1p(u))))

    def page_form(self, D: int) -> Form:
        return {
            "kind": "rational_quadratic",
            "lengths": scales.list_by_column(self.length_scale, D),
            "shape": self.shape,
        }
