"""A kernel of some of the columns."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.kernels import parameters, rows
from posterity.kernels.kernel import Kernel
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form

Place: TypeAlias = int | str
"""A column, by number or by name."""


@dataclass(frozen=True, repr=False)
class Columns(Kernel):
    """k(x, z) of chosen columns of x and z only.

    Parameters
    ----------
    kernel : Kernel
        Of the chosen columns, in the order given.
    columns : int, str, or a sequence of them
        By number, where -1 is the last, or by name. Names are those of a data frame, on which
        the kernel may be called, or that an estimator was given in ``fit``.
    complement : bool, default=False
        Whether the kernel is of all columns but these, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import RBF, Columns, Linear
    >>> kernel = Columns(RBF(1.0), 0) + Columns(Linear(1.0), [1, 2])
    >>> kernel
    Columns(RBF(1.0), columns=0) + Columns(Linear(1.0), columns=[1, 2])
    >>> kernel(np.array([[0.0, 1.0, 2.0], [9.0, 3.0, 1.0]]))
    array([[ 6.,  5.],
           [ 5., 11.]])
    """

    kernel: Kernel
    columns: Place | tuple[Place, ...]
    complement: bool = field(default=False, kw_only=True)
    # Where an estimator found the names; no part of what was asked for, so no part of equality.
    positions: tuple[int, ...] | None = field(
        default=None, kw_only=True, compare=False, metadata=parameters.ASIDE
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"Columns.kernel={self.kernel!r} must be a kernel.")
        if not self.kernel.takes_vectors:
            raise ValueError(f"{self.kernel} compares objects, which have no columns to choose.")
        object.__setattr__(self, "columns", _check_columns(self.columns))

    def _block(self, X: Any, Z: Any) -> DeviceArray:
        return self(X, Z)

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        """The matrix of k(x_n, z_m), (N, M); of the rows of X among themselves without Z."""
        return self.kernel(*self._select_both(X, Z))

    def _diag(self, X: Any) -> DeviceArray:
        return self.kernel.diag(self._select_columns(X))

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        inner = self.kernel.tangent(*self._select_both(X, Z))
        return Tangent(inner.value, inner.parameters, self._scatter_gradient(X, inner.inputs))

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        return self.kernel.diag_pullback(self._select_columns(X), g)

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        chosen = self._select_columns(X)
        return self._scatter_gradient(X, lambda h: self.kernel.diag_pullback_inputs(chosen, h))(g)

    def search_start(self, X: Any, *, variance: float = 1.0) -> tuple[Self, Array]:
        """The kernel at its start, and the log bounds (P, 2) between which to tune ``theta``."""
        kernel, bounds = self.kernel.search_start(self._select_columns(X), variance=variance)
        return replace(self, kernel=kernel), bounds

    def bind_columns(self, names: Sequence[str] | None) -> Self:
        """The kernel with column names turned into positions among ``names``."""
        if names is None:
            return self if self._is_numbered else self._refuse_nameless()
        places = self._find_positions(list(names), len(names))
        kernel = self.kernel.bind_columns([names[p] for p in places])
        return replace(self, kernel=kernel, positions=places)

    def page_form(self, D: int) -> Form:
        wanted = self.columns if isinstance(self.columns, tuple) else (self.columns,)
        given = wanted if self.positions is None else self.positions
        places = [int(place) % D for place in given]
        if self.complement and self.positions is None:
            places = [place for place in range(D) if place not in places]
        return {"kind": "columns", "places": places, "of": self.kernel.page_form(len(places))}

    @property
    def _column_list(self) -> tuple[Place, ...]:
        return self.columns if isinstance(self.columns, tuple) else (self.columns,)

    @property
    def _is_numbered(self) -> bool:
        return not any(isinstance(place, str) for place in self._column_list)

    def _select_both(self, X: Any, Z: Any) -> tuple[DeviceArray, DeviceArray | None]:
        chosen = self._select_columns(X)
        if Z is None:
            return chosen, None
        return chosen, chosen if Z is X else self._select_columns(Z)

    def _select_columns(self, X: Any) -> DeviceArray:
        """The chosen columns of an array or of a data frame."""
        places, names = self._positions_in(X), _column_names(X)
        if names:
            return np.column_stack([np.asarray(X[names[p]], dtype=np.float64) for p in places])
        xp = namespace(X)
        return xp.stack([X[:, p] for p in places], axis=1)

    def _positions_in(self, X: Any) -> tuple[int, ...]:
        names = _column_names(X)
        if not names and self.positions is None and not self._is_numbered:
            self._refuse_nameless()
        if not names and self.positions is not None and not self._is_numbered:
            return self.positions
        return self._find_positions(names, X.shape[1])

    def _find_positions(self, names: list[Any], n_columns: int) -> tuple[int, ...]:
        """Positions of the columns, counted from the first."""
        places = tuple(
            self._find_position(column, names, n_columns) for column in self._column_list
        )
        if len(set(places)) < len(places):
            raise ValueError(f"{self} chooses a column twice; choose each once.")
        if not self.complement:
            return places
        others = tuple(p for p in range(n_columns) if p not in places)
        if not others:
            raise ValueError(f"{self} leaves no column; rows have {n_columns}.")
        return others

    def _find_position(self, column: Place, names: list[Any], n_columns: int) -> int:
        if isinstance(column, str):
            if names.count(column) == 1:
                return names.index(column)
            problem = "more than one column" if column in names else "no column"
            raise ValueError(f"{self}: found {problem} named {column!r}; the columns are {names}.")
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{self}: column {column} does not exist; rows have {n_columns}.")
        return column % n_columns

    def _scatter_gradient(
        self, X: Any, inputs: Callable[[DeviceArray], DeviceArray]
    ) -> Callable[[DeviceArray], DeviceArray]:
        """The gradient in the chosen columns as one in all columns, zero in the others."""

        def all_inputs(G: DeviceArray) -> DeviceArray:
            inner, places = inputs(G), self._positions_in(X)
            nothing = rows.full_like_rows(inner, (inner.shape[0],), 0.0)
            each = {p: inner[:, i] for i, p in enumerate(places)}
            return namespace(inner).stack([each.get(p, nothing) for p in range(X.shape[1])], axis=1)

        return all_inputs

    def _refuse_nameless(self) -> Any:
        raise ValueError(
            f"{self} chooses columns by name, but these rows have no column names; pass a data "
            "frame, or choose columns by number."
        )


def _column_names(X: Any) -> list[Any]:
    """The names of a data frame's columns; none of an array's."""
    return list(getattr(X, "columns", ()))


def _check_columns(columns: Any) -> Place | tuple[Place, ...]:
    """One number or name, or a tuple of them."""
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        return _check_column(columns, columns)
    if not len(columns):
        _refuse_columns(columns)
    return tuple(_check_column(column, columns) for column in columns)


def _check_column(column: Any, given: Any) -> Place:
    if isinstance(column, str):
        return column
    if isinstance(column, numbers.Integral) and not isinstance(column, bool):
        return int(column)
    _refuse_columns(given)


def _refuse_columns(columns: Any) -> NoReturn:
    raise ValueError(
        f"Columns.columns={columns!r} must be a column's number or name, or several of them."
    )
