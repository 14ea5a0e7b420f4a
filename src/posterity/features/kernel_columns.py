"""The dual feature space: one column per training row."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from posterity import kernels, page_forms, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.features.base import Features
from posterity.page_forms import Form

Kernel: TypeAlias = Callable[[Array, Array], Array]
"""k(X, Z): the matrix (N, M) of similarities of the rows of X and the rows of Z."""


@declare_parameters
class KernelColumns(Features):
    """z = k(x, x_n) for every training row x_n.  [P8 8.41]

    A weight per column is then a weight per training row. Sample weights do not change the columns:
    a row of weight two has one column.

    Parameters
    ----------
    kernel : "linear", Kernel or callable, default="linear"
        ``kernel(X, Z)`` gives the (N, M) matrix of similarities between the rows of X and of Z;
        "linear" is ``X @ Z.T``. Unset parameters of a kernel get start values from the rows.

    Attributes
    ----------
    X_train_ : ndarray of shape (N, D)
        The training rows.
    kernel_ : Kernel or callable
        Kernel with all parameters set.

    Examples
    --------
    >>> from posterity import features
    >>> dual = features.KernelColumns().fit([[1.0, 0.0], [2.0, 1.0]])
    >>> dual.transform([[3.0, 1.0]])
    array([[3., 7.]])
    """

    kernel: str | Kernel = field(default="linear", kw_only=False)

    def _learn(self, X: Array, weights: Array | None) -> None:
        function = self._function()
        if function is _linear:
            validation.check_powers(X, power=4)  # its columns are products, and are squared
        set_up = function.start(X) if isinstance(function, kernels.Kernel) else function
        self._kernel = None if function is _linear else set_up
        self.X_train_ = X.copy()

    @property
    def kernel_(self) -> Kernel:
        """Kernel with all parameters set."""
        return _linear if self._kernel is None else self._kernel

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        X = self.X_train_
        if isinstance(self.kernel, str):
            return kernels.Linear(1.0).form_columns(X)
        if not isinstance(self.kernel_, kernels.Kernel):
            raise page_forms.NoFormError("A user-defined kernel function cannot run in a page.")
        return self.kernel_.form_columns(X)

    def _columns(self, X: Array) -> Array:
        K = self.kernel_(X, self.X_train_)
        return _check_matrix(K, (len(X), len(self.X_train_)))

    def _names(self, inputs: list[str]) -> list[str]:
        return [f"kernel(row {n})" for n in range(len(self.X_train_))]

    def _function(self) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return _linear
        if not callable(self.kernel):
            raise ValueError(f"kernel={self.kernel!r} must be 'linear' or a function k(X, Z).")
        return self.kernel


def _linear(X: Array, Z: Array) -> Array:
    return X @ Z.T


def _check_matrix(values: Any, shape: tuple[int, int]) -> Array:
    """Check that a kernel returned a finite float64 matrix of the right shape."""
    K = np.asarray(values)
    if K.shape != shape:
        raise ValueError(f"kernel(X, Z) returned shape {K.shape}; expected {shape}.")
    if K.dtype.kind not in "biuf":
        raise ValueError(f"kernel(X, Z) returned {K.dtype} values; expected real numbers.")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"kernel(X, Z) is {K[i, j]} for row {i} of X and row {j} of Z.")
    return K.astype(np.float64, copy=False)
