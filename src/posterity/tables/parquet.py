"""Rows of Parquet files, a slice at a time, with the types the file gives them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from posterity.tables import columns, guards, streams

_TO_TEXT = (pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Reader:
    """A file of which the footer was read."""

    stream: streams.Stream
    names: tuple[str, ...]
    left_out: tuple[str, ...]

    def batches(self, n_rows: int) -> Iterator[pl.DataFrame]:
        """Frames of at most ``n_rows`` rows, in the order of the file."""
        with streams.on_disk(self.stream) as path:
            with guards.polars_refusing(self.stream.name):
                height = _scan(path).select(pl.len()).collect().item()
            for offset in range(0, max(height, 1), n_rows):
                with guards.polars_refusing(self.stream.name):
                    rows = _scan(path).select(self.names).slice(offset, n_rows)
                    frame = rows.with_columns(_plain(rows.collect_schema())).collect()
                yield frame


def opened(stream: streams.Stream) -> Reader:
    """Read which columns a file has; lists, structures and bytes are left out."""
    with streams.on_disk(stream) as path, guards.polars_refusing(stream.name):
        schema = _scan(path).collect_schema()
    usable = tuple(n for n, t in schema.items() if not t.is_nested() and t != pl.Binary)
    if not usable:
        raise columns.TableError(
            f"{stream.name} has no column of numbers, text, dates or truth values."
        )
    return Reader(stream, usable, tuple(name for name in schema if name not in set(usable)))


def _scan(path: Path) -> pl.LazyFrame:
    """The file, nothing of it read yet, and nothing guessed from its name."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _plain(schema: pl.Schema) -> list[pl.Expr]:
    """Categories as text and decimals as floating point, as the other formats have them."""
    texts = [pl.col(n).cast(pl.String) for n, t in schema.items() if isinstance(t, _TO_TEXT)]
    decimals = [n for n, t in schema.items() if isinstance(t, pl.Decimal)]
    return texts + [pl.col(n).cast(pl.Float64) for n in decimals]
