"""Counts over an exposure each: records of both, as targets and in predictions.

The latent value is then that of a rate, and the log of the exposure is added to it. An array of y
that has exposures is one of records, so that they go wherever their counts go, and an engine which
does arithmetic with y raises instead of ignoring them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import validation
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


def attach_exposure(likelihood: Any, y: Array, exposure: ArrayLike | None) -> Array:
    """Targets as the likelihood sees them: with the exposure of each where it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> y = attach_exposure(likelihoods.Poisson(), np.array([4.0, 6.0]), [2.0, 3.0])
    >>> likelihoods.Poisson().d1(y, a=np.log(2.0)).round(12)
    array([0., 0.])
    """
    require_counts(likelihood, exposure)
    if exposure is None:
        return y
    given = validation.check_positive(exposure, "exposure", length=len(y))
    return attach(y, given.reshape(-1, *(1,) * (y.ndim - 1)))


def refuse_exposure(exposure: ArrayLike | None) -> None:
    """Refuse an exposure beside rows that bring their own targets and weights."""
    if exposure is not None:
        raise ValueError(
            "Chunks and Dask collections bring their own targets and weights: exposure by row is "
            "for rows in memory."
        )


def add_exposure(likelihood: Any, a: Array, exposure: ArrayLike | None) -> Array:
    """Latent values (n,) of rates, with the logs of the exposures of new rows added.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> add_exposure(likelihoods.Poisson(), np.zeros(2), [1.0, 2.0]).round(3)
    array([0.   , 0.693])
    """
    require_counts(likelihood, exposure)
    if exposure is None:
        return a
    given = validation.check_positive(exposure, "exposure", length=len(a))
    return a + np.log(given).reshape(-1, *(1,) * (a.ndim - 1))


def require_counts(likelihood: Any, exposure: ArrayLike | None) -> None:
    """Refuse an exposure where the likelihood, None for normal noise, is not one of counts."""
    if exposure is not None and not getattr(likelihood, "takes_exposure", False):
        name = "normal noise" if likelihood is None else type(likelihood).__name__
        raise ValueError(
            f"exposure is for counts, and the likelihood is {name}: give the model "
            "likelihood=Poisson() or NegativeBinomial() of posterity.likelihoods, or omit it."
        )
