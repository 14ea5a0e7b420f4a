"""Read Parquet files in batches, with the types of the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from posterity.tables import columns, guards, streams

_TO_TEXT = (pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class ParquetReader:
    """A reader of a Parquet file whose footer is known."""

    stream: streams.Stream
    names: tuple[str, ...]
    left_out: tuple[str, ...]

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in file order."""
        with streams.write_to_disk(self.stream) as path:
            with guards.convert_polars_errors(self.stream.name):
                height = _scan(path).select(pl.len()).collect().item()
            for offset in range(0, max(height, 1), n_rows):
                with guards.convert_polars_errors(self.stream.name):
                    frame = read_rows(path, self.names, offset, n_rows)
                yield frame


def read_rows(path: Path, names: Sequence[str], start: int, n_rows: int) -> pl.DataFrame:
    """Read at most ``n_rows`` rows of the given columns, starting at a row."""
    rows = _scan(path).select(names).slice(start, n_rows)
    return rows.with_columns(_simplify_types(rows.collect_schema())).collect()


def read_shape(path: Path) -> tuple[int, dict[str, pl.DataType]]:
    """Return the number of rows of a file, and its usable columns with their types."""
    schema = _scan(path).collect_schema()
    n_rows = int(_scan(path).select(pl.len()).collect().item())
    return n_rows, {name: _simplify_type(schema[name]) for name in _find_usable_columns(schema)}


def open_parquet(stream: streams.Stream) -> ParquetReader:
    """Return a reader of the usable columns; lists, structs and bytes are excluded."""
    with streams.write_to_disk(stream) as path, guards.convert_polars_errors(stream.name):
        schema = _scan(path).collect_schema()
    usable = _find_usable_columns(schema)
    if not usable:
        raise columns.TableError(
            f"{stream.name} has no columns of numbers, text, dates or booleans."
        )
    return ParquetReader(stream, usable, tuple(name for name in schema if name not in set(usable)))


def _scan(path: Path) -> pl.LazyFrame:
    """Scan a file lazily, without Hive partitioning from its path."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _find_usable_columns(schema: pl.Schema) -> tuple[str, ...]:
    return tuple(n for n, t in schema.items() if not t.is_nested() and t != pl.Binary)


def _simplify_types(schema: pl.Schema) -> list[pl.Expr]:
    """Cast categories to text and decimals to floats, as in other formats."""
    changed = {
        name: _simplify_type(kind) for name, kind in schema.items() if _simplify_type(kind) != kind
    }
    return [pl.col(name).cast(kind) for name, kind in changed.items()]


def _simplify_type(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, _TO_TEXT):
        return pl.String()
    return pl.Float64() if isinstance(kind, pl.Decimal) else kind
