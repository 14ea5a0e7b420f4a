"""Checks of parameters: float64 arrays of one shape, or an error that names the bad entry."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import arrays
from posterity.arrays import Array

_SUM_TOLERANCE = 1e-6  # a larger error is a mistake, a smaller one is rounding and quadrature
_SUM_ROUNDING = 1e-15


def check_finite(name: str, value: ArrayLike) -> Array:
    """Real numbers, as an array."""
    checked = _floats(name, value)
    _raise_for_entry(~np.isfinite(checked), checked, name, "must be finite")
    return checked


def check_positive(name: str, value: ArrayLike) -> Array:
    """Finite numbers above zero, as an array."""
    checked = check_finite(name, value)
    _raise_for_entry(checked <= 0.0, checked, name, "must be positive")
    return checked


def check_non_negative(name: str, value: ArrayLike) -> Array:
    """Finite numbers not below zero, as an array."""
    checked = check_finite(name, value)
    _raise_for_entry(checked < 0.0, checked, name, "must not be negative")
    return checked


def check_probability(name: str, value: ArrayLike) -> Array:
    """Numbers from 0 to 1, as an array."""
    checked = _floats(name, value)
    _raise_for_entry(~((checked >= 0.0) & (checked <= 1.0)), checked, name, "must be from 0 to 1")
    return checked


def check_coverage(value: float) -> float:
    """A number strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"coverage={value!r} must be between 0 and 1, e.g. 0.9 for 90 %.")
    return float(value)


def check_log_probabilities(name: str, value: ArrayLike) -> Array:
    """Logs of probabilities that sum to 1 along the last axis; made to where rounding spoilt it."""
    checked = _floats(name, value)
    if checked.ndim == 0 or checked.shape[-1] == 0:
        raise ValueError(f"{name} has shape {checked.shape}; its last axis must list the outcomes.")
    _raise_for_entry(
        np.isnan(checked) | (checked == np.inf), checked, name, "must be a log-probability"
    )
    total = _log_sum(checked)
    _raise_for_entry(
        ~(np.abs(np.expm1(total)) <= _SUM_TOLERANCE),
        np.exp(total),
        f"the sum of exp({name})",
        "must be 1",
    )
    excess = np.where(np.abs(total) > _SUM_ROUNDING, total, 0.0)
    return np.minimum(checked - excess[..., None], 0.0)


def _log_sum(log_p: Array) -> Array:
    """Log of the sum over the last axis; SciPy's takes ten times as long for one prediction."""
    top = np.max(log_p, axis=-1, keepdims=True)
    safe = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return safe[..., 0] + np.log(np.sum(np.exp(log_p - safe), axis=-1))


def broadcast_parameters(named: dict[str, Array]) -> dict[str, Array]:
    """The same arrays, read-only and of one shape."""
    try:
        shape = np.broadcast_shapes(*(value.shape for value in named.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in named.items())
        raise ValueError(f"These shapes do not broadcast to one: {shapes}.") from error
    return {name: np.broadcast_to(value, shape) for name, value in named.items()}


def _floats(name: str, value: ArrayLike) -> Array:
    """A float64 array on the host."""
    try:
        return np.asarray(arrays.to_numpy(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be numbers; got {type(value).__name__}.") from error


def _raise_for_entry(bad: NDArray[np.bool_], values: NDArray[Any], name: str, rule: str) -> None:
    """Name the first bad entry."""
    if not np.any(bad):
        return
    if np.ndim(bad) == 0:
        raise ValueError(f"{name} is {values:g}; it {rule}.")
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    index = place[0] if len(place) == 1 else place
    raise ValueError(f"{name} is {values[place]:g} at index {index}; it {rule}.")
