"""Query rows for plots over one input, or over two inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import polars
from numpy.typing import ArrayLike, NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.displays.style import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RING = "relevance vectors"  # in legends


@runtime_checkable
class HasTrainingRows(Protocol):
    """A fitted model with relevance vectors."""

    relevance_vectors_: Any


def single_input(X: ArrayLike) -> Array:
    """Return the only column of X as a vector; refuse any other shape."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 1 or not len(values):
        raise ValueError(
            f"X must have shape (N, 1) for a plot over one input, but has {values.shape}. Fit the "
            "model to one column, or plot predict_dist over one column yourself."
        )
    return values[:, 0]


def two_inputs(X: ArrayLike) -> Array:
    """Return X with two columns, (N, 2); refuse any other shape."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        raise ValueError(
            f"X must have shape (N, 2) for a surface over two inputs, but has {values.shape}. Fit "
            "the model to two columns, or plot its predictions over two columns yourself."
        )
    return values


def kept_rows(estimator: Any, n_inputs: int) -> Array:
    """Return the relevance vectors of a model, (m, D); empty if it has none."""
    if not isinstance(estimator, HasTrainingRows):
        return np.empty((0, n_inputs))
    kept = arrays.to_numpy(estimator.relevance_vectors_)
    return np.asarray(kept, dtype=np.float64).reshape(-1, n_inputs)


def draw_rings(axes: Axes, vectors: Array) -> None:
    """Draw rings around relevance vectors, (m, 2)."""
    if len(vectors):
        ring: dict[str, Any] = {"s": 130, "facecolors": "none", "edgecolors": COLORS["black"]}
        axes.scatter(*vectors.T, linewidths=1.7, label=RING, **ring)


def span(x: Array, *, margin: float, n_grid: int) -> Array:
    """Return evenly spaced values over the range of x, extended by a share of it at each end."""
    low, high = float(x.min()), float(x.max())
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, n_grid)


def square_grid(X: Array, *, margin: float, n_grid: int) -> tuple[Array, Array, Array]:
    """Return values of two inputs over their ranges, and all pairs: (n,), (n,), (n * n, 2)."""
    x0, x1 = (span(column, margin=margin, n_grid=n_grid) for column in X.T)
    return x0, x1, np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)


def select_rows(estimator: Any, x: Array) -> Any:
    """Return query rows of one input, with the column name of the fit if it has one."""
    return column_names(estimator, x[:, None])


def column_names(estimator: Any, X: Array) -> Any:
    """Return query rows, with the column names of the fit if it has any."""
    names = getattr(estimator, "feature_names_in_", None)
    return X if names is None else polars.DataFrame(X, schema=[str(name) for name in names])


def label(estimator: Any) -> str:
    """Return the name of the input column, or x."""
    names = getattr(estimator, "feature_names_in_", None)
    return "x" if names is None else str(names[0])


def labels(estimator: Any) -> tuple[str, str]:
    """Return the names of two input columns, or x0 and x1."""
    names = getattr(estimator, "feature_names_in_", ("x0", "x1"))
    return str(names[0]), str(names[1])


def classes(estimator: Any) -> NDArray[Any]:
    """Return the labels of the classes; refuse a single class."""
    known = np.asarray(estimator.classes_)
    if len(known) < 2:
        raise ValueError(
            f"The classifier was fitted to a single class, {known.tolist()}; a plot needs at least "
            "two."
        )
    return known


def class_codes(y: ArrayLike, known: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the sorted classes; refuse unknown labels."""
    given = np.asarray(y).ravel()
    places = np.minimum(np.searchsorted(known, given), len(known) - 1)
    strangers = np.flatnonzero(known[places] != given)
    if strangers.size:
        row = strangers[0]
        raise ValueError(
            f"Row {row} has the class {given.tolist()[row]!r}, which was not in the training data; "
            f"known classes: {known.tolist()}."
        )
    return places
