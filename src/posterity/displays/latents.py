"""Latent coordinates of rows, and outputs at latent points, for plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array

_HELD = 1 << 21  # numbers of a prediction in memory at a time
_APART = 0.09  # smallest distance of two chosen points, as a share of the range


def find_coordinates(model: Any, X: Any = None) -> Array:
    """Return the latent points of these rows, or of the training rows, (N, Q)."""
    if X is not None:
        return _to_floats(model.transform(X))
    if not hasattr(model, "embedding_"):
        raise TypeError(
            f"{type(model).__name__} does not store latent points of its training rows; pass X."
        )
    return _to_floats(model.embedding_)


def find_variances(model: Any, X: Any = None) -> Array:
    """Return the variances of the latent points of the training rows, (N, Q), if known."""
    known = getattr(model, "embedding_variance_", None) if X is None else None
    return np.empty((0, 0)) if known is None else _to_floats(known)


def predict_outputs(model: Any, Z: Array) -> tuple[Array, Array | None]:
    """Return the mean of the outputs at latent points, (n, D), and their deviation if known."""
    if hasattr(model, "inverse_transform_dist"):
        dist = model.inverse_transform_dist(Z)
        return dist.mean(), dist.standard_deviation()
    if not hasattr(model, "inverse_transform"):
        raise TypeError(f"{type(model).__name__} has no inverse_transform.")
    return _to_floats(model.inverse_transform(Z)), None


def average_deviations(model: Any, Z: Array) -> Array:
    """Return the standard deviation at each point, averaged over outputs; empty if unknown."""
    if not hasattr(model, "inverse_transform_dist"):
        return np.empty(0)
    step = max(1, _HELD // model.inverse_transform_dist(Z[:1]).shape[1])
    blocks = (model.inverse_transform_dist(Z[i : i + step]) for i in range(0, len(Z), step))
    return np.concatenate([block.standard_deviation().mean(axis=1) for block in blocks])


def draw_images(model: Any, Z: Array, shape: tuple[int, int] | None) -> Array:
    """Return the mean of the outputs at latent points as images, (n, height, width)."""
    return (
        np.empty((0, 0, 0))
        if shape is None
        else reshape_images(predict_outputs(model, Z)[0], shape)
    )


def reshape_images(rows: Array, shape: tuple[int, int]) -> Array:
    """Reshape rows to images, (n, height, width); refuse rows of another size."""
    if rows.shape[1] != shape[0] * shape[1]:
        raise ValueError(f"image_shape={shape} does not match rows with {rows.shape[1]} columns.")
    return rows.reshape(-1, *shape)


def separate_images(points: Array, n: int) -> NDArray[np.intp]:
    """Choose at most n points, each the farthest from those before it and not too near."""
    extent = np.ptp(points, axis=0)
    x = (points - points.mean(axis=0)) / np.where(extent > 0.0, extent, 1.0)
    chosen = [int(np.argmin(np.sum(x * x, axis=1)))] if n else []
    distance = np.full(len(x), np.inf)
    while 0 < len(chosen) < n:
        distance = np.minimum(distance, np.sum((x - x[chosen[-1]]) ** 2, axis=1))
        farthest = int(np.argmax(distance))
        if distance[farthest] < _APART**2:
            break
        chosen.append(farthest)
    return np.array(chosen, dtype=np.intp)


def _to_floats(values: Any) -> Array:
    """Convert any array or data frame to an array of floats."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)
