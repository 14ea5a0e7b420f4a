"""Constructors of estimators, whose parameters are declared as fields."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import field
from typing import Any, TypeVar, dataclass_transform

__all__ = ["declare_parameters", "field"]

Class = TypeVar("Class", bound=type)

_MARKS = ("__dataclass_fields__", "__dataclass_params__", "__replace__")


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def declare_parameters(cls: Class) -> Class:
    """Make the fields of an estimator, after those of its bases, the parameters of ``__init__``.

    They are declared as in a dataclass, and are passed by keyword unless ``field(kw_only=False)``
    says otherwise. Attributes that only a fit sets are declared by ``field(init=False)``.

    The class does not stay a dataclass: of one, Dask compares and rebuilds only the fields, so that
    two fits with equal parameters would share their results, and persistence would save no fit.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> @declare_parameters
    ... class Smoother(BaseEstimator):
    ...     width: float = field(default=1.0, kw_only=False)
    ...     max_iter: int = 100
    >>> @declare_parameters
    ... class RobustSmoother(Smoother):
    ...     max_iter: int = 200
    ...     scale: float | None = None
    >>> RobustSmoother(2.0, scale=0.5).get_params()
    {'max_iter': 200, 'scale': 0.5, 'width': 2.0}
    """
    made: Any = cls
    own = inspect.get_annotations(cls)
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("_parameter_fields", {})
    for name in inherited.keys() - own.keys():
        known = inherited[name]
        setattr(cls, name, field(default=known.default, kw_only=known.kw_only))
    made.__annotations__ = {name: known.type for name, known in inherited.items()} | own
    dataclasses.dataclass(eq=False, repr=False, kw_only=True, match_args=False)(cls)
    made._parameter_fields = {f.name: f for f in dataclasses.fields(made) if f.init}
    made.__annotations__ = own  # names in those of the bases may be unknown in this module
    for mark in _MARKS:
        if mark in vars(cls):
            delattr(cls, mark)
    return cls
