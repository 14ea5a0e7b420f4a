"""How many stages: as many as predict those rows best that took no part in the fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array


def held_out(groups: Array, fraction: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows take no part: that fraction of each group, at random, at least one, never all.

    Examples
    --------
    >>> groups = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    >>> held = held_out(groups, 0.5, np.random.default_rng(0))
    >>> int(held.sum()), bool(held[4])
    (2, False)
    """
    held = np.zeros(len(groups), dtype=bool)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        n = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        held[rng.permutation(rows)[:n]] = True
    if not held.any():
        raise ValueError(
            f"validation_fraction={fraction:g} holds out part of the rows, but none of the "
            f"{len(groups)} different ones can be spared: set validation_fraction=None."
        )
    return held
