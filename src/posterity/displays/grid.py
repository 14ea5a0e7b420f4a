"""Query rows for a picture: one input from end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars
from numpy.typing import ArrayLike

from posterity.arrays import Array


def single_input(X: ArrayLike) -> Array:
    """The one column of X as a vector, or a sentence saying that there are more."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 1 or not len(values):
        raise ValueError(
            f"A picture of a function of one input needs X of shape (N, 1); got {values.shape}. "
            "Fit the model on one column, or draw a column of interest yourself from predict_dist."
        )
    return values[:, 0]


def span(x: Array, *, margin: float, n_grid: int) -> Array:
    """Evenly spaced values from end to end of x, and this share of its range beyond each end."""
    low, high = float(x.min()), float(x.max())
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, n_grid)


def rows(estimator: Any, x: Array) -> Any:
    """Query rows under the column name that the estimator was fitted with, if it had one."""
    names = getattr(estimator, "feature_names_in_", None)
    return x[:, None] if names is None else polars.DataFrame({str(names[0]): x})


def label(estimator: Any) -> str:
    """The name of the input: that of its column, or x."""
    names = getattr(estimator, "feature_names_in_", None)
    return "x" if names is None else str(names[0])
