"""Read and check the fields of objects."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import numbers
import types
import typing
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from posterity.persistence.errors import FileError

_MAX_NAME = 100


def read_fields(value: Any) -> dict[str, Any]:
    """Return the fields of an object by name, without cached values."""
    cls: Any = type(value)
    if dataclasses.is_dataclass(value):
        return {name: getattr(value, name) for name in _list_declared_fields(cls) or ()}
    if is_named_tuple(cls):
        return dict(zip(cls._fields, value, strict=True))
    state = value.__getstate__() or {}
    if not isinstance(state, dict):
        raise FileError(f"{cls.__qualname__} has slots, which model files do not support.")
    caches = _find_cached_properties(cls) | {"_sklearn_version"}
    return {name: part for name, part in state.items() if name not in caches}


def build_object(cls: type, parts: dict[str, Any]) -> Any:
    """Build an object with these fields, without running code of its class."""
    if is_named_tuple(cls):
        return tuple.__new__(cls, parts.values())
    try:
        value: Any = object.__new__(cls)
        for name, part in parts.items():
            object.__setattr__(value, name, part)
    except (TypeError, AttributeError) as error:
        raise FileError(f"A {cls.__qualname__} cannot be built from a file: {error}") from error
    return value


def complete_fields(cls: type, parts: dict[str, Any]) -> dict[str, Any]:
    """Return these fields in their order, with the defaults of those that the file does not have.

    A file that is older than a field of its class has no value for it.
    """
    given = parts | {n: value for n, value in _get_defaults(cls).items() if n not in parts}
    declared = _list_declared_fields(cls) or ()
    return {name: given[name] for name in dict.fromkeys([*declared, *given]) if name in given}


def check_fields(cls: type, parts: dict[str, Any], *, types_too: bool) -> None:
    """Raise FileError unless these are valid fields of the class."""
    if (declared := _list_declared_fields(cls)) is not None:
        if tuple(parts) != declared:
            different = sorted(set(parts) ^ set(declared)) or list(parts)
            raise FileError(
                f"{cls.__qualname__} has the fields {', '.join(declared)}, but the file differs "
                f"in: {', '.join(different)[:200]}. It may be from another version of posterity."
            )
    else:
        _check_attributes(cls, parts)
    if types_too:
        for name, hint in _resolve_annotations(cls).items():
            if name in parts and not matches_annotation(parts[name], hint):
                raise FileError(
                    f"{cls.__qualname__}.{name} cannot be a {type(parts[name]).__name__}."
                )


def has_fields(cls: type) -> bool:
    """Return whether objects of a class are described by their fields or parameters."""
    return _list_declared_fields(cls) is not None or issubclass(cls, BaseEstimator)


def is_named_tuple(cls: type) -> bool:
    """Return whether a class is a named tuple."""
    return issubclass(cls, tuple) and isinstance(vars(cls).get("_fields"), tuple)


def matches_annotation(value: Any, hint: Any) -> bool:
    """Return whether a value matches an annotation; True if in doubt.

    Examples
    --------
    >>> matches_annotation(2, float), matches_annotation("2", float)
    (True, False)
    >>> matches_annotation(None, float | None), matches_annotation((1, "a"), tuple[int, ...])
    (True, False)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(matches_annotation(value, choice) for choice in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _entries_match(value, arguments)
    if origin is collections.abc.Callable:
        return callable(value)
    kind = origin if origin is not None else hint
    return _is_instance(value, kind) if isinstance(kind, type) and kind is not Any else True


def _is_instance(value: Any, kind: type) -> bool:
    """Return whether a value has a type; NumPy numbers count as Python numbers."""
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int or kind is float:
        abstract = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, abstract) and not isinstance(value, bool)
    if getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _entries_match(value: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(matches_annotation(entry, hints[0]) for entry in value)
    pairs = zip(value, hints, strict=False)
    return len(value) == len(hints) and all(
        matches_annotation(entry, hint) for entry, hint in pairs
    )


@functools.cache
def _list_declared_fields(cls: type) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(cls):
        kept = (field for field in dataclasses.fields(cls) if not field.metadata.get("transient"))
        return tuple(field.name for field in kept)
    return vars(cls)["_fields"] if is_named_tuple(cls) else None


def _get_defaults(cls: type) -> dict[str, Any]:
    """Return the fields or parameters that have a default, with its value."""
    if dataclasses.is_dataclass(cls):
        kept = [f for f in dataclasses.fields(cls) if f.name in (_list_declared_fields(cls) or ())]
        made = {f.name: f.default_factory() for f in kept if callable(f.default_factory)}
        return made | {f.name: f.default for f in kept if f.default is not dataclasses.MISSING}
    if is_named_tuple(cls):
        return dict(vars(cls)["_field_defaults"])
    given = inspect.signature(cls).parameters if issubclass(cls, BaseEstimator) else {}
    return {name: p.default for name, p in given.items() if p.default is not p.empty}


@functools.cache
def _resolve_annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of the declared fields."""
    hints = typing.get_type_hints(cls)
    unset = _find_optional_fields(cls)
    found = {name: hints.get(name, Any) for name in _list_declared_fields(cls) or ()}
    return {name: hint | None if name in unset else hint for name, hint in found.items()}


def _find_optional_fields(cls: type) -> set[str]:
    """Return fields that may be None although their annotation does not say so."""
    declared = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {f.name for f in declared if f.default is None or f.metadata.get("positive")}


@functools.cache
def _find_cached_properties(cls: type) -> frozenset[str]:
    members = inspect.getmembers_static(cls)
    return frozenset(name for name, m in members if isinstance(m, functools.cached_property))


def _check_attributes(cls: type, parts: dict[str, Any]) -> None:
    """Check attribute names, and that no parameter of an estimator is missing."""
    for name in parts:
        plain = name.isidentifier() and not name.startswith("__") and len(name) <= _MAX_NAME
        there = inspect.getattr_static(cls, name, None) if plain else None
        hides = (
            callable(there)
            or inspect.isdatadescriptor(there)
            or name in _find_cached_properties(cls)
        )
        if not plain or hides:
            raise FileError(f"{cls.__qualname__} cannot have an attribute {name!r:.60}.")
    if issubclass(cls, BaseEstimator):
        missing = [name for name in inspect.signature(cls).parameters if name not in parts]
        if missing:
            raise FileError(
                f"{cls.__qualname__} needs {', '.join(missing)}, which the file does not contain."
            )
