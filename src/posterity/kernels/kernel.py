"""What every kernel answers, and the general answers for those that know no better.

A kernel answers blocks ``k(X, Z)``, the diagonal ``k.diag(X)``, and adjoints: given G = dL/dK it
returns dL/dtheta and dL/dX. No matrix of derivatives is ever formed, so that a gradient costs the
memory of one block. Kernels are values: they add, multiply and scale, and never change in place.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from posterity import page_forms
from posterity.arrays import Array, DeviceArray, namespace

# The algebra is made of kernels, and kernels are added by it: the package imports it first.
from posterity.kernels import algebra, expressions, parameter_tree, rows, tangent
from posterity.kernels.parameters import ASIDE, Range
from posterity.kernels.tangent import Tangent
from posterity.page_forms import Form

_DIAGONAL_ROWS = 64


@dataclass(frozen=True, repr=False)
class Kernel(abc.ABC):
    """A positive semi-definite function k(x, z).

    A subclass is a frozen dataclass that declares its numbers with :func:`positive` and writes
    ``_block``. It may write ``_diag``, ``_tangent`` and ``_search_ranges`` where it knows better
    than the general answers given here.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.kernels import RBF, Linear, Periodic
    >>> kernel = 2.0 * RBF(0.5) + Linear(1.0) * Periodic(1.0)
    >>> kernel
    2.0 * RBF(0.5) + Linear(1.0) * Periodic(1.0)
    >>> kernel(np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 0.271],
           [0.271, 3.   ]])
    """

    __array_ufunc__ = None  # so that NumPy leaves arithmetic with its numbers to the kernel

    held: tuple[str, ...] = field(default=(), kw_only=True, metadata=ASIDE)
    limits: tuple[tuple[str, float, float], ...] = field(default=(), kw_only=True, metadata=ASIDE)

    def __post_init__(self) -> None:
        parameter_tree.check_values(self)

    def check_consistency(self) -> None:
        """Raise ValueError where the constructor would have: compiled sums trust the numbers."""
        self.__post_init__()

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
        starts = range(0, max(1, rows.count_rows(X)), _DIAGONAL_ROWS)
        few = (rows.slice_rows(X, i, i + _DIAGONAL_ROWS) for i in starts)
        blocks = [self._block(x, x) for x in few]
        xp = namespace(*blocks)
        return xp.concat([xp.linalg.diagonal(K) for K in blocks])

    def _tangent(self, X: Any, Z: Any) -> Tangent:
        """The block and its adjoint; by central differences where a subclass knows no better."""
        return Tangent(
            self._block(X, Z),
            lambda G: tangent.differentiate_in_parameters(
                lambda theta: self.with_theta(theta)._block(X, Z), self.theta, G
            ),
            lambda G: tangent.differentiate_in_inputs(lambda moved: self._block(moved, Z), X, G),
        )

    def _diag_gradient(self, X: Any, g: DeviceArray) -> Array:
        """dL/dtheta given g = dL/d diag(K)."""
        return tangent.differentiate_in_parameters(
            lambda theta: self.with_theta(theta)._diag(X), self.theta, g
        )

    def _diag_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        """dL/dX given g = dL/d diag(K); both arguments move, by symmetry each adds as much."""
        starts = range(0, max(1, rows.count_rows(X)), _DIAGONAL_ROWS)
        few = ([rows.slice_rows(a, i, i + _DIAGONAL_ROWS) for a in (X, g)] for i in starts)
        parts = [self.tangent(x, x).inputs(h[:, None] * rows.identity_like_rows(x)) for x, h in few]
        return 2.0 * namespace(*parts).concat(parts)

    def _search_ranges(self, X: Any, variance: float) -> Mapping[str, Range]:
        """Starts and limits of parameters, for rows like X and functions of this variance."""
        del X, variance
        return {}

    def __call__(self, X: Any, Z: Any = None) -> DeviceArray:
        """The matrix of k(x_n, z_m), (N, M); of the rows of X among themselves without Z."""
        return parameter_tree.set_to_neutral(self)._block(X, X if Z is None else Z)

    def diag(self, X: Any) -> DeviceArray:
        """The vector of k(x_n, x_n), (N,)."""
        return parameter_tree.set_to_neutral(self)._diag(X)

    def tangent(self, X: Any, Z: Any = None) -> Tangent:
        """A block and its adjoint, sharing their work."""
        return parameter_tree.set_to_neutral(self)._tangent(X, X if Z is None else Z)

    def pullback(self, X: Any, Z: Any, G: DeviceArray) -> Array:
        """dL/dtheta, (P,), given G = dL/dK for K = k(X, Z); ``Z=None`` for X with itself."""
        return self.tangent(X, Z).parameters(G)

    def pullback_inputs(self, X: Any, Z: Any, G: DeviceArray) -> DeviceArray:
        """dL/dX, (N, D), given G = dL/dK, as the first argument alone changes."""
        return self.tangent(X, Z).inputs(G)

    def diag_pullback(self, X: Any, g: DeviceArray) -> Array:
        """dL/dtheta, (P,), given g = dL/d diag(K)."""
        return parameter_tree.set_to_neutral(self)._diag_gradient(X, g)

    def diag_pullback_inputs(self, X: Any, g: DeviceArray) -> DeviceArray:
        """dL/dX, (N, D), given g = dL/d diag(K); zero for a kernel of differences."""
        return parameter_tree.set_to_neutral(self)._diag_inputs(X, g)

    def start(self, X: Any, *, variance: float = 1.0) -> Self:
        """The kernel with its unset parameters at a sensible start for these rows.

        Parameters
        ----------
        X : array (N, D), or a sequence of objects where the kernel takes those
        variance : float, default=1.0
            Of the function that the kernel is to describe.
        """
        return self.search_start(X, variance=variance)[0]

    def search_start(self, X: Any, *, variance: float = 1.0) -> tuple[Self, Array]:
        """The kernel at its start, and the log bounds (P, 2) between which to tune ``theta``."""
        tree, bounds = self._start_own_search(self._search_ranges(X, variance))
        changes: dict[str, Any] = {}
        parts = [bounds]
        for at, child in tree._children():
            changes[at], inner = child.search_start(X, variance=variance)
            parts.append(inner)
        return replace(tree, **changes) if changes else tree, np.concatenate(parts)

    def _start_own_search(self, ranges: Mapping[str, Range]) -> tuple[Self, Array]:
        """The same of the kernel's own parameters."""
        return parameter_tree.start_search(self, ranges)

    def bind_columns(self, names: Sequence[str] | None) -> Self:
        """The kernel with column names turned into positions among ``names``."""
        changes: dict[str, Any] = {at: child.bind_columns(names) for at, child in self._children()}
        return replace(self, **changes) if changes else self

    @property
    def theta(self) -> Array:
        """The parameters that are not held, in log space: own ones, then the children's."""
        return parameter_tree.read_logs(self)

    @property
    def names(self) -> list[str]:
        """Names of the entries of ``theta``, as in ``left__length_scale[2]``."""
        return parameter_tree.label_free(self)

    @property
    def bounded_names(self) -> list[str]:
        """Those of ``names`` whose bounds were given."""
        return parameter_tree.label_free(self, with_limits=True)

    def with_theta(self, theta: Array) -> Self:
        """The same kernel with other parameters, given in log space."""
        return parameter_tree.replace_logs(self, theta)

    def fixed(self, *names: str) -> Self:
        """The same kernel with these parameters held when an estimator tunes it; all by default.

        A name may be that of one parameter, ``left__length_scale``, or of all parameters of that
        name in the expression, ``length_scale``.

        Examples
        --------
        >>> from posterity import kernels
        >>> kernels.RBF(0.5).fixed()
        RBF(0.5).fixed()
        >>> (2.0 * kernels.RBF(0.5)).fixed("length_scale").names
        ['variance']
        """
        return expressions.hold(self, names)

    def bounded(self, **limits: tuple[float, float]) -> Self:
        """The same kernel with parameters tuned only between these limits, (lower, upper) each.

        Examples
        --------
        >>> from posterity import kernels
        >>> kernels.RBF(0.5).bounded(length_scale=(0.1, 10.0))
        RBF(0.5).bounded(length_scale=(0.1, 10.0))
        """
        return expressions.bound(self, limits)

    def with_params(self, **params: Any) -> Self:
        """The same kernel with other values, by nested name: ``left__length_scale=2.0``.

        Examples
        --------
        >>> from posterity import kernels
        >>> (kernels.RBF(0.5) + kernels.White(0.1)).with_params(left__length_scale=2.0)
        RBF(2.0) + White(0.1)
        """
        return parameter_tree.replace_params(self, params)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, with nested names where ``deep``."""
        return parameter_tree.read_params(self, deep=deep)

    def page_form(self, D: int) -> Form:
        """Return the form from which a page computes k(x, z) of rows with D columns."""
        raise page_forms.NoFormError(f"The kernel {self} cannot run in a page.")

    def form_rows(self, rows: Any) -> Form:
        """Return the form of the kernel of rows like these."""
        if not (self.takes_vectors and isinstance(rows, np.ndarray)):
            raise page_forms.NoFormError("A kernel of objects cannot run in a page.")
        return self.page_form(rows.shape[1])

    def form_columns(self, rows: Any) -> Form:
        """Return the form of one column for each of these rows."""
        if not len(rows):
            return {"kind": "none"}
        return page_forms.form_kernel_columns(self.form_rows(rows), np.asarray(rows))

    def _collect_gradients(self, **gradients: Callable[[], Any]) -> Array:
        """The own part of dL/dtheta: what each free parameter's function returns, in order."""
        parts = [np.empty(0)]
        for name in parameter_tree.free_names(self):
            parts.append(np.atleast_1d(gradients[name]()))
        return np.concatenate(parts)

    def _with_neutral_values(self) -> Self:
        """Set unset parameters of its own to their neutral values."""
        return parameter_tree.set_to_neutral(self)

    def _children(self) -> list[tuple[str, Kernel]]:
        return parameter_tree.children(self)

    def __sklearn_clone__(self) -> Self:
        return self  # a value need not be copied

    def __repr__(self) -> str:
        return expressions.write_expression(self, short=False)

    def __str__(self) -> str:
        return expressions.write_expression(self, short=True)

    def _write(self, *, short: bool) -> str:
        """As one would type it; numbers with three digits where ``short``."""
        return expressions.write_call(self, short=short)

    def __add__(self, other: Kernel | float) -> Kernel:
        return algebra.add(self, other)

    def __radd__(self, other: float) -> Kernel:
        if isinstance(other, int) and other == 0:
            return self  # where sum() begins
        return algebra.add(other, self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return algebra.multiply(self, other)

    def __rmul__(self, other: float) -> Kernel:
        return algebra.multiply(self, other)


@dataclass(frozen=True, repr=False)
class CorrelationKernel(Kernel):
    """A kernel of vectors with k(x, x) = 1, whatever the row and the parameters."""

    def _diag(self, X: DeviceArray) -> DeviceArray:
        return rows.full_like_rows(X, (rows.count_rows(X),), 1.0)

    def _diag_gradient(self, X: DeviceArray, g: DeviceArray) -> Array:
        del X, g
        return np.zeros(len(self.theta))

    def _diag_inputs(self, X: DeviceArray, g: DeviceArray) -> DeviceArray:
        del g
        return 0.0 * X
