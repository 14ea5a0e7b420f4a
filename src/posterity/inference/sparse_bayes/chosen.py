"""Which columns a sparse model uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

COST = 2.5
"""Nats that a vector has to earn where another kernel, or another start, would do without it."""


@dataclass(frozen=True)
class Chosen:
    """The m columns in use, how they are standardised, and the precisions of their weights."""

    places: NDArray[np.intp]  # (m,) among all candidates
    precision: Array  # (m,), in units of the noise, of standardised columns
    center: Array  # (m,)
    scale: Array  # (m,)
    value: float  # log evidence and prior of the precisions
    n_iter: int
    stop_reason: str
    converged: bool

    @property
    def raw_scale(self) -> Array:
        """What a centred column is divided by for its weight to have unit precision."""
        return self.scale * np.sqrt(self.precision)
