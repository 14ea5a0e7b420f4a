"""A uniform sample of rows that pass by, without knowing how many will come."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Rows of a table, and of how many they were taken.

    Attributes
    ----------
    frame : polars.DataFrame
        The rows, in the order of the file.
    n_rows : int
        How many rows the file has.
    positions : ndarray of shape (n,), optional
        Where the rows stand in the file, from 0. None: one after the other.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> tables.Sample(pl.DataFrame({"x": [1, 2]}), n_rows=10).frame.height
    2
    """

    frame: pl.DataFrame
    n_rows: int
    positions: NDArray[np.int64] | None = None


def everything(batches: Iterable[pl.DataFrame]) -> Sample:
    """All rows."""
    frame = pl.concat(list(batches), how="vertical", rechunk=True)
    return Sample(frame, frame.height)


def reservoir(batches: Iterable[pl.DataFrame], size: int, rng: np.random.Generator) -> Sample:
    """At most ``size`` rows, any set of them as likely as any other.

    Every row draws a number and those with the smallest are kept, so that which rows are taken
    does not depend on how the batches are cut.
    """
    kept: list[pl.DataFrame] = []
    draws, places = np.empty(0), np.empty(0, dtype=np.int64)
    n_seen, limit = 0, np.inf
    for batch in batches:
        new = rng.random(batch.height)
        inside = np.flatnonzero(new < limit)
        kept.append(batch[inside])
        draws = np.concatenate([draws, new[inside]])
        places = np.concatenate([places, n_seen + inside])
        n_seen += batch.height
        if draws.size > 2 * size:
            kept, draws, places = _smallest(kept, draws, places, size)
            limit = draws.max(initial=0.0)
    kept, draws, places = _smallest(kept, draws, places, size)
    return Sample(kept[0].rechunk(), n_seen, places)


def _smallest(
    frames: list[pl.DataFrame], draws: Array, places: NDArray[np.int64], size: int
) -> tuple[list[pl.DataFrame], Array, NDArray[np.int64]]:
    """The rows with the smallest draws, in their order, as a single frame."""
    frame = pl.concat(frames, how="vertical")
    chosen = np.sort(np.argsort(draws, kind="stable")[:size])
    return [frame[chosen]], draws[chosen], places[chosen]
