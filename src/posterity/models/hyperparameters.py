"""The choice between averaging over learned hyperparameters and taking their best values."""

from __future__ import annotations

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
