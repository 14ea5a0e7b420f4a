"""Rows that a task makes when it needs them: the same at every pass, and never all at once.

A block has a seed of its own, its number. An entry is one of 65,536 levels between -1 and 1, four
of them from each draw of 64 bits: rows must cost less to make than to work on, or a benchmark would
measure little else. Entries are independent, unless columns share directions.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from benchmarks.cases import Array

LEVEL = 2.0**-15
OFFSET, NOISE_VARIANCE, STRENGTH = -0.5, 0.25, 2.0
_ROWS, _TARGETS, _TRUTH = range(3)  # streams of random numbers


@dataclass(frozen=True)
class Source:
    """So many rows of so many columns, in blocks, with targets of a model whose weights are known.

    Parameters
    ----------
    rows, columns, block_rows : int
        The last block may be shorter.
    directions : int
        Of these, of falling variances, every column has a share beside entries of its own.
    dtype : str
        Of the entries.
    """

    rows: int
    columns: int
    block_rows: int
    directions: int = 0
    dtype: str = "float32"

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each block."""
        starts = range(0, self.rows, self.block_rows)
        return tuple(min(self.block_rows, self.rows - start) for start in starts)

    @cached_property
    def weights(self) -> Array:
        """Those that targets are made with, exact in single precision; the offset is ``OFFSET``."""
        scale = STRENGTH * np.sqrt(3.0 / self.columns)  # the variance of an entry is a third
        drawn = scale * np.random.default_rng([_TRUTH]).standard_normal(self.columns)
        return drawn.astype(np.float32).astype(np.float64)

    @cached_property
    def axes(self) -> Array:
        """The directions that columns share, one a row."""
        rng = np.random.default_rng([_TRUTH, self.directions])
        axes = rng.standard_normal((self.directions, self.columns))
        return np.geomspace(3.0, 1.0, self.directions)[:, None] * axes

    def block(self, number: int) -> Array:
        """The rows of one block."""
        n, width = self.lengths[number], self.columns + self.directions
        entries = _levels(np.random.SFC64([_ROWS, number]), n * width).reshape(n, width)
        X = entries[:, : self.columns] * np.dtype(self.dtype).type(LEVEL)
        if self.directions:
            X += (entries[:, self.columns :] * LEVEL) @ self.axes
        return X

    def numbers(self, X: Array, number: int) -> Array:
        """Targets of a linear model with normal noise."""
        rng = self._noise(number)
        noise = np.sqrt(NOISE_VARIANCE) * rng.standard_normal(len(X))
        return self._latent(X) + noise

    def classes(self, X: Array, number: int) -> Array:
        """Zeros and ones of a logistic model."""
        p = special.expit(self._latent(X))
        return np.asarray(self._noise(number).random(len(X)) < p, dtype=np.float64)

    def collections(self, kind: str) -> tuple[Any, Any]:
        """Dask arrays of the rows and of their targets, ``"numbers"`` or ``"classes"``."""
        import dask.array as da

        chunks = (self.lengths, (self.columns,))
        like = np.empty((0, 0), dtype=self.dtype)
        X = da.map_blocks(_Rows(self), chunks=chunks, dtype=self.dtype, meta=like)
        y = da.map_blocks(
            _Targets(self, kind), X, drop_axis=1, chunks=chunks[:1], dtype=float, meta=np.empty(0)
        )
        return X, y

    def in_memory(self, kind: str) -> tuple[Array, Array]:
        """All of them here."""
        blocks = [self.block(number) for number in range(len(self.lengths))]
        make = getattr(self, kind)
        return np.concatenate(blocks), np.concatenate([make(X, k) for k, X in enumerate(blocks)])

    def of_rows(self, rows: int, block_rows: int | None = None) -> "Source":
        """The same model, of another number of rows."""
        return replace(self, rows=rows, block_rows=block_rows or self.block_rows)

    def _latent(self, X: Array) -> Array:
        return np.asarray(X @ self.weights.astype(X.dtype) + OFFSET, dtype=np.float64)

    def _noise(self, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64([_TARGETS, number]))


@dataclass(frozen=True)
class _Rows:
    """What a task does for a block of rows."""

    source: Source

    def __call__(self, block_id: tuple[int, int] = (0, 0)) -> Array:
        return self.source.block(block_id[0])


@dataclass(frozen=True)
class _Targets:
    """What a task does for the targets of a block."""

    source: Source
    kind: str

    def __call__(self, X: Array, block_id: tuple[int] = (0,)) -> Array:
        return np.asarray(getattr(self.source, self.kind)(X, block_id[0]))


def _levels(bits: np.random.SFC64, n: int) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Whole numbers of 16 bits, all equally likely."""
    drawn: np.ndarray[Any, np.dtype[np.uint64]] = bits.random_raw(-(-n // 4))
    return drawn.view(np.int16)[:n]
