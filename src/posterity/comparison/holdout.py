"""Find which rows of a table belong together, and say for which new rows the scores hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.tables import column_types, leaks, roles

HoldoutKind: TypeAlias = Literal["random", "time", "groups", "blocks"]

_DAYS = {
    "s": 1.0 / 86_400.0,
    "m": 1.0 / 1_440.0,
    "h": 1.0 / 24.0,
    "d": 1.0,
    "w": 7.0,
    "y": 365.2425,
}
_UNITS = (("year", 365.2425), ("month", 30.44), ("week", 7.0), ("day", 1.0), ("hour", 1.0 / 24.0))
_MANY = {"year": 2.0, "month": 6.0, "week": 9.0, "day": 0.9, "hour": 0.0}  # from here on
_WORDS = ("year", "month", "week", "day", "hour", "minute", "second")


@dataclass(frozen=True)
class Dependence:
    """Rows that seem to depend on each other though they were held out at random.

    Attributes
    ----------
    kind : "time", "groups", "blocks" or "order"
        What brings dependent rows together: a time, a group, a place, or the order of the file.
    columns : tuple of str
        The columns that say so; empty for the order of the file.
    sentence : str
        What that means for the scores, and the option to use.
    beyond : str
        What was measured on other rows than those for which the scores hold; empty if nothing was.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Dependence("time", ("day",), "Use --time day.").columns
    ('day',)
    """

    kind: Literal["time", "groups", "blocks", "order"]
    columns: tuple[str, ...]
    sentence: str
    beyond: str = ""


@dataclass(frozen=True)
class Holdout:
    """Rows that are held out together, so that held-out rows differ as new rows will.

    Attributes
    ----------
    kind : "random", "time", "groups" or "blocks"
        Random rows; rows later than all training rows; whole groups; or whole regions.
    columns : tuple of str
        The column of times, the columns of groups, or the two of coordinates; empty for "random".
    folds : int
        Number of folds.
    seed : int
        Random seed of the assignment of rows to folds.
    gap : int, str or None
        For "time": how many different times are left out between training and held-out rows, or
        for dates a length of time such as "7d", "12h" or "2w".

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> table = {"day": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 0.7, 0.9, 1.3]}
    >>> comparison.Holdout.from_schema(tables.infer(table, "y", time="day")).kind
    'time'
    """

    kind: HoldoutKind = "random"
    columns: tuple[str, ...] = ()
    folds: int = 5
    seed: int = 0
    gap: int | str | None = None

    @classmethod
    def from_schema(
        cls, schema: tables.Schema, *, folds: int = 5, seed: int = 0, gap: int | str | None = None
    ) -> Self:
        """Return the rows to hold out according to the roles of the columns."""
        if gap is not None:
            _check_gap(gap, schema)
        if schema.time:
            return cls("time", (schema.time,), folds, seed, gap)
        if schema.groups:
            return cls("groups", schema.groups, folds, seed)
        if schema.blocks:
            return cls("blocks", schema.blocks, folds, seed)
        return cls("random", (), folds, seed)

    def last_training_time(self, earlier: Array, start: float) -> float:
        """Return the last of the earlier times to fit to, if held-out rows begin at ``start``."""
        if self.gap is None:
            return float(earlier[-1])
        if isinstance(self.gap, int):
            return float(earlier[-1 - self.gap]) if self.gap < len(earlier) else -np.inf
        return float(np.nextafter(start - _gap_in_days(self.gap), -np.inf))

    def describe_scope(
        self, frame: pl.DataFrame, schema: tables.Schema, found: Sequence[Dependence] = ()
    ) -> str:
        """Return for which new rows the scores hold, such as "for the next 30 days".

        Parameters
        ----------
        frame : polars.DataFrame
            The table.
        schema : Schema
            Its schema.
        found : sequence of Dependence
            Dependence between rows that were held out at random.

        Examples
        --------
        >>> from posterity import comparison, tables
        >>> table = tables.as_frame({"day": range(100), "y": [0.5 * n for n in range(100)]})
        >>> schema = tables.infer(table, "y", time="day", keep=["day"])
        >>> comparison.Holdout.from_schema(schema).describe_scope(table, schema)
        'for the next 10 days'
        """
        if self.kind == "time":
            return self._describe_window(frame, schema)
        if self.kind == "groups":
            return f"for rows of a new {name_group(self.columns)}"
        if self.kind == "blocks":
            return "for new regions"
        if schema.groups:
            return f"for new rows of a known {name_group(schema.groups)}"
        return _describe_random_scope(found[0]) if found else _LIKE_THESE

    def _describe_window(self, frame: pl.DataFrame, schema: tables.Schema) -> str:
        """Describe how far ahead of the training rows the held-out rows typically reach."""
        column = next(one for one in schema.inputs if one.name == self.columns[0])
        distinct = np.unique(roles.read_positions(frame, column))
        n_times = max(len(distinct) // (2 * self.folds), 1)
        window = n_times * float(np.median(np.diff(distinct))) if len(distinct) > 1 else 1.0
        if column.kind == "date":
            length = format_days(window)
        else:
            word = _time_word(column.name)
            length = f"{window:.3g} {word}" if word else f"{window:.3g} units of {column.name!r}"
        if not self.gap:
            return f"for the next {length}"
        gap = (
            f"{self.gap} times"
            if isinstance(self.gap, int)
            else format_days(_gap_in_days(self.gap))
        )
        return f"for the {length} that follow a gap of {gap}"


def name_group(names: Sequence[str]) -> str:
    """Return what groups are called that some columns name together."""
    *first, last = [repr(name) for name in names]
    return f"combination of {', '.join(first)} and {last}" if first else last


_LIKE_THESE = "for new rows like these"
_RANDOM_SCOPES = {
    "time": "for rows between these times",
    "order": "for rows between these",
    "groups": "for new rows of a known {0}",
    "blocks": "for rows between these places",
}


def _describe_random_scope(found: Dependence) -> str:
    """Describe for which rows scores hold that are between dependent ones, and what of others."""
    scope = _RANDOM_SCOPES[found.kind].format(name_group(found.columns))
    return f"{scope} ({found.beyond})" if found.beyond else scope


def parse_gap(text: str | int) -> int | str:
    """Return a gap as a number of times, or as a length of time such as "7d".

    Examples
    --------
    >>> parse_gap("3"), parse_gap("7d")
    (3, '7d')
    """
    words = str(text).strip().lower()
    if words.isdecimal():
        return int(words)
    if not re.fullmatch(r"\d+(?:\.\d*)?\s*[smhdwy]", words):
        raise ValueError(
            f"{text!r} is not a gap; use a number of times such as 3, or a length such as 7d, 12h "
            "or 2w."
        )
    return words


def format_days(days: float) -> str:
    """Write a length of time in natural units.

    Examples
    --------
    >>> format_days(30.2), format_days(0.25), format_days(1100.0)
    ('30 days', '6 hours', '3 years')
    """
    for word, length in _UNITS:
        if days >= _MANY[word] * length * 0.995:
            break
    count = max(round(days / length), 1)
    return word if count == 1 else f"{count:,} {word}s"


def _gap_in_days(gap: str) -> float:
    return float(gap[:-1]) * _DAYS[gap[-1]]


def _check_gap(gap: int | str, schema: tables.Schema) -> None:
    """Refuse a gap that does not suit the column of times."""
    if schema.time is None:
        raise tables.TableError("A gap needs a column of times; name it with --time.")
    column = next(one for one in schema.inputs if one.name == schema.time)
    if isinstance(parse_gap(gap), str) and column.kind != "date":
        raise tables.TableError(
            f"Column {column.name!r} contains numbers, so a gap of {gap} has no meaning; give the "
            "number of different times to leave out."
        )


def _time_word(name: str) -> str | None:
    """Return the unit that a column is named after, in the plural."""
    words = [part.rstrip("s") for part in re.split(r"[^a-z]+", name.lower())]
    return next((f"{word}s" for word in _WORDS if word in words), None)


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


def parse_columns(
    frame: pl.DataFrame, schema: tables.Schema
) -> dict[str, column_types.ParsedColumn]:
    """Parse all columns that can be read, the dropped ones included, but for the exposure."""
    found, others = {}, {schema.target, schema.exposure and schema.exposure.name}
    for name in frame.columns:
        kind = frame.schema[name]
        if name not in others and not (kind.is_nested() or isinstance(kind, pl.Binary | pl.Object)):
            found[name] = column_types.parse_column(frame[name])
    return found


def iterate_times(columns: Mapping[str, column_types.ParsedColumn]) -> Iterator[tuple[str, Array]]:
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
    frame: pl.DataFrame, columns: Mapping[str, column_types.ParsedColumn]
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
    return bool(_UNIT.search(name)) or leaks.is_named_like_identifier(name)


def _may_group(seen: column_types.ParsedColumn, *, named: bool) -> bool:
    """Return whether the values of a column repeat as those of sampled groups do."""
    n_groups, n = seen.column.n_distinct, seen.n_present
    if seen.column.kind == "date" or (seen.column.kind == "number" and not seen.are_whole()):
        return False
    if n < 2 * n_groups:
        return False
    return n_groups >= _FEWEST_NAMED if named else n_groups >= max(_FEWEST, n / _LARGEST)
