"""The exposure of counts, as users give it in ``fit`` and for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import validation
from posterity.arrays import Array
from posterity.likelihoods import exposed_counts


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
    return exposed_counts.attach(y, given.reshape(-1, *(1,) * (y.ndim - 1)))


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
