"""Read JSON lines: one object a line, one key a column.

Keys may differ between lines, and a column of integers may turn to floats late in the file, so the
whole file is scanned once before rows are returned.
"""

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from posterity.tables import columns, headers, streams

Value: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Value]

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
class JsonField:
    """A JSON key, its column name and its data type."""

    key: str
    name: str
    dtype: type[pl.DataType]


@dataclass(frozen=True)
class JsonLinesReader:
    """A reader of JSON lines whose keys are known."""

    stream: streams.Stream
    fields: tuple[JsonField, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(field.name for field in self.fields)

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in file order."""
        for block in _blocks(self.stream):
            rows = block.rows()
            for low in range(0, len(rows), n_rows):
                chosen = rows[low : low + n_rows]
                yield pl.DataFrame([_make_series(field, chosen) for field in self.fields])


def open_json_lines(stream: streams.Stream) -> JsonLinesReader:
    """Scan the lines for keys and types, and return a reader."""
    kinds: dict[str, int] = {}
    for block in _blocks(stream):
        rows = block.rows()
        for key in dict.fromkeys(itertools.chain.from_iterable(rows)):
            values = [row.get(key) for row in rows]
            kinds[key] = kinds.get(key, 0) | _find_kinds(values, key, block)
    if not kinds:
        raise columns.TableError(f"{stream.name} contains no keys, so the table has no columns.")
    names = headers.make_names_unique([_replace_unpaired_surrogates(key) for key in kinds])
    dtypes = (_DTYPES.get(kind, pl.String) for kind in kinds.values())
    return JsonLinesReader(stream, tuple(map(JsonField, kinds, names, dtypes)))


@dataclass(frozen=True)
class _LineBlock:
    """Whole lines of a file, and the first line number."""

    name: str
    line: int
    lines: list[bytes]

    def rows(self) -> list[Row]:
        """Parse the lines, skipping blank ones."""
        texts = [streams.decode_text(text) for text in self.lines if text.strip()]
        try:
            found = json.loads(f"[{','.join(texts)}]")  # one call is much faster
        except (ValueError, RecursionError):
            found = []
        if len(found) == len(texts) and all(type(row) is dict for row in found):
            return found
        return [_parse_row(text, self.name, self.line_of(i)) for i, text in enumerate(texts)]

    def line_of(self, index: int) -> int:
        """Return the line number of a row."""
        filled = (i for i, text in enumerate(self.lines) if text.strip())
        return self.line + next(itertools.islice(filled, index, None))


def _blocks(stream: streams.Stream) -> Iterator[_LineBlock]:
    """Yield blocks of whole lines."""
    rest, line = b"", 1
    for piece in stream.pieces():
        text = rest + piece
        streams.refuse_binary(text, stream.name, line)
        *lines, rest = text.split(b"\n")
        yield _LineBlock(stream.name, line, lines)
        line += len(lines)
        if len(rest) > MAX_LINE:
            raise columns.TableError(
                f"Line {line} of {stream.name} is longer than {MAX_LINE:,} bytes; the file does "
                "not seem to contain one JSON object a line."
            )
    yield _LineBlock(stream.name, line, [rest])


def _find_kinds(values: list[Value], key: str, block: _LineBlock) -> int:
    """Return the kinds of values as bit flags; raise for nested values."""
    types = set(map(type, values))
    if not types <= _KINDS.keys():
        index = next(i for i, value in enumerate(values) if type(value) not in _KINDS)
        raise columns.TableError(
            f"Line {block.line_of(index)} of {block.name} has a list or an object under the key "
            f"'{key}': flatten it into separate keys, or remove it."
        )
    integers = [abs(v) for v in values if isinstance(v, int)] if int in types else []
    too_large = max(integers, default=0) > _LARGEST
    return sum(_KINDS[t] for t in types) | (_FLOAT if too_large else 0)


def _make_series(field: JsonField, rows: list[Row]) -> pl.Series:
    """Return the column of a key, missing in rows without the key."""
    values = [row.get(field.key) for row in rows]
    return pl.Series(field.name, _convert_values(values, field.dtype), dtype=field.dtype)


def _convert_values(values: list[Value], dtype: type[pl.DataType]) -> Sequence[Value]:
    """Convert values to the data type of their column."""
    if dtype is pl.String:
        return [_as_text(value) for value in values]
    if dtype is pl.Float64 and int in set(map(type, values)):
        return [_as_float(value) for value in values]
    return values


def _parse_row(text: str, name: str, line: int) -> Row:
    """Parse one line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be parsed"
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
    return found


def _as_float(value: Value) -> float | None:
    """Convert a number to float; too large numbers become infinite."""
    if not isinstance(value, int):
        return value if isinstance(value, float) else None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _as_text(value: Value) -> str | None:
    """Convert a value to text, in JSON notation."""
    if value is None:
        return None
    return _replace_unpaired_surrogates(value if isinstance(value, str) else json.dumps(value))


def _replace_unpaired_surrogates(text: str) -> str:
    """Replace unpaired surrogates, which JSON allows and UTF-8 does not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
