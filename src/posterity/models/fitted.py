"""What a fit leaves behind: one record, assigned whole, whose fields a model shows as its own."""

from __future__ import annotations

from typing import Any

RECORD = "_fitted"


class FittedAttribute:
    """A public attribute that reads a field of the record of the last fit.

    ``kernel_ = FittedAttribute()`` shows the field ``kernel`` of the record in ``_fitted``. Before
    a fit, and where a record of this kind has no such field, the model has no such attribute. A fit
    assigns a new record, so that nothing of an earlier one is left.

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

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        try:
            return getattr(vars(model)[RECORD], self._name.removesuffix("_"))
        except (KeyError, AttributeError):
            raise AttributeError(
                f"This {type(model).__name__} has no {self._name}: it is not fitted, or its fit "
                "has no such value."
            ) from None

    def __set__(self, model: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} is a result of fit and cannot be set.")


def is_fitted(model: Any) -> bool:
    """Whether a fit has left its record."""
    return RECORD in vars(model)
