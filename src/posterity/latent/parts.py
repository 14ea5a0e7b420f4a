"""Columns taken apart: which of them belong together, by name or by position."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Parts:
    """Names, and the columns of each; every column is of one part.

    Examples
    --------
    >>> parts = Parts.from_columns({"left": ["a", "b"], "right": ["c"]}, 3, ["a", "b", "c"])
    >>> parts.names, [columns.tolist() for columns in parts.columns]
    (('left', 'right'), [[0, 1], [2]])
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[np.intp], ...]

    @classmethod
    def from_columns(cls, given: Any, n_columns: int, column_names: Sequence[str] | None) -> Parts:
        """From a mapping of names to columns, a list of lists of columns, or None: two halves."""
        named = _name_parts(given, n_columns)
        known = {} if column_names is None else {name: i for i, name in enumerate(column_names)}
        found = {
            name: [_find_position(column, n_columns, known, name) for column in columns]
            for name, columns in named.items()
        }
        _check_partition(found, n_columns, column_names)
        arrays = (np.array(columns, dtype=np.intp) for columns in found.values())
        return cls(tuple(found), tuple(arrays))


def _name_parts(given: Any, n_columns: int) -> dict[str, list[Any]]:
    if given is None:
        halves = np.array_split(np.arange(n_columns), min(2, n_columns))
        return {str(i): half.tolist() for i, half in enumerate(halves)}
    if isinstance(given, Mapping) and all(map(_is_list, given.values())):
        return {str(name): list(columns) for name, columns in given.items()}
    if isinstance(given, Sequence) and all(map(_is_list, given)):
        return {str(i): list(columns) for i, columns in enumerate(given)}
    raise TypeError(
        f"parts={given!r} must be a mapping of names to lists of columns, a list of such lists, or "
        "None for two halves."
    )


def _is_list(columns: Any) -> bool:
    """Whether it holds columns; a name is one, and holds none."""
    return isinstance(columns, Iterable) and not isinstance(columns, str | Mapping)


def _find_position(column: Any, n_columns: int, known: Mapping[str, int], part: str) -> int:
    """The position of a column that is given by its name or by its position."""
    if isinstance(column, str):
        if column not in known:
            raise ValueError(f"Part {part!r} names column {column!r}, but X has no such column.")
        return known[column]
    if not isinstance(column, numbers.Integral) or not 0 <= int(column) < n_columns:
        raise ValueError(
            f"Part {part!r} has a column {column!r}; pass names of columns, or positions from 0 to "
            f"{n_columns - 1}."
        )
    return int(column)


def _check_partition(
    found: Mapping[str, list[int]], n_columns: int, column_names: Sequence[str] | None
) -> None:
    """A part without columns, a column of two parts, a column of none."""
    owner: dict[int, str] = {}
    for part, columns in found.items():
        if not columns:
            raise ValueError(f"Part {part!r} has no columns; leave it out.")
        for column in columns:
            if column in owner:
                raise ValueError(
                    f"Column {_name_column(column, column_names)} is in part {owner[column]!r} "
                    "and in "
                    f"part {part!r}; a column belongs to one part, once."
                )
            owner[column] = part
    left = [column for column in range(n_columns) if column not in owner]
    if left:
        raise ValueError(
            f"Column {_name_column(left[0], column_names)} is in no part; add it to one, or "
            "leave it "
            "out of X."
        )


def _name_column(column: int, column_names: Sequence[str] | None) -> str:
    return str(column) if column_names is None else repr(column_names[column])
