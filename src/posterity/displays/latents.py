"""What a picture asks of a latent space: where rows lie, and what lies at a place."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from posterity import arrays, distributions
from posterity.arrays import Array

_HELD = 1 << 21  # numbers of a prediction that are held at once
_APART = 0.09  # least distance of two chosen points, as a share of the range of all


class Transformer(Protocol):
    """Any fitted transformer, of this library or of another."""

    def transform(self, X: Any) -> Any: ...


@runtime_checkable
class Embedded(Protocol):
    """A fitted model that knows the latent places of its own rows."""

    embedding_: Any


@runtime_checkable
class Reversible(Protocol):
    """A model that leads back from latent places to rows."""

    def inverse_transform(self, X: Any) -> Any: ...


@runtime_checkable
class ReversibleUnsurely(Protocol):
    """A model that says beside its way back how sure it is of it."""

    def inverse_transform_dist(self, X: Any) -> distributions.Distribution: ...


def coordinates(model: Any, X: Any = None) -> Array:
    """Latent places of these rows, or of those that the model was fitted to, (N, Q)."""
    if X is not None:
        return _numbers(model.transform(X))
    if not isinstance(model, Embedded):
        raise TypeError(
            f"{type(model).__name__} keeps no places of the rows that it was fitted to; pass X."
        )
    return _numbers(model.embedding_)


def variances(model: Any, X: Any = None) -> Array:
    """How unsure the places are of the rows that a model was fitted to, (N, Q); or (0, 0)."""
    known = getattr(model, "embedding_variance_", None) if X is None else None
    return np.empty((0, 0)) if known is None else _numbers(known)


def outputs(model: Any, Z: Array) -> tuple[Array, Array | None]:
    """Mean of the outputs at latent places, (n, D), and their deviation where one is told."""
    if isinstance(model, ReversibleUnsurely):
        return _moments(model.inverse_transform_dist(Z))
    if not isinstance(model, Reversible):
        raise TypeError(f"{type(model).__name__} has no way back from latent places to rows.")
    return _moments(model.inverse_transform(Z))


def doubt(model: Any, Z: Array) -> Array:
    """Standard deviation at each place, averaged over the outputs; empty where none is told."""
    if not isinstance(model, Reversible):
        return np.empty(0)
    mean, deviation = _moments(model.inverse_transform(Z[:1]))
    if deviation is None:
        return np.empty(0)
    step = max(1, _HELD // mean.shape[1])
    blocks = (model.inverse_transform(Z[i : i + step]) for i in range(0, len(Z), step))
    return np.concatenate([block.standard_deviation().mean(axis=1) for block in blocks])


def images(model: Any, Z: Array, shape: tuple[int, int] | None) -> Array:
    """The mean of the outputs at latent places, as images (n, height, width)."""
    return np.empty((0, 0, 0)) if shape is None else as_images(outputs(model, Z)[0], shape)


def as_images(rows: Array, shape: tuple[int, int]) -> Array:
    """Rows as images, (n, height, width), or a sentence saying that they are none."""
    if rows.shape[1] != shape[0] * shape[1]:
        raise ValueError(f"image_shape={shape} does not fit rows of {rows.shape[1]} numbers.")
    return rows.reshape(-1, *shape)


def apart(points: Array, n: int) -> NDArray[np.intp]:
    """Rows of at most n points, each the farthest from all before it, until they come near."""
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


def _moments(answer: Any) -> tuple[Array, Array | None]:
    """Mean and deviation of a distribution; the numbers alone where there is none."""
    if isinstance(answer, distributions.Distribution):
        return answer.mean(), answer.standard_deviation()
    return _numbers(answer), None


def _numbers(values: Any) -> Array:
    """A table of numbers, from any array or data frame."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)
