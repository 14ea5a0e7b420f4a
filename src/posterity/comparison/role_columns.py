"""Find columns that may say which rows depend on each other, by their names and values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.tables import looking, roles, suspecting

_TIME = re.compile(
    r"(?:^|[\W_])(?:t|time|timestamp|date|datetime|step|second|minute|hour|day|week|month|quarter|"
    r"year|cycle|epoch|period|tick)s?$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:^|[\W_])(?:patient|subject|person|people|user|customer|client|student|pupil|school|class|"
    r"site|plot|farm|field|batch|lot|household|family|animal|device|sensor|machine|engine|group|"
    r"cluster|participant|store|shop|player|team|hospital|clinic|doctor|ward|village|tree|worker|"
    r"employee|company|firm|station|individual|case|child|mother|rat|mouse|dog|cow)s?(?:$|[\W_])",
    re.IGNORECASE,
)
_AXES = (
    ("latitude", "longitude"),
    ("lat", "longitude"),
    ("lat", "long"),
    ("lat", "lon"),
    ("lat", "lng"),
    ("northing", "easting"),
    ("y", "x"),
)
_FEWEST_NAMED, _FEWEST = 5, 20  # groups of a column that is named like a unit, and of any other
_LARGEST = 50.0  # rows of a typical group of a column that is not named like one
_MOST_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column whose equal values may mark dependent rows."""

    name: str
    codes: NDArray[np.intp]
    numbers: Array | None  # its values, if they are numbers, whose smooth effect is no group's


def parse_columns(frame: pl.DataFrame, schema: tables.Schema) -> dict[str, looking.ParsedColumn]:
    """Parse all columns that can be read, the dropped ones included, but for the exposure."""
    found, others = {}, {schema.target, schema.exposure and schema.exposure.name}
    for name in frame.columns:
        kind = frame.schema[name]
        if name not in others and not (kind.is_nested() or isinstance(kind, pl.Binary | pl.Object)):
            found[name] = looking.parse_column(frame[name])
    return found


def iterate_times(columns: Mapping[str, looking.ParsedColumn]) -> Iterator[tuple[str, Array]]:
    """Yield dates, and numbers in order that are named like a time or count the rows."""
    for name, seen in columns.items():
        values = seen.numbers
        if values is None or seen.column.n_missing or seen.column.n_distinct < _FEWEST_NAMED:
            continue
        steps = np.diff(values)
        ordered = bool(np.all(steps >= 0.0) or np.all(steps <= 0.0))
        counts = bool(np.all(np.abs(steps) == 1.0)) and ordered
        if seen.column.kind == "date" or (ordered and (counts or _TIME.search(name))):
            yield name, values


def iterate_groups(
    frame: pl.DataFrame, columns: Mapping[str, looking.ParsedColumn]
) -> Iterator[GroupColumn]:
    """Yield columns with repeated labels or whole numbers, those named like a unit first."""
    named = {name: _is_named_like_unit(name) for name in columns}
    chosen = [
        name
        for name in sorted(columns, key=lambda name: not named[name])
        if _may_group(columns[name], named=named[name])
    ]
    for name in chosen[:_MOST_COLUMNS]:
        yield GroupColumn(name, roles.number_groups(frame, (name,)), columns[name].numbers)


def find_coordinates(schema: tables.Schema) -> tuple[str, str] | None:
    """Return two inputs that are named like coordinates; "x" and "y" only beside other inputs."""
    names = [column.name for column in schema.inputs if column.kind == "number"]
    for first, second in _AXES:
        pattern = re.compile(rf"(?<![a-z]){first}(?![a-z])", re.IGNORECASE)
        for name in names:
            twin = pattern.sub(second, name.lower())
            other = next((one for one in names if one.lower() == twin and one != name), None)
            if other and (len(schema.inputs) > 2 or first != "y"):
                return (other, name) if first == "y" else (name, other)
    return None


def _is_named_like_unit(name: str) -> bool:
    return bool(_UNIT.search(name)) or suspecting.is_named_like_identifier(name)


def _may_group(seen: looking.ParsedColumn, *, named: bool) -> bool:
    """Return whether the values of a column repeat as those of sampled groups do."""
    n_groups, n = seen.column.n_distinct, seen.n_present
    if seen.column.kind == "date" or (seen.column.kind == "number" and not seen.are_whole()):
        return False
    if n < 2 * n_groups:
        return False
    return n_groups >= _FEWEST_NAMED if named else n_groups >= max(_FEWEST, n / _LARGEST)
