"""Sources of rows: arrays and iterables of blocks.

A source returns ranges of rows in pieces. It knows whether it can be read repeatedly and, if
possible, its number of rows. Parquet files are a source too, in ``parquet.py``.
"""

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from posterity.designs import blocks
from posterity.designs.blocks import Parts, RowBlock, RowForm

Supply: TypeAlias = Iterable[Sequence[Any]] | Callable[[], Iterable[Sequence[Any]]]
"""Blocks (X, y) or (X, y, sample_weight), or a function that returns an iterator."""


class RowSource(Protocol):
    """A source of rows, read by range."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, or None if unknown before a pass."""

    @property
    def rereadable(self) -> bool:
        """Whether a second pass is possible."""

    def read_head(self) -> Parts:
        """Return the first row, without consuming it."""

    def read_rows(self, start: int, stop: int | None) -> Generator[Parts, None, None]:
        """Yield rows start, ..., stop - 1 in pieces; to the end if stop is None."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of arrays, which may be memory-mapped, as views."""

    arrays: Parts
    rows: int
    rereadable: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows of the arrays."""
        return len(self.arrays[0])

    def read_head(self) -> Parts:
        """Return the first row."""
        return slice_parts(self.arrays, 0, 1)

    def read_rows(self, start: int, stop: int | None) -> Generator[Parts, None, None]:
        """Yield views of the rows."""
        end = self.n_rows if stop is None else min(stop, self.n_rows)
        for first in range(start, end, self.rows):
            yield slice_parts(self.arrays, first, min(first + self.rows, end))


class IterableRows:
    """Rows from an iterable of blocks, or a function that returns an iterator."""

    def __init__(self, supply: Supply) -> None:
        self.rereadable = callable(supply) or iter(supply) is not supply
        opened = _read_blocks(supply)
        first = next(opened, None)
        if first is None:
            raise ValueError("the blocks hold no rows; pass at least one block that has some.")
        # Copied, because a view of one row would keep the whole block in memory.
        self._head = blocks.map_parts(first, lambda part: part[:1].copy())
        self._supply = supply
        self._pending = None if self.rereadable else itertools.chain([first], opened)
        counted = isinstance(supply, list | tuple)
        self.n_rows = sum(len(raw[0]) for raw in _read_blocks(supply)) if counted else None

    def read_head(self) -> Parts:
        """Return the first row."""
        return self._head

    def read_rows(self, start: int, stop: int | None) -> Generator[Parts, None, None]:
        """Yield the rows, after skipping those before them."""
        first = 0
        for raw in self._start_pass():
            n = len(raw[0])
            low, high = max(start - first, 0), n if stop is None else min(stop - first, n)
            if low < high:
                yield slice_parts(raw, low, high)
            first += n
            if stop is not None and first >= stop:
                return

    def _start_pass(self) -> Iterator[Parts]:
        """Start a pass; raise for a second pass over a generator."""
        if self.rereadable:
            return _read_blocks(self._supply)
        if self._pending is None:
            raise ValueError(
                "these blocks come from a generator, which can be read only once; for a second "
                "pass, pass a function that returns a new iterator to Chunks.from_iterable."
            )
        opened, self._pending = self._pending, None
        return opened


def validate_rows(
    source: RowSource, form: RowForm, start: int, stop: int | None
) -> Generator[RowBlock, None, None]:
    """Yield rows start, ..., stop - 1 of a source as validated blocks."""
    first_row = start
    with closing(source.read_rows(start, stop)) as pieces:
        for raw in pieces:
            yield form.convert_block(raw, first_row)
            first_row += len(raw[0])
    if first_row == 0 and stop is None:
        raise ValueError(
            "this pass found no rows, although an earlier one did; a function passed to "
            "Chunks.from_iterable must return a new iterator each time it is called."
        )


def slice_parts(raw: Parts, start: int, stop: int) -> Parts:
    """Return views of rows start, ..., stop - 1."""
    return blocks.map_parts(raw, lambda part: part[start:stop])


def _read_blocks(supply: Supply) -> Iterator[Parts]:
    """Yield the parts of each block that has rows."""
    for number, block in enumerate(supply() if callable(supply) else supply):
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            raise ValueError(
                f"block {number} is a {type(block).__name__}; each block must be a tuple (X, y) "
                "or (X, y, sample_weight), with None for missing targets."
            )
        X, y, sample_weight = (*block, None)[:3]
        raw = blocks.convert_parts(X, y, sample_weight, f"block {number}")
        if len(raw[0]):
            yield raw
