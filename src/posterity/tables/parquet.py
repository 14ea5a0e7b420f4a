"""Read Parquet files in batches, with the types of the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from posterity.tables import columns, guards, streams

_TO_TEXT = (pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Reader:
    """A reader of a Parquet file whose footer is known."""

    stream: streams.Stream
    names: tuple[str, ...]
    left_out: tuple[str, ...]

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most ``n_rows`` rows, in file order."""
        with streams.on_disk(self.stream) as path:
            with guards.polars_refusing(self.stream.name):
                height = _scan(path).select(pl.len()).collect().item()
            for offset in range(0, max(height, 1), n_rows):
                with guards.polars_refusing(self.stream.name):
                    frame = between(path, self.names, offset, n_rows)
                yield frame


def between(path: Path, names: Sequence[str], start: int, n_rows: int) -> pl.DataFrame:
    """Read at most ``n_rows`` rows of the given columns, starting at a row."""
    rows = _scan(path).select(names).slice(start, n_rows)
    return rows.with_columns(_plain(rows.collect_schema())).collect()


def shape(path: Path) -> tuple[int, dict[str, pl.DataType]]:
    """Return the number of rows of a file, and its usable columns with their types."""
    schema = _scan(path).collect_schema()
    n_rows = int(_scan(path).select(pl.len()).collect().item())
    return n_rows, {name: _type(schema[name]) for name in _usable(schema)}


def opened(stream: streams.Stream) -> Reader:
    """Return a reader of the usable columns; lists, structs and bytes are excluded."""
    with streams.on_disk(stream) as path, guards.polars_refusing(stream.name):
        schema = _scan(path).collect_schema()
    usable = _usable(schema)
    if not usable:
        raise columns.TableError(
            f"{stream.name} has no columns of numbers, text, dates or booleans."
        )
    return Reader(stream, usable, tuple(name for name in schema if name not in set(usable)))


def _scan(path: Path) -> pl.LazyFrame:
    """Scan a file lazily, without Hive partitioning from its path."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _usable(schema: pl.Schema) -> tuple[str, ...]:
    return tuple(n for n, t in schema.items() if not t.is_nested() and t != pl.Binary)


def _plain(schema: pl.Schema) -> list[pl.Expr]:
    """Cast categories to text and decimals to floats, as in other formats."""
    changed = {name: _type(kind) for name, kind in schema.items() if _type(kind) != kind}
    return [pl.col(name).cast(kind) for name, kind in changed.items()]


def _type(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, _TO_TEXT):
        return pl.String()
    return pl.Float64() if isinstance(kind, pl.Decimal) else kind
