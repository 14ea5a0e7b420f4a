"""Draw a uniform sample from a stream of rows of unknown length."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Sampled rows of a table.

    Attributes
    ----------
    frame : polars.DataFrame
        The rows, in file order.
    n_rows : int
        Number of rows of the file.
    positions : ndarray of shape (n,), optional
        Row numbers in the file, from 0; None if all rows were kept.

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


def keep_all_rows(batches: Iterable[pl.DataFrame]) -> Sample:
    """Return all rows as a sample."""
    frame = pl.concat(list(batches), how="vertical", rechunk=True)
    return Sample(frame, frame.height)


def sample_rows(batches: Iterable[pl.DataFrame], size: int, rng: np.random.Generator) -> Sample:
    """Draw a uniform sample of at most ``size`` rows.

    Each row gets a random number and those with the smallest are kept, so the sample does not
    depend on the batch size.
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
            kept, draws, places = _keep_smallest(kept, draws, places, size)
            limit = draws.max(initial=0.0)
    kept, draws, places = _keep_smallest(kept, draws, places, size)
    return Sample(kept[0].rechunk(), n_seen, places)


def _keep_smallest(
    frames: list[pl.DataFrame], draws: Array, places: NDArray[np.int64], size: int
) -> tuple[list[pl.DataFrame], Array, NDArray[np.int64]]:
    """Keep the rows with the smallest draws, in row order."""
    frame = pl.concat(frames, how="vertical")
    chosen = np.sort(np.argsort(draws, kind="stable")[:size])
    return [frame[chosen]], draws[chosen], places[chosen]
