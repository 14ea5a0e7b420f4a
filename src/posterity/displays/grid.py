"""Query rows for plots over one input, or over two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars
from numpy.typing import ArrayLike, NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.displays.style import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RING = "relevance vectors"  # in legends


def check_inputs(X: ArrayLike, n_inputs: int) -> Array:
    """Return X with this number of columns, (N, D); refuse any other shape."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != n_inputs or not len(values):
        columns = "one column" if n_inputs == 1 else "two columns"
        raise ValueError(
            f"X must have shape (N, {n_inputs}) for a plot over {columns}, but has {values.shape}. "
            f"Fit the model to {columns}, or plot its predictions over {columns} yourself."
        )
    return values


def check_target(mean: Any) -> Array:
    """Return the mean of a prediction, (n,); refuse several targets."""
    values = np.asarray(mean, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"This display shows one target, but the model predicts {values.shape[1]}; fit one "
            "model per target."
        )
    return values


def find_vectors(estimator: Any, n_inputs: int) -> Array:
    """Return the relevance vectors of a model, (m, D); empty if it has none."""
    kept = getattr(estimator, "relevance_vectors_", np.empty((0, n_inputs)))
    return np.asarray(arrays.to_numpy(kept), dtype=np.float64).reshape(-1, n_inputs)


def draw_image(axes: Axes, values: Array, x0: Array, x1: Array, **look: Any) -> Any:
    """Draw values over the ranges of two inputs, the second along the first axis."""
    extent = (x0[0], x0[-1], x1[0], x1[-1])
    look |= {"aspect": "auto", "interpolation": "bilinear"}
    return axes.imshow(values, origin="lower", extent=extent, **look)


def frame_axes(axes: Axes, x0: Array, x1: Array, names: Sequence[str]) -> None:
    """Set names and limits of two inputs."""
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.set(xlim=(x0[0], x0[-1]), ylim=(x1[0], x1[-1]))


def draw_rings(axes: Axes, vectors: Array) -> None:
    """Draw rings around relevance vectors, (m, 2)."""
    if len(vectors):
        ring: dict[str, Any] = {"s": 130, "facecolors": "none", "edgecolors": COLORS["black"]}
        axes.scatter(*vectors.T, linewidths=1.7, label=RING, **ring)


def spread_evenly(x: Array, *, margin: float, n_grid: int) -> Array:
    """Return evenly spaced values over the range of x, extended by a share of it at each end."""
    low, high = float(x.min()), float(x.max())
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, n_grid)


def make_square_grid(X: Array, *, margin: float, n_grid: int) -> tuple[Array, Array, Array]:
    """Return values of two inputs over their ranges, and all pairs: (n,), (n,), (n * n, 2)."""
    x0, x1 = (spread_evenly(column, margin=margin, n_grid=n_grid) for column in X.T)
    return x0, x1, np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)


def name_columns(estimator: Any, X: Array) -> Any:
    """Return query rows, with the column names of the fit if it has any."""
    names = getattr(estimator, "feature_names_in_", None)
    return X if names is None else polars.DataFrame(X, schema=[str(name) for name in names])


def find_names(estimator: Any, n_inputs: int) -> tuple[str, ...]:
    """Return the names of the input columns; x, or x0 and x1, if the fit had none."""
    plain = ("x",) if n_inputs == 1 else ("x0", "x1")
    return tuple(str(name) for name in getattr(estimator, "feature_names_in_", plain)[:n_inputs])


def check_classes(estimator: Any) -> NDArray[Any]:
    """Return the labels of the classes; refuse a single class."""
    known = np.asarray(estimator.classes_)
    if len(known) < 2:
        raise ValueError(
            f"The classifier was fitted to a single class, {known.tolist()}; a plot needs at least "
            "two."
        )
    return known


def encode_classes(y: ArrayLike, known: NDArray[Any]) -> NDArray[np.intp]:
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
