"""Encode a model as model.json and arrays.

The document is a flat list of objects. Each is written once, after its parts, and refers to them by
number, so that the document is not nested and has no cycles.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from posterity import designs
from posterity.inference.weights import WeightProblem, WeightSpace
from posterity.persistence import fields, foreign, npy, registry, strict_json
from posterity.persistence.archive import Member
from posterity.persistence.errors import FileError

MAX_DEPTH = 900
"""Maximum nesting depth of objects: hashing is recursive."""
MAX_VALUES = 10_000_000
"""Maximum number of values of an object, counting shared ones repeatedly."""


class Extent(NamedTuple):
    """Nesting depth and number of values of an object."""

    depth: int = 0
    n_values: int = 1

    @classmethod
    def enclose(cls, parts: Iterable[Extent]) -> Extent:
        """Return the extent of an object made of parts; raise if it is too large.

        A chain of objects that each contain the previous one twice grows exponentially.
        """
        found = list(parts)
        depth = 1 + max((part.depth for part in found), default=0)
        n_values = 1 + sum(part.n_values for part in found)
        if depth > MAX_DEPTH:
            raise FileError(f"Objects are nested more than {MAX_DEPTH} levels deep.")
        if n_values > MAX_VALUES:
            raise FileError(f"An object contains more than {MAX_VALUES:,} values.")
        return cls(depth, n_values)


ATOM = Extent()


@dataclass(frozen=True)
class Document:
    """The content of model.json, and the array members."""

    objects: list[Any]
    root: Any
    arrays: list[Member]
    training_rows: int  # the most that are together in one place of the model


def encode(model: Any, known: registry.Registry, name: str = "The model") -> Document:
    """Encode a model with all its parts."""
    encoder = _Encoder(known)
    encoder.add(model, name)
    root = encoder.reference(model)
    return Document(encoder.objects, root, encoder.arrays, encoder.training_rows)


@dataclass
class _OpenObject:
    """An object whose parts are being written."""

    value: Any
    where: str
    parts: list[tuple[str, Any]]


@dataclass
class _Encoder:
    known: registry.Registry
    objects: list[Any] = field(default_factory=list)
    arrays: list[Member] = field(default_factory=list)
    training_rows: int = 0
    _written: dict[int, Any] = field(default_factory=dict)  # by identity, the reference to each
    _extents: dict[int, Extent] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # keeps objects alive, so that ids are unique
    _open: set[int] = field(default_factory=set)

    def add(self, model: Any, name: str) -> None:
        """Write a model after its parts, with a stack instead of recursion."""
        stack: list[_OpenObject | tuple[Any, str]] = [(model, name)]
        while stack:
            top = stack.pop()
            if isinstance(top, _OpenObject):
                self._close(top)
            elif not self._is_written(*top):
                opened = self._begin(*top)
                stack.append(opened)
                stack.extend(reversed(list(self._find_unwritten(opened))))

    def reference(self, value: Any) -> Any:
        """Return the reference to a value that was written."""
        return self._written[id(value)] if id(value) in self._written else self._encode_atom(value)

    def _is_written(self, value: Any, where: str) -> bool:
        """Return whether a value is written; atoms and arrays are written now."""
        if id(value) in self._written:
            return True
        if strict_json.is_atom(value):
            try:
                self._encode_atom(value)
            except ValueError as error:
                raise FileError(_format_refusal(where, str(error))) from None
            return True
        if type(value) in (np.ndarray, np.memmap) and value.dtype != np.object_:
            self._remember(value, {"array": len(self.arrays)}, ATOM)
            self.arrays.append(npy.make_member(f"arrays/{len(self.arrays)}.npy", value, where))
            return True
        return False

    def _begin(self, value: Any, where: str) -> _OpenObject:
        if id(value) in self._open:
            raise FileError(f"{where} contains itself, which a model file does not support.")
        self._open.add(id(value))
        return _OpenObject(value, where, list(self._list_parts(value, where)))

    def _close(self, opened: _OpenObject) -> None:
        """Write an object whose parts were written."""
        value = opened.value
        extent = Extent.enclose(self._extents.get(id(part), ATOM) for _, part in opened.parts)
        self.objects.append(self._make_entry(opened))
        self._remember(value, {"ref": len(self.objects) - 1}, extent)
        self._kept.append(opened.parts)
        self._open.discard(id(value))

    def _remember(self, value: Any, reference: Any, extent: Extent) -> None:
        self._written[id(value)], self._extents[id(value)] = reference, extent
        self._kept.append(value)

    def _find_unwritten(self, opened: _OpenObject) -> Iterator[tuple[Any, str]]:
        for label, part in opened.parts:
            if not self._is_written(part, opened.where + label):
                yield part, opened.where + label

    def _list_parts(self, value: Any, where: str) -> Iterator[tuple[str, Any]]:
        """Yield the parts of an object, each with its path for messages."""
        if type(value) in (list, tuple):
            yield from ((f"[{i}]", part) for i, part in enumerate(value))
        elif type(value) is dict:
            for key, part in value.items():
                yield f" (the key {key!r:.40})", key
                yield f"[{key!r:.40}]", part
        elif type(value) is np.ndarray:
            yield from ((f"[{i}]", part) for i, part in enumerate(value.reshape(-1)))
        elif foreign.is_random(value):
            yield ".state", foreign.read_state(value, where)
        elif foreign.find_kind(value):
            yield from ((f" (part {i})", part) for i, part in enumerate(foreign.take_apart(value)))
        else:
            name = self._find_class_name(value, where)
            parts = fields.read_fields(drop_rows(value))
            fields.check_fields(
                type(value), parts, types_too=not self.known.is_caller_defined(type(value))
            )
            self.training_rows = max(self.training_rows, _count_training_rows(name, parts))
            yield from ((f".{at}", part) for at, part in parts.items())

    def _make_entry(self, opened: _OpenObject) -> Any:
        """Return the document entry of an object."""
        value, parts = opened.value, [self.reference(part) for _, part in opened.parts]
        if type(value) in (list, tuple):
            return {type(value).__name__: parts}
        if type(value) is dict:
            return {"dict": [list(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]}
        if type(value) is np.ndarray:
            return {"objects": parts, "shape": list(value.shape)}
        if foreign.is_random(value):
            return {"random": type(value).__name__, "state": parts[0]}
        if kind := foreign.find_kind(value):
            return {"kind": kind, "parts": parts}
        names = [label.removeprefix(".") for label, _ in opened.parts]
        return {
            "class": self.known.find_name(type(value)),
            "fields": dict(zip(names, parts, strict=True)),
        }

    def _encode_atom(self, value: Any) -> Any:
        """Encode an atomic value; functions and classes that are registered by their name."""
        named = isinstance(value, type | types.FunctionType)
        name = self.known.find_name(value) if named else None
        return strict_json.encode_atom(value) if name is None else {"function": name}

    def _find_class_name(self, value: Any, where: str) -> str:
        """Return the registered name of an object's class; raise if it is unknown."""
        if array_api_compat.is_array_api_obj(value) and not isinstance(value, np.ndarray):
            raise FileError(
                f"{where} is an array of {type(value).__module__.split('.')[0]}, which a model "
                "file cannot contain: fit the model to NumPy arrays, without device=."
            )
        cls = type(value)
        if (name := self.known.find_name(cls)) is None:
            raise FileError(_format_refusal(where, f"a {cls.__module__}.{cls.__qualname__}"))
        return name


def _count_training_rows(name: str, parts: dict[str, Any]) -> int:
    """Return the number of training rows that an object contains.

    In a table, tuples are whole rows; other values are columns.
    """
    rows_of = registry.TRAINING_ROWS.get(name.rpartition(".")[2], "")
    held = [parts.get(field) for field in rows_of.split()]
    counts = (
        sum(isinstance(value, tuple) for value in rows) if type(rows) is tuple else len(rows)
        for rows in held
        if rows is not None
    )
    return max(counts, default=0)


def _format_refusal(where: str, what: str) -> str:
    return (
        f"{where} is {what}, which a model file cannot contain. If it is your class or function, "
        "pass it in classes= to save and load; otherwise use skops."
    )


def drop_rows(value: Any) -> Any:
    """Return a value without training rows."""
    change = _CHANGES.get(type(value))
    return value if change is None else change(value)


def _drop_problem_rows(problem: WeightProblem) -> WeightProblem:
    empty = designs.Dense(np.empty((0, problem.design.n_columns)))
    return replace(problem, design=empty, targets=problem.targets.without_rows())


def _drop_space_rows(space: WeightSpace) -> WeightSpace:
    columns = space.design.design.n_columns
    return replace(
        space, design=replace(space.design, design=designs.Dense(np.empty((0, columns))))
    )


_CHANGES: dict[type, Callable[[Any], Any]] = {
    WeightProblem: _drop_problem_rows,
    WeightSpace: _drop_space_rows,
}
