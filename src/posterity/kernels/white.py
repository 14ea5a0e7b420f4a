"""A term that every row has for itself alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posterity.arrays import Array, DeviceArray, namespace
from posterity.kernels import parameters, rows
from posterity.kernels.kernel import Kernel
from posterity.kernels.parameters import Range, positive
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form


@dataclass(frozen=True, repr=False)
class White(Kernel):
    """k(x, z) = variance where x and z are one and the same row, and zero elsewhere.

    A row is the same as another only in ``kernel(X)``, whose two sides are the same rows. In
    ``kernel(X, Z)`` every row of X is another one than every row of Z, whatever they hold: equal
    inputs that were observed twice have two independent terms.

    Parameters
    ----------
    variance : float, optional
        Of the term.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import White
    >>> X = np.array([[1.0], [1.0]])
    >>> White(0.1)(X)
    array([[0.1, 0. ],
           [0. , 0.1]])
    >>> White(0.1)(X, X)
    array([[0., 0.],
           [0., 0.]])
    """

    variance: float = positive()

    @property
    def tells_rows_apart(self) -> bool:
        """Always: each row has a term of its own."""
        return True

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return rows.full_like_rows(X, (rows.count_rows(X), rows.count_rows(Z)), 0.0)

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        """The matrix of k(x_n, z_m), (N, M); of the rows of X among themselves without Z."""
        if Z is not None:
            return self._block(X, Z)
        return self._with_neutral_values().variance * rows.identity_like_rows(X)

    def _diag(self, X: Any) -> DeviceArray:
        return rows.full_like_rows(X, (rows.count_rows(X),), self.variance)

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        settled = self._with_neutral_values()
        return Tangent(
            settled(X, Z),
            lambda G: settled._gradient(_diagonal(G)) if Z is None else 0.0 * settled.theta,
            lambda G: 0.0 * X,
        )

    def page_form(self, D: int) -> Form:
        return {"kind": "white", "variance": self.variance}

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        return self._gradient(g)

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        return 0.0 * X

    def _gradient(self, g: DeviceArray) -> Array:
        return self._collect_gradients(variance=lambda: self.variance * float(namespace(g).sum(g)))

    def _search_ranges(self, X: Any, variance: float) -> Mapping[str, Range]:
        return {"variance": parameters.range_about(variance)}


def _diagonal(G: DeviceArray) -> DeviceArray:
    return namespace(G).linalg.diagonal(G)
