"""Counts that were observed over a known exposure, such as hours, people or square metres.

The latent value is then that of a rate, and the log of the exposure is added to it. An array of y
that has exposures is one of records, so that they go wherever their counts go, and an engine which
does arithmetic with y raises instead of ignoring them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array

_RECORD = np.dtype([("count", np.float64), ("log_exposure", np.float64)])


def attach(y: Array, exposure: Array) -> NDArray[Any]:
    """Counts with an exposure each.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> y = attach(np.array([3.0]), np.array([2.0]))
    >>> float(likelihoods.Poisson().d1(y, a=0.0)[0])
    1.0
    """
    exposed = np.empty(np.shape(y), dtype=_RECORD)
    exposed["count"], exposed["log_exposure"] = y, np.log(exposure)
    return exposed


def separate(y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
    """Counts as numbers, and latent values that have the log of the exposure of each added."""
    given, latents = np.asarray(y), np.asarray(a, dtype=np.float64)
    if given.dtype != _RECORD:
        return given.astype(np.float64, copy=False), latents
    return given["count"], latents + given["log_exposure"]


def exposures(y: Array) -> Array:
    """The exposure of each observation: one where none was given."""
    return np.exp(separate(y, np.zeros(np.shape(y)))[1])


def find_typical(y: Array, weights: Array) -> float:
    """Log of the mean exposure: zero where none was given."""
    return float(np.log(np.average(exposures(y), weights=weights)))


def as_columns(Y: NDArray[Any]) -> Array:
    """Rows (N, K) as columns of numbers, two where they are records of one output."""
    if Y.dtype != _RECORD:
        return Y
    return np.column_stack([Y["count"], Y["log_exposure"]])
