"""Read Parquet files in batches, with the types of the file, and folders of them as one table."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars import selectors

from posterity.tables import columns, streams
from posterity.tables.columns import TableError

_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class ParquetReader:
    """A reader of a Parquet file whose footer is known."""

    stream: streams.Stream
    names: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remark on the columns that are excluded, if any."""
        names = ", ".join(f"'{name}'" for name in self.left_out)
        return (f"Columns of lists, structs and bytes are excluded: {names}.",) if names else ()

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in file order."""
        with streams.write_to_disk(self.stream) as path:
            with streams.convert_polars_errors(self.stream.name):
                height = _scan(path).select(pl.len()).collect().item()
            for offset in range(0, max(height, 1), n_rows):
                with streams.convert_polars_errors(self.stream.name):
                    frame = read_rows(path, self.names, offset, n_rows)
                yield frame


def read_rows(path: Path, names: Sequence[str], start: int, n_rows: int) -> pl.DataFrame:
    """Read at most ``n_rows`` rows of the given columns, starting at a row."""
    return _scan(path).select(names).slice(start, n_rows).collect()


def read_shape(path: Path) -> tuple[int, dict[str, pl.DataType]]:
    """Return the number of rows of a file, and its usable columns with their types."""
    schema = _scan(path).collect_schema()
    n_rows = int(_scan(path).select(pl.len()).collect().item())
    return n_rows, {name: schema[name] for name in _find_usable_columns(schema)}


def open_parquet(stream: streams.Stream) -> ParquetReader:
    """Return a reader of the usable columns; lists, structs and bytes are excluded."""
    with streams.write_to_disk(stream) as path, streams.convert_polars_errors(stream.name):
        schema = _scan(path).collect_schema()
    usable = _find_usable_columns(schema)
    if not usable:
        raise columns.TableError(
            f"{stream.name} has no columns of numbers, text, dates or booleans."
        )
    return ParquetReader(stream, usable, tuple(name for name in schema if name not in set(usable)))


def _scan(path: Path) -> pl.LazyFrame:
    """Scan a file lazily, categories as text and decimals as floats, as in other formats."""
    rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)  # nothing from its path
    labels = selectors.by_dtype(pl.Categorical, pl.Enum)
    return rows.with_columns(labels.cast(pl.String), selectors.decimal().cast(pl.Float64))


def _find_usable_columns(schema: pl.Schema) -> tuple[str, ...]:
    return tuple(n for n, t in schema.items() if not t.is_nested() and t != pl.Binary)


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file and its number of rows."""

    path: str
    name: str
    n_rows: int


def inspect_folder(root: Path) -> tuple[tuple[ParquetFile, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the files with rows, their common columns, and notes."""
    with streams.convert_system_errors(str(root)):
        root.stat()
        places = list(_find_files(root)) if root.is_dir() else [root]
    if not places:
        raise TableError(
            f"There are no Parquet files in {root}: no name ends in {' or '.join(_SUFFIXES)}."
        )
    shapes = [_read_shape(place) for place in places]
    columns, extra = _find_common_columns(places, [types for _, types in shapes])
    files = tuple(
        ParquetFile(os.path.abspath(place), str(place), n_rows)
        for place, (n_rows, _) in zip(places, shapes, strict=True)
        if n_rows
    )
    if not files:
        raise TableError(f"There are no rows in {root}.")
    return files, columns, tuple(_write_notes(root, places, extra))


def _find_files(root: Path) -> Iterator[Path]:
    """Return the Parquet files below a folder, sorted by name."""
    for place in sorted(root.rglob("*")):
        inside = place.relative_to(root).parts
        hidden = any(part.startswith((".", "_")) for part in inside)
        if not hidden and place.suffix.lower() in _SUFFIXES and place.is_file():
            yield place


def _read_shape(place: Path) -> tuple[int, dict[str, pl.DataType]]:
    with streams.convert_polars_errors(str(place)):
        return read_shape(place)


def _find_common_columns(
    places: Sequence[Path], schemas: Sequence[dict[str, pl.DataType]]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns of the first file, which all must have, and extra columns."""
    first = schemas[0]
    if not first:
        raise TableError(f"{places[0]} has no columns of numbers, text, dates or booleans.")
    extra: dict[str, None] = {}
    for place, schema in zip(places, schemas, strict=True):
        if lacking := [name for name in first if name not in schema]:
            raise TableError(
                f"{place} has no column {lacking[0]!r}, which {places[0]} has: all files must "
                "have the same columns."
            )
        extra.update(dict.fromkeys(name for name in schema if name not in first))
        for name, kind in first.items():
            _check_types(name, (places[0], kind), (place, schema[name]))
    return tuple(first), list(extra)


def _check_types(name: str, a: tuple[Path, pl.DataType], b: tuple[Path, pl.DataType]) -> None:
    """Raise if a column has incompatible types in two files."""
    kinds = {_find_type_family(a[1]), _find_type_family(b[1])} - {"nothing"}
    if len(kinds) > 1:
        raise TableError(
            f"Column {name!r} is {a[1]} in {a[0]} but {b[1]} in {b[0]}: save the files with the "
            "same types."
        )


def _find_type_family(kind: pl.DataType) -> str:
    """Return the type family of a data type; empty columns match all families."""
    if kind == pl.Null:
        return "nothing"
    if kind.is_numeric():
        return "number"
    if isinstance(kind, pl.Datetime):
        return f"time {kind.time_zone}"
    return "time None" if kind == pl.Date else str(kind)


def _write_notes(root: Path, places: Sequence[Path], extra: Sequence[str]) -> Iterator[str]:
    if extra:
        yield f"Columns that are not in all files are excluded: {', '.join(map(repr, extra))}."
    below = (part for place in places for part in place.relative_to(root).parts[:-1])
    if named := next((part for part in below if "=" in part), None):
        yield f"Values in folder names, such as {named!r}, are not read."
