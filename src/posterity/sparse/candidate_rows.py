"""Rows that may become relevance vectors where not all may, and rows to learn their kernel from."""

from __future__ import annotations

import numbers
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from posterity import arrays, designs, kernels, validation
from posterity.arrays import Array
from posterity.models.training import Training
from posterity.row_groups import RowGroups
from posterity.sparse import MANY_ROWS

Places = NDArray[np.intp]

_HELD_BYTES = 2**29  # of a kernel matrix; a larger one is made anew at every pass
_DESIGN_VALUES = 1 << 22  # of a larger one that are in memory at a time


class RowSource(Protocol):
    """Rows, in memory or elsewhere, of which some can be had by their numbers."""

    @property
    def n_rows(self) -> int:
        """N, as they were given."""

    def take_rows(self, places: Places) -> Training:
        """Return these rows, in increasing order, without those of weight zero."""


@dataclass(frozen=True)
class GivenRows:
    """Rows in memory, as they were given."""

    rows: Any  # (N, D), or N objects
    Y: Array  # (N, K)
    weights: Array  # (N,)
    known_noise: Array | None = None  # (N,)

    @property
    def n_rows(self) -> int:
        """Number of rows as they were given."""
        return len(self.Y)

    def select_present(self) -> Training:
        """Return all rows whose weight is not zero."""
        return Training.from_present_rows(self.rows, self.Y, self.weights, self.known_noise)

    def take_rows(self, places: Places) -> Training:
        """Return these rows, without those of weight zero."""
        known = None if self.known_noise is None else self.known_noise[places]
        rows = kernels.rows.select_rows(self.rows, places)
        return Training.from_present_rows(rows, self.Y[places], self.weights[places], known)


@dataclass(frozen=True)
class PartitionRows:
    """Rows of Dask collections; those that are chosen come into memory."""

    partitions: designs.Partitions

    @property
    def n_rows(self) -> int:
        """N, by a pass where it is not known."""
        return self.partitions.n_rows

    def take_rows(self, places: Places) -> Training:
        """Return these rows, without those of weight zero."""
        block = self.partitions.take_rows(places)
        assert block.y is not None  # was asked for before
        Y = block.y.reshape(len(block), -1)
        return Training.from_present_rows(block.X, Y, block.make_weights(), None)


@dataclass(frozen=True)
class CandidatePool:
    """The candidates, and rows on which to learn the kernel that is to be about them."""

    centres: Any  # (M, D), or M objects
    numbers: Places  # (M,): of rows as they were given, or of candidates that were
    sample: Training | None  # None: nothing is to be learned

    @classmethod
    def draw(
        cls, candidates: Any, source: RowSource, rng: np.random.Generator, *, learns: bool
    ) -> CandidatePool:
        """Rows as given, or so many drawn at random, and a sample of rows where that is needed.

        Both come in one reading. The draws depend on the number of rows alone, so that they are
        the same wherever the rows are.
        """
        drawn = (
            _draw_numbers(source.n_rows, candidates, rng) if is_count(candidates) else _no_rows()
        )
        sampled = _draw_numbers(source.n_rows, MANY_ROWS, rng) if learns else _no_rows()
        places = np.union1d(drawn, sampled)
        found = source.take_rows(places) if len(places) else None
        sample = _find_positions(found, places, sampled) if learns else None
        if not is_count(candidates):
            return cls._drop_equal(
                candidates, np.arange(kernels.rows.count_rows(candidates)), sample
            )
        centres = _find_positions(found, places, drawn)
        return cls._drop_equal(centres.rows, drawn[centres.numbers], sample)

    @classmethod
    def _drop_equal(cls, centres: Any, numbers: Places, sample: Training | None) -> CandidatePool:
        """Keep the first of equal candidates; objects are never equal."""
        if not isinstance(centres, np.ndarray):
            return cls(centres, numbers, sample)
        kept = RowGroups.of_equal(centres).by_appearance().first
        return cls(centres[kept], numbers[kept], sample)


@dataclass(frozen=True)
class CentredColumns:
    """The columns of a kernel about the candidates: from rows to a matrix, on the host."""

    kernel: kernels.Kernel
    centres: Any
    device: str | None = None  # to which both are brought; None: where they are

    def __call__(self, rows: Any) -> Array:
        """Return the columns at rows, (n, M), and refuse numbers that are not finite."""
        if not kernels.rows.count_rows(self.centres):
            return np.empty((kernels.rows.count_rows(rows), 0))
        both = (rows, self.centres)
        placed = both if self.device is None else (arrays.to_device(x, self.device) for x in both)
        K = np.asarray(arrays.to_numpy(self.kernel(*placed)), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise ValueError(
                f"The kernel {self.kernel} is NaN or infinite for some rows and candidates; look "
                "for very large values in the rows, or at the kernel."
            )
        return K


def make_kernel_design(kernel: kernels.Kernel, centres: Any, rows: Any) -> designs.Design:
    """The columns about the centres: held where they fit, and made at every pass otherwise."""
    columns = CentredColumns(kernel, centres)
    M = kernels.rows.count_rows(centres)
    if not isinstance(rows, np.ndarray) or 8 * len(rows) * M <= _HELD_BYTES:
        return designs.Dense(columns(rows))
    chunks = designs.Chunks.from_arrays(rows, rows=max(1, _DESIGN_VALUES // M))
    return designs.Streamed(chunks.map(columns))


def is_count(candidates: Any) -> bool:
    """Whether candidates are told by how many to draw."""
    return isinstance(candidates, numbers.Integral) and not isinstance(candidates, bool)


def check_candidates(candidates: Any) -> None:
    """Refuse what is neither None, nor a number of rows, nor rows."""
    if is_count(candidates):
        validation.check_count(candidates, "candidates")
    elif candidates is not None and (not isinstance(candidates, Sized) or not len(candidates)):
        raise ValueError(
            f"candidates={candidates!r} must be None, a number of rows to draw, or the rows "
            "themselves, at least one."
        )


def _no_rows() -> Places:
    return np.empty(0, dtype=np.intp)


def _draw_numbers(n_rows: int, n: int, rng: np.random.Generator) -> Places:
    """Draw n rows, or all, in increasing order."""
    if n >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, n, replace=False))


def _find_positions(found: Training | None, places: Places, wanted: Places) -> Training:
    """Select the wanted rows among those found at places, and number them by their order."""
    assert found is not None
    own = places[found.numbers]
    kept = np.flatnonzero(np.isin(own, wanted))
    if not len(kept):
        raise ValueError(
            "All rows that were drawn have weight zero; raise candidates, or drop such rows."
        )
    known = found.known_noise
    return Training(
        kernels.rows.select_rows(found.rows, kept),
        found.Y[kept],
        found.weights[kept],
        None if known is None else known[kept],
        np.arange(len(kept)),
        np.searchsorted(wanted, own[kept]),
    )
