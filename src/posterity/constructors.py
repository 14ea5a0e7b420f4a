"""Constructors of estimators, whose parameters are declared as fields and described once."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
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

    Its docstring says each parameter and attribute that a base documents, too, so that entries
    stand once.

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
    _complete_docstring(cls)
    return cls


def _complete_docstring(cls: Any) -> None:
    """Add the parameters and attributes that bases describe to the docstring of an estimator.

    An entry of the class itself replaces theirs, in the same place; an entry that they do not have
    follows the one before it. Inherited entries of parameters that the constructor does not take
    are left out.
    """
    if cls.__doc__ is None:
        return
    cls._described = cls.__doc__  # without entries of bases
    summary, sections = _split_docstring(cls)
    shared: dict[str, str] = {}
    for title in ("Parameters", "Attributes"):
        own, entries = _list_entries(cls, title), list[str]()
        for base in reversed(cls.__mro__):
            _override_entries(entries, _list_entries(base, title))
        if title == "Parameters":
            taken = set(cls._parameter_fields)
            entries = [entry for entry in entries if entry in own or _find_names(entry) <= taken]
        if entries:
            shared[title] = "\n".join(entries)
    others = {title: body for title, body in sections.items() if title not in shared}
    whole = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in (shared | others).items()]
    cls.__doc__ = textwrap.indent("\n\n".join([summary, *whole]), "    ").lstrip() + "\n    "


def _split_docstring(cls: type) -> tuple[str, dict[str, str]]:
    """Return what stands before the sections of a docstring, and these by title."""
    text = inspect.cleandoc(vars(cls).get("_described", vars(cls).get("__doc__")) or "")
    summary, *parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    return summary.strip(), {t: b.strip() for t, b in zip(parts[::2], parts[1::2], strict=True)}


def _list_entries(cls: type, title: str) -> list[str]:
    """The entries of a section, which begin in the first column."""
    body = _split_docstring(cls)[1].get(title)
    return re.split(r"\n(?=\S)", body) if body else []


def _find_names(entry: str) -> set[str]:
    """The names that an entry describes."""
    return set(re.findall(r"\w+", entry.partition("\n")[0].partition(" :")[0]))


def _override_entries(entries: list[str], further: list[str]) -> None:
    """Put further entries in the places of those of the same names, or after the one before."""
    place = 0
    for entry in further:
        same = [i for i, old in enumerate(entries) if _find_names(old) & _find_names(entry)]
        place = same[0] if same else place
        entries[:] = [old for i, old in enumerate(entries) if i not in same]
        entries.insert(place, entry)
        place += 1
