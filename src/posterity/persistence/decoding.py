"""Build a model from model.json and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.persistence import fields, foreign, strict_json
from posterity.persistence.encoding import ATOM, Extent
from posterity.persistence.errors import FileError
from posterity.persistence.registry import Registry

_MAX_AXES = 32
_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)


def check_names(document: Any, registry: Registry) -> None:
    """Raise FileError unless the document is valid and all its classes are known."""
    if not isinstance(document, dict) or set(document) != {"objects", "root"}:
        raise FileError("model.json does not describe a model.")
    if not isinstance(document["objects"], list):
        raise FileError("model.json does not list its objects.")
    for entry in document["objects"]:
        if not isinstance(entry, dict):
            raise FileError(f"model.json lists {entry!r:.40}, which does not describe an object.")
    for name in reversed(list_class_names(document)):  # holders stand after their parts
        registry.find_class(name)


def list_class_names(document: Any) -> list[Any]:
    """Return the class name of each object of a document."""
    return [entry["class"] for entry in document["objects"] if "class" in entry]


def decode(
    document: Any, array: Callable[[int], NDArray[Any]], n_arrays: int, registry: Registry
) -> Any:
    """Build the model of a checked document; each array is read once."""
    decoder = _Decoder(array, n_arrays, registry)
    for entry in document["objects"]:
        decoder.add(entry)
    root = decoder.value(document["root"])
    if len(decoder.arrays) < n_arrays:
        raise FileError("The file contains arrays that are not part of the model.")
    for built in decoder.objects:
        _check_consistency(built)
    return root


def _check_consistency(built: Any) -> None:
    """Check the consistency of an object that supports it."""
    if isinstance(built, validation.Checked):
        try:
            built.check_consistency()
        except _WRONG as error:
            name = type(built).__qualname__
            raise FileError(f"The file contains an invalid {name}: {error}") from error


@dataclass
class _Decoder:
    read: Callable[[int], NDArray[Any]]
    n_arrays: int
    registry: Registry
    objects: list[Any] = field(default_factory=list)
    arrays: dict[int, NDArray[Any]] = field(default_factory=dict)
    _extents: list[Extent] = field(default_factory=list)
    _parts: list[Extent] = field(default_factory=list)  # of the object that is being made

    def add(self, entry: dict[str, Any]) -> None:
        """Build the next object from earlier ones."""
        self._parts.clear()
        make = _MAKERS.get(frozenset(entry))
        if make is None:
            raise FileError(f"model.json describes an unknown kind of object: {entry!r:.80}.")
        self.objects.append(make(self, **{f"{key}_": part for key, part in entry.items()}))
        self._extents.append(Extent.enclose(self._parts))

    def value(self, said: Any) -> Any:
        """Decode a value of the document."""
        if isinstance(said, dict) and len(said) == 1:
            ((kind, content),) = said.items()
            if kind == "ref":
                return self._earlier(content)
            if kind == "array":
                return self._array(content)
            if kind == "function":
                return self.registry.find_class(content)
        self._parts.append(ATOM)
        return strict_json.decode_atom(said)

    def values(self, said: Any) -> list[Any]:
        """Decode a list of the document."""
        if not isinstance(said, list):
            raise FileError(f"model.json has {said!r:.40} instead of a list.")
        return [self.value(part) for part in said]

    def _earlier(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise FileError(f"model.json refers to a missing object: {number!r:.40}.")
        self._parts.append(self._extents[number])
        return self.objects[number]

    def _array(self, number: Any) -> NDArray[Any]:
        if type(number) is not int or not 0 <= number < self.n_arrays:
            raise FileError(f"model.json refers to a missing array: {number!r:.40}.")
        if number not in self.arrays:
            self.arrays[number] = self.read(number)
        return self.arrays[number]

    def _list(self, list_: Any) -> list[Any]:
        return self.values(list_)

    def _tuple(self, tuple_: Any) -> tuple[Any, ...]:
        return tuple(self.values(tuple_))

    def _dict(self, dict_: Any) -> dict[Any, Any]:
        if not isinstance(dict_, list):
            raise FileError("model.json has an invalid dictionary.")
        pairs = [self.values(pair) for pair in dict_]
        Extent.enclose(self._parts)  # before keys are hashed, down to the last of their parts
        try:
            made = {key: part for key, part in pairs}
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError("model.json has a dictionary with invalid keys.") from error
        if len(made) < len(pairs):
            raise FileError("model.json has a dictionary with the same key twice.")
        return made

    def _objects(self, objects_: Any, shape_: Any) -> NDArray[np.object_]:
        parts = self.values(objects_)
        made = np.empty(len(parts), dtype=np.object_)
        for i, part in enumerate(parts):  # all at once, lists of equal length become more axes
            made[i] = part
        plain = isinstance(shape_, list) and all(type(n) is int and n >= 0 for n in shape_)
        if not plain or len(shape_) > _MAX_AXES or math.prod(shape_) != len(parts):
            raise FileError("model.json has an array whose size does not match its shape.")
        return made.reshape(shape_)

    def _random(self, random_: Any, state_: Any) -> foreign.Random:
        return foreign.restore_generator(random_, self.value(state_))

    def _foreign(self, kind_: Any, parts_: Any) -> Any:
        return foreign.make_object(kind_, self.values(parts_))

    def _instance(self, class_: Any, fields_: Any) -> Any:
        cls = self.registry.find_class(class_)
        if not isinstance(cls, type) or not isinstance(fields_, dict):
            raise FileError(f"model.json describes an invalid object of class {class_!r:.80}.")
        said = {name: self.value(part) for name, part in fields_.items()}
        parts = fields.complete_fields(cls, said)
        fields.check_fields(cls, parts, types_too=not self.registry.is_caller_defined(cls))
        built = fields.build_object(cls, parts)
        foreign.restore_derived_state(built, parts)
        return built


_MAKERS: dict[frozenset[str], Callable[..., Any]] = {
    frozenset({"list"}): _Decoder._list,
    frozenset({"tuple"}): _Decoder._tuple,
    frozenset({"dict"}): _Decoder._dict,
    frozenset({"objects", "shape"}): _Decoder._objects,
    frozenset({"random", "state"}): _Decoder._random,
    frozenset({"kind", "parts"}): _Decoder._foreign,
    frozenset({"class", "fields"}): _Decoder._instance,
}
