"""Arrays as text: the smallest type that holds every number exactly, in base64."""

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
"""Characters that the panel may add to a page."""

_TYPES = {"u8": "u1", "u16": "<u2", "f32": "<f4"}


@dataclass(frozen=True)
class Refusal:
    """A model that has no form which runs in a page.

    Attributes
    ----------
    why : str
        The reason, a sentence for a person.
    """

    why: str


class NoFormError(Exception):
    """Raised within this package, caught at its door, and told as a :class:`Refusal`."""


def packed(values: ArrayLike) -> Json:
    """Numbers, row after row.

    Examples
    --------
    >>> packed([1, 2, 255])
    {'type': 'u8', 'data': 'AQL/'}
    >>> packed([0.1])["type"], packed([0.5])["type"]
    ('f64', 'f32')
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    name = next((name for name, dtype in _TYPES.items() if _holds(dtype, flat)), "f64")
    data = flat.astype(_TYPES.get(name, "<f8")).tobytes()
    return {"type": name, "data": base64.b64encode(data).decode("ascii")}


def rounded(values: ArrayLike) -> Json:
    """Numbers of which seven digits are enough: they are told to a person, and not solved with."""
    return packed(np.asarray(values, dtype=np.float32))


def table(X: Array) -> list[Json]:
    """Columns, each in the type that it needs: a category takes a byte, not eight."""
    return [packed(column) for column in X.T]


def triangle(L: Array) -> Json:
    """A lower triangle, row after row."""
    return packed(L[np.tril_indices(len(L))])


def numbers(values: ArrayLike) -> list[float]:
    """A few numbers, as JSON has them."""
    return [float(value) for value in np.asarray(values, dtype=np.float64).ravel()]


def size(payload: Json) -> int:
    """Characters of the payload in a page."""
    return len(json.dumps(payload))


def check_room(n_numbers: int, what: str) -> None:
    """Refuse what cannot fit, before it is packed."""
    if n_numbers * 32 // 3 > LIMIT:
        raise NoFormError(f"{what} are more than a page should carry.")


def _holds(dtype: str, values: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        kept = values.astype(dtype).astype(np.float64)
    return bool(np.array_equal(kept, values, equal_nan=True))
