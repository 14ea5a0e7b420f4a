"""Encode arrays as base64 text, in the smallest type that represents every number exactly."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array

Json: TypeAlias = dict[str, Any]

LIMIT = 1_200_000
"""Maximum number of characters that the panel adds to a page."""

_TYPES = {"u8": "u1", "u16": "<u2", "f32": "<f4"}


@dataclass(frozen=True)
class NoPanel:
    """A model that cannot run in a page.

    Attributes
    ----------
    why : str
        The reason, as a sentence.
    """

    why: str


class NoFormError(Exception):
    """Raised and caught within this package, which returns a :class:`Refusal` instead."""


def pack_array(values: ArrayLike) -> Json:
    """Encode an array in row-major order.

    Examples
    --------
    >>> pack_array([1, 2, 255])
    {'type': 'u8', 'data': 'AQL/'}
    >>> pack_array([0.1])["type"], pack_array([0.5])["type"]
    ('f64', 'f32')
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    name = next((name for name, dtype in _TYPES.items() if _represents(dtype, flat)), "f64")
    data = flat.astype(_TYPES.get(name, "<f8")).tobytes()
    return {"type": name, "data": base64.b64encode(data).decode("ascii")}


def pack_single_precision(values: ArrayLike) -> Json:
    """Encode an array in single precision, for numbers that are only displayed or averaged."""
    return pack_array(np.asarray(values, dtype=np.float32))


def pack_columns(X: Array) -> list[Json]:
    """Encode columns separately, each in its smallest type."""
    return [pack_array(column) for column in X.T]


def pack_triangle(L: Array) -> Json:
    """Encode a lower triangle, row by row."""
    return pack_array(L[np.tril_indices(len(L))])


def as_floats(values: ArrayLike) -> list[float]:
    """Convert an array to a list of floats."""
    return [float(value) for value in np.asarray(values, dtype=np.float64).ravel()]


def count_characters(payload: Json) -> int:
    """Return the number of characters of the payload in a page."""
    return len(json.dumps(payload))


def check_room(n_numbers: int, what: str) -> None:
    """Refuse data that is too large, before it is packed."""
    if n_numbers * 32 // 3 > LIMIT:
        raise NoFormError(f"{what} do not fit into a page.")


def _represents(dtype: str, values: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        kept = values.astype(dtype).astype(np.float64)
    return bool(np.array_equal(kept, values, equal_nan=True))
