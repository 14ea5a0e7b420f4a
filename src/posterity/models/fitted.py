"""What a fit leaves: one record, assigned whole, whose fields the model shows as attributes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from posterity import distributions
from posterity.arrays import Array

RECORD = "_fitted"


class FittedAttribute:
    """A public attribute that reads a field of the record of the last fit.

    ``kernel_ = FittedAttribute()`` shows the field ``kernel`` of the record in ``_fitted``, and
    ``FittedAttribute("search.n_iter")`` a field of a part of it. Before a fit, and where the record
    has no such field or None there, the model has no such attribute. A fit assigns a new record, so
    that nothing of an earlier one is left.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Model:
    ...     slope_ = FittedAttribute()
    >>> model = Model()
    >>> hasattr(model, "slope_")
    False
    >>> model._fitted = SimpleNamespace(slope=2.0)
    >>> model.slope_
    2.0
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._get = operator.attrgetter(self._path or name.removesuffix("_"))

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        try:
            value = self._get(vars(model)[RECORD])
        except (KeyError, AttributeError):
            value = None
        if value is None:
            raise AttributeError(
                f"This {type(model).__name__} has no {self._name}: it is not fitted, or its fit "
                "has no such value."
            )
        return value

    def __set__(self, model: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} is a result of fit and cannot be set.")


def is_fitted(model: Any) -> bool:
    """Whether a fit has left its record."""
    return RECORD in vars(model)


def find_center(dist: distributions.Univariate) -> Array:
    """The means of a distribution; the medians where it has none, as a Student-t of one degree."""
    mean = dist.mean()
    return np.where(np.isnan(mean), dist.median(), mean) if np.isnan(mean).any() else mean
