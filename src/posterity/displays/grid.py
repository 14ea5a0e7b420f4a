"""Query rows for a picture: one input from end to end, or two over a rectangle."""

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

RING = "relevance vectors"  # what the legend calls them


@runtime_checkable
class KeepsRows(Protocol):
    """A fitted model whose functions are centred at a few of its rows."""

    relevance_vectors_: Any


def single_input(X: ArrayLike) -> Array:
    """The one column of X as a vector, or a sentence saying that there are more."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 1 or not len(values):
        raise ValueError(
            f"A picture of a function of one input needs X of shape (N, 1); got {values.shape}. "
            "Fit the model on one column, or draw a column of interest yourself from predict_dist."
        )
    return values[:, 0]


def two_inputs(X: ArrayLike) -> Array:
    """Two columns of X, (N, 2), or a sentence saying that there are others."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        raise ValueError(
            f"A surface over two inputs needs X of shape (N, 2); got {values.shape}. "
            "Fit the model on two columns, or draw two of interest yourself from predict_proba."
        )
    return values


def kept_rows(estimator: Any, n_inputs: int) -> Array:
    """The relevance vectors of a model, (m, D); none of a model that has no such thing."""
    if not isinstance(estimator, KeepsRows):
        return np.empty((0, n_inputs))
    kept = arrays.to_numpy(estimator.relevance_vectors_)
    return np.asarray(kept, dtype=np.float64).reshape(-1, n_inputs)


def draw_rings(axes: Axes, vectors: Array) -> None:
    """Rings about relevance vectors (m, 2), where there are any."""
    if len(vectors):
        ring: dict[str, Any] = {"s": 130, "facecolors": "none", "edgecolors": COLORS["black"]}
        axes.scatter(*vectors.T, linewidths=1.7, label=RING, **ring)


def span(x: Array, *, margin: float, n_grid: int) -> Array:
    """Evenly spaced values from end to end of x, and this share of its range beyond each end."""
    low, high = float(x.min()), float(x.max())
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, n_grid)


def square(X: Array, *, margin: float, n_grid: int) -> tuple[Array, Array, Array]:
    """Values of two inputs about their ranges in X, and all pairs of them: n, n and (n * n, 2)."""
    x0, x1 = (span(column, margin=margin, n_grid=n_grid) for column in X.T)
    return x0, x1, np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)


def rows(estimator: Any, x: Array) -> Any:
    """Query rows under the column name that the estimator was fitted with, if it had one."""
    return named(estimator, x[:, None])


def named(estimator: Any, X: Array) -> Any:
    """Query rows under the column names that the estimator was fitted with, if it had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return X if names is None else polars.DataFrame(X, schema=[str(name) for name in names])


def label(estimator: Any) -> str:
    """The name of the input: that of its column, or x."""
    names = getattr(estimator, "feature_names_in_", None)
    return "x" if names is None else str(names[0])


def labels(estimator: Any) -> tuple[str, str]:
    """The names of two inputs: those of their columns, or x0 and x1."""
    names = getattr(estimator, "feature_names_in_", ("x0", "x1"))
    return str(names[0]), str(names[1])


def classes(estimator: Any) -> NDArray[Any]:
    """What the classes are called, or a sentence where there is only one."""
    known = np.asarray(estimator.classes_)
    if len(known) < 2:
        raise ValueError(
            f"The classifier knows one class only, {known.tolist()}: there is nothing to tell "
            "apart."
        )
    return known


def class_codes(y: ArrayLike, known: NDArray[Any]) -> NDArray[np.intp]:
    """The place of each label among the sorted classes, or a sentence about the first stranger."""
    given = np.asarray(y).ravel()
    places = np.minimum(np.searchsorted(known, given), len(known) - 1)
    strangers = np.flatnonzero(known[places] != given)
    if strangers.size:
        row = strangers[0]
        raise ValueError(
            f"Row {row} has the class {given[row]!r}, which the model does not know; "
            f"it was fitted to {known.tolist()}."
        )
    return places
