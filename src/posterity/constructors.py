"""Constructors of estimators, whose parameters are declared as fields."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import field
from typing import Any, TypeVar, dataclass_transform

__all__ = ["declare_parameters", "field"]

Class = TypeVar("Class", bound=type)

_ENTRIES = re.compile(r"^(?=\S)", re.M)
_TITLE = r"^\S[^\n]*\n---"
_MARKS = ("__dataclass_fields__", "__dataclass_params__", "__replace__")


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def declare_parameters(cls: Class) -> Class:
    """Make the fields of an estimator, after those of its bases, the parameters of ``__init__``.

    They are declared as in a dataclass, and are passed by keyword unless ``field(kw_only=False)``
    says otherwise. Attributes that only a fit sets are declared by ``field(init=False)``.

    Its docstring says each parameter and attribute that a base documents, too, so that entries
    stand once: own ones replace those of bases.

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
    if cls.__doc__:
        _complete_docstring(cls)
    return cls


def _complete_docstring(cls: Any) -> None:
    """Document what the bases do: their parameters and attributes after the own ones."""
    text, cls._documented = inspect.cleandoc(cls.__doc__), {}
    for title in ("Parameters", "Attributes"):
        section = re.search(rf"^{title}\n-+\n([\s\S]*?)(?={_TITLE}|\Z)", text, re.M)
        entries = _split_entries(section[1]) if section else {}
        for base in cls.__mro__[1:]:
            known = vars(base).get("_documented", {}).get(title, {})
            entries |= {name: known[name] for name in known if name not in entries}
        cls._documented[title] = entries
        if entries:
            place = section or re.search(rf"^(?!Parameters\n){_TITLE[1:]}|\Z", text, re.M)
            assert place is not None  # the end of the text is one
            before, after = text[: place.start()], text[place.end() if section else place.start() :]
            whole = "\n".join([title, "-" * len(title), *dict.fromkeys(entries.values())])
            text = f"{before.rstrip()}\n\n{whole}\n\n{after}"
    cls.__doc__ = text.rstrip() + "\n"


def _split_entries(section: str) -> dict[str, str]:
    """Return the entries of a section of numpydoc, by each name that their first lines have."""
    entries = [entry.rstrip() for entry in _ENTRIES.split(section) if entry.strip()]
    return {name: entry for entry in entries for name in entry.partition(" : ")[0].split(", ")}
