"""What each estimator is made of, and when to use it, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelCard:
    """The four choices that make an estimator, and advice on when to use it.

    Every public estimator has one as its class attribute ``card``. The table of models in the
    documentation, ``posterity models`` and the comparison are written from it.

    Attributes
    ----------
    likelihood, prior, feature_space, inference : str
        The four choices, in words.
    advice : str
        When to use it.
    page : str
        The page of the documentation that describes it.
    """

    likelihood: str
    prior: str
    feature_space: str
    inference: str
    advice: str
    page: str
