"""Reservoir sampling of rows from a stream."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from posterity.designs import blocks
from posterity.designs.blocks import Parts, RowBlock


def sample_rows(passing: Iterable[RowBlock], n: int, rng: np.random.Generator) -> RowBlock:
    """Draw a uniform sample of n rows, or return all if there are fewer.

    The first n rows fill the reservoir. Row t, counted from 0, then takes a place drawn from
    0, ..., t: it is kept if that place is one of the n, and turns out the row that was there.
    """
    kept: Parts | None = None
    n_seen = 0
    for block in passing:
        kept = kept or blocks.map_parts(block.parts, lambda part: np.empty((n, *part.shape[1:])))
        places = _draw_places(np.arange(n_seen, n_seen + len(block)), n, rng)
        chosen = places < n
        for space, part in zip(kept, block.parts, strict=True):
            if space is not None and part is not None:
                # If a place is drawn twice, the later row stays, as in sequential sampling.
                space[places[chosen]] = part[chosen]
        n_seen += len(block)
    if kept is None:
        raise ValueError("there are no rows to sample.")
    return RowBlock(*blocks.map_parts(kept, lambda part: part[: min(n, n_seen)]), first_row=0)


def _draw_places(t: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the place of each row t: t for the first n rows, then random in 0, ..., t."""
    late = t >= n
    places = t.copy()
    places[late] = rng.integers(0, t[late] + 1)
    return places
