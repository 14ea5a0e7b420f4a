"""What regressors that see their rows through a kernel have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from posterity import arrays, kernels, models, validation
from posterity.arrays import Array, DeviceArray
from posterity.models.regressor import Regressor


class KernelRegressor(models.KernelModel, Regressor):
    """A regressor with a kernel, of one output or several."""

    _single_output: bool

    def _check_training(self, X: Any, y: Any, *, reset: bool, min_rows: int) -> tuple[Any, Array]:
        """Rows where they are to be worked on, and targets on the host, (N,) or (N, K)."""
        if not self._takes_objects and not models.is_on_device(X):
            rows, targets = validation.check_X_y(self, X, y, reset=reset, min_rows=min_rows)
            return self._place_rows(rows), targets
        validation.refuse_collection(X, type(self).__name__, learned=reset)
        places = np.arange(kernels.rows.count_rows(X), dtype=np.float64)[:, None]
        host_y = arrays.to_numpy(y) if models.is_on_device(y) else y
        _, targets = validation.check_X_y(BaseEstimator(), places, host_y, min_rows=min_rows)
        return self._check_rows(X, reset=reset), targets

    def _per_output(self, values: Array) -> Any:
        """One value an output, or the value itself where the target was one-dimensional."""
        if not self._single_output:
            return values
        return float(values[0]) if values.ndim == 1 else values[0]

    def _per_row(self, values: DeviceArray) -> Any:
        """(n, K), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self._single_output else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
