"""The choice between averaging over learned hyperparameters and taking their best values."""

from __future__ import annotations

from typing import Any

HYPERPARAMETERS = ("average", "maximise")


def check_hyperparameters(hyperparameters: str) -> bool:
    """Return whether predictions average over hyperparameters; refuse an unknown choice.

    Examples
    --------
    >>> check_hyperparameters("average"), check_hyperparameters("maximise")
    (True, False)
    """
    if hyperparameters not in HYPERPARAMETERS:
        raise ValueError(f"hyperparameters={hyperparameters!r} must be 'average' or 'maximise'.")
    return hyperparameters == "average"


def can_average(likelihood: Any) -> bool:
    """Return whether predictions under a likelihood can be averaged over hyperparameters.

    Counts are left out: predictions of a log rate that is normal cannot be joined, and a normal
    with the moments of several makes rates too large. So are ratings.
    """
    return bool(likelihood.joins_predictions)
