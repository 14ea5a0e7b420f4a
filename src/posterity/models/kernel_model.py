"""Models of rows and a kernel: what estimators of all families with one share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from posterity import arrays, kernels, validation
from posterity.arrays import Array, DeviceArray, namespace
from posterity.row_groups import RowGroups


class KernelModel(BaseEstimator):
    """An estimator with a ``kernel``: a value, whose parameters are parameters of the estimator.

    Rows are vectors, on the host or on a device, or objects of any kind where the kernel takes
    those.
    """

    kernel: Any
    device: str | None = None
    _kernel_parameters: ClassVar[tuple[str, ...]] = ("kernel",)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the kernel by nested name: ``kernel__length_scale=2.0``.

        A kernel is a value and is replaced, never changed: another model that was given the same
        kernel keeps its own.
        """
        own, inner = split_nested_params(params, self._kernel_parameters)
        super().set_params(**own)
        for name, changes in inner.items():
            kernel = self._get_kernel() if name == "kernel" else getattr(self, name)
            setattr(self, name, kernel.with_params(**changes))
        return self

    def _default_kernel(self) -> kernels.Kernel:
        """What ``kernel=None`` stands for."""
        return kernels.RBF()

    def _get_kernel(self) -> kernels.Kernel:
        """The kernel as a value; a function of two blocks of rows is made one."""
        if self.kernel is None:
            return self._default_kernel()
        if isinstance(self.kernel, kernels.Kernel):
            return self.kernel
        if callable(self.kernel) and not isinstance(self.kernel, type):
            return kernels.Function(self.kernel)
        raise TypeError(
            f"kernel={self.kernel!r} must be a kernel of posterity.kernels, a function of two "
            "blocks of rows, or None."
        )

    def _bind_kernel(self) -> kernels.Kernel:
        """The kernel with the names of columns, once these are known, turned into positions."""
        return self._get_kernel().bind_columns(getattr(self, "feature_names_in_", None))

    def _check_rows(
        self, X: Any, *, reset: bool = False, min_rows: int = 1, beside: Any = None
    ) -> Any:
        """Rows where they are to be worked on: beside those of a fit, or on the device."""
        if self._takes_objects:
            validation.refuse_collection(X, type(self).__name__, learned=reset)
            return list(X)
        if not is_on_device(X):
            rows = validation.check_X(self, X, reset=reset, min_rows=min_rows)
            return self._place_rows(rows) if beside is None else arrays.like(beside, rows)
        if reset:
            self.n_features_in_ = int(X.shape[-1])
        return _check_device_rows(X, self.n_features_in_)

    @property
    def _input_names(self) -> Sequence[Any]:
        """The names of the columns, or their positions."""
        return getattr(self, "feature_names_in_", range(getattr(self, "n_features_in_", 0)))

    @property
    def _takes_objects(self) -> bool:
        return not self._get_kernel().takes_vectors

    def _place_rows(self, rows: Array) -> DeviceArray:
        return rows if self.device is None else arrays.to_device(rows, self.device)

    def _return_to_device(self, values: DeviceArray, asked_with: Any) -> Any:
        """Results on the host, or on the device where the question was asked from one."""
        on_device = not self._takes_objects and is_on_device(asked_with)
        return values if on_device else arrays.to_numpy(values)


def split_nested_params(
    params: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return parameters of an estimator, and those of the values it has under these names.

    Examples
    --------
    >>> split_nested_params({"kernel__variance": 2.0, "alpha": 1.0}, ["kernel"])
    ({'alpha': 1.0}, {'kernel': {'variance': 2.0}})
    """
    own, inner = {}, {}  # type: dict[str, Any], dict[str, dict[str, Any]]
    for key, value in params.items():
        name, _, rest = key.partition("__")
        if rest and name in names:
            inner.setdefault(name, {})[rest] = value
        else:
            own[key] = value
    return own, inner


def join_rows(first: Any, second: Any) -> Any:
    """The rows of both, one after the other."""
    return first + second if isinstance(first, list) else namespace(first).concat([first, second])


def drop_repeated_rows(rows: Any) -> Any:
    """The rows without repetitions, by which a start from the data counts none twice."""
    return rows[RowGroups.of_equal(rows).first] if isinstance(rows, np.ndarray) else rows


def check_row_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """One weight a row."""
    weights = validation.check_repetitions(sample_weight, n)
    return np.ones(n) if weights is None else weights


def is_on_device(X: Any) -> bool:
    """Whether X is an array of another library than NumPy's, and not in pieces elsewhere."""
    if array_api_compat.is_numpy_array(X) or arrays.is_collection(X):
        return False
    return bool(array_api_compat.is_array_api_obj(X))


def _check_device_rows(X: DeviceArray, columns: int) -> DeviceArray:
    """Doubles, finite, as many columns as expected; nothing leaves the device."""
    xp = namespace(X)
    if X.ndim != 2 or X.shape[1] != columns:
        raise ValueError(f"X has shape {tuple(X.shape)}; expected (n, {columns}).")
    rows = xp.astype(X, xp.float64, copy=False)
    bad = ~xp.all(xp.isfinite(rows), axis=1)
    if bool(xp.any(bad)):
        first = int(xp.argmax(xp.astype(bad, xp.int32)))
        raise ValueError(f"Input X contains NaN or infinity, first in row {first}; drop such rows.")
    return rows


@dataclass(frozen=True)
class KernelFrame:
    """Rows in the units in which a kernel is learned, and that kernel."""

    rows: Any
    kernel: kernels.Kernel
    spread: Array | None  # (D,), the units; None: those of the rows as they were given

    @classmethod
    def for_kernel(cls, given: kernels.Kernel | None, rows: Any, weights: Array) -> KernelFrame:
        """The units of a kernel that was given; else RBF() in columns of unit variance."""
        if given is not None:
            return cls(rows, given, None)
        spread = compute_column_spreads(rows, weights)
        return cls(rows / arrays.like(rows, spread), kernels.RBF(), spread)

    @property
    def given_kernel(self) -> kernels.Kernel | None:
        """The kernel that was given; None: the default."""
        return self.kernel if self.spread is None else None

    def transform_rows(self, rows: Any) -> Any:
        """Other rows in these units."""
        return rows if self.spread is None else rows / arrays.like(rows, self.spread)

    def restore_kernel_units(self, kernel: kernels.Kernel) -> kernels.Kernel:
        """The kernel that makes of the rows as given what this one makes of them here."""
        if self.spread is None:
            return kernel
        assert isinstance(kernel, kernels.RBF)
        lengths = np.asarray(kernel.length_scale) * self.spread
        return kernels.RBF(tuple(map(float, lengths)))


def compute_column_spreads(rows: DeviceArray, weights: Array) -> Array:
    """The weighted standard deviation of each column; one where a column is constant."""
    xp, share = namespace(rows), arrays.like(rows, weights / np.sum(weights))
    about = rows - rows[0, :]  # exactly zero in a column that is constant
    size = xp.max(xp.abs(about), axis=0)
    unit = xp.where(size > 0.0, size, xp.ones_like(size))  # squares neither overflow nor vanish
    scaled = about / unit
    residual = scaled - share @ scaled
    spread = arrays.to_numpy(xp.sqrt(share @ (residual * residual)) * unit)
    return np.where(arrays.to_numpy(size) > 0.0, spread, 1.0)
