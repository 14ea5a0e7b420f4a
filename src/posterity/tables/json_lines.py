"""Rows written as JSON lines: one object a line, a key for each column.

Keys may differ from line to line and a column may turn from whole to broken numbers late in the
file, so the whole file is looked through once before its rows are given out.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from posterity.tables import columns, headers, sniffing, streams

Row: TypeAlias = dict[str, str | float | None]

MAX_LINE = 1 << 24  # bytes
_INTEGER, _FLOAT, _BOOLEAN, _TEXT = 1, 2, 4, 8
_KINDS = {type(None): 0, int: _INTEGER, float: _FLOAT, bool: _BOOLEAN, str: _TEXT}
_DTYPES: dict[int, type[pl.DataType]] = {
    _INTEGER: pl.Int64,
    _FLOAT: pl.Float64,
    _INTEGER | _FLOAT: pl.Float64,
    _BOOLEAN: pl.Boolean,
}
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Reader:
    """Lines of which all keys are known, with the type of each."""

    stream: streams.Stream
    dtypes: tuple[tuple[str, type[pl.DataType]], ...]

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Frames of at most ``n_rows`` rows, in the order of the file."""
        for block in _blocks(self.stream):
            rows = list(_rows(block, self.stream.name))
            for low in range(0, len(rows), n_rows):
                yield self._frame([row for _, row in rows[low : low + n_rows]])

    def _frame(self, rows: list[Row]) -> pl.DataFrame:
        """The frame of some rows, a key that a row lacks being missing there."""
        return pl.DataFrame(
            [
                pl.Series(name, [_value(row.get(name), dtype) for row in rows], dtype=dtype)
                for name, dtype in self.dtypes
            ]
        )


def opened(stream: streams.Stream) -> Reader:
    """Look through the lines for their keys and types."""
    kinds: dict[str, int] = {}
    for block in _blocks(stream):
        for line, row in _rows(block, stream.name):
            for key, value in row.items():
                kind = _KINDS.get(type(value))
                if kind is None:
                    raise columns.TableError(
                        f"Line {line} of {stream.name} has a list or an object under the key "
                        f"'{key}': give each of its values a key of its own, or take it out."
                    )
                kinds[key] = kinds.get(key, 0) | (_FLOAT if _is_large(value) else kind)
    if not kinds:
        raise columns.TableError(f"{stream.name} holds no keys: it has no columns.")
    return Reader(stream, tuple((key, _DTYPES.get(kind, pl.String)) for key, kind in kinds.items()))


def _blocks(stream: streams.Stream) -> Iterator[tuple[int, list[bytes]]]:
    """Whole lines, a piece of the file at a time, with the number of the first."""
    rest, number = b"", 1
    for piece in streams.gathered(stream.pieces(), streams.PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        yield number, lines
        number += len(lines)
        if len(rest) > MAX_LINE:
            raise columns.TableError(
                f"Line {number} of {stream.name} is longer than {MAX_LINE:,} bytes: these do not "
                "seem to be JSON lines, one object a line."
            )
    yield number, [rest]


def _rows(block: tuple[int, list[bytes]], name: str) -> Iterator[tuple[int, Row]]:
    """The objects of some lines, each with the number of its line; blank lines are passed over."""
    first, lines = block
    for line, text in enumerate(lines, start=first):
        if text.strip():
            yield line, _row(text, name, line)


def _row(text: bytes, name: str, line: int) -> Row:
    """The object of one line."""
    sniffing.refuse_binary(text, name, line)
    try:
        found = json.loads(headers.decoded(text))
    except (ValueError, RecursionError) as error:
        reason = (
            error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be taken apart"
        )
        raise columns.TableError(
            f"Line {line} of {name} is not JSON ({reason}): each line must hold one object, as "
            'in {"x": 1, "y": 2}.'
        ) from error
    if not isinstance(found, dict):
        kind = "a list" if isinstance(found, list) else "a single value"
        raise columns.TableError(
            f"Line {line} of {name} is {kind}, not an object: write one object a line, as in "
            '{"x": 1, "y": 2}.'
        )
    return {_sound(key): value for key, value in found.items()}


def _is_large(value: object) -> bool:
    """Whether a value is a whole number that 64 bits do not hold."""
    return type(value) is int and abs(value) > _LARGEST


def _value(value: str | float | None, dtype: type[pl.DataType]) -> str | float | None:
    """A value as its column's type wants it."""
    if value is None:
        return None
    if dtype is pl.String:
        return _sound(value if isinstance(value, str) else json.dumps(value))
    return _as_float(value) if dtype is pl.Float64 else value


def _as_float(value: str | float) -> float:
    """A number as floating point, infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, -1 if str(value).startswith("-") else 1)


def _sound(text: str) -> str:
    """Text without halves of surrogate pairs, which JSON can write and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
