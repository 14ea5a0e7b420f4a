"""The classes and functions that may be built from a file.

They follow from the code. A public class, which is in the ``__all__`` of a room, has its name and
that of the room: "kernels.RBF"; an estimator of the front door has its name alone. Any other class
is a record, and has its name alone too: it may be in a file if a field or an attribute of a class
that holds it is annotated with it. No name of a file is looked up in any other way, so files name
no modules. Classes of scikit-learn are listed in ``around``.
"""

from __future__ import annotations

import functools
import importlib.util
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import sklearn

from posterity import estimators
from posterity.persistence import fields, foreign
from posterity.persistence.errors import FileError

_HOME = {name: room for room, names in estimators.BY_ROOM.items() for name in names}
_FAMILIES = frozenset(estimators.BY_ROOM) - {"trees"}  # what they offer besides are records
_SKLEARN = frozenset(
    f"{module}.{name}"
    for table in (foreign.CLASSES, foreign.INNER, foreign.FUNCTIONS)
    for module, names in table.items()
    for name in names.split()
)
TRAINING_ROWS = {  # attributes that contain training rows
    "CountTable": "values",
    "FittedClusters": "X_train",
    "FittedKernelPCA": "X_train",
    "KernelColumns": "X_train_",
    "KernelLogisticRegression": "X_train_",
    "KernelRidgeRegression": "X_train_",
    "LatentFit": "X_train",
    "MapFit": "Y",
    "NormalFit": "X_train",
    "RowsSeen": "_Y",
    "VariationalFit": "Y",
    "VectorFit": "X_train relevance_vectors",
    **foreign.TRAINING_ROWS,
}


class Registry:
    """Map between file names and classes, of the library and of the caller.

    A class whose name was asked for admits the records that its annotations mention, so that
    classes are asked for before those of their parts.
    """

    def __init__(self, classes: Sequence[Any] = ()) -> None:
        self._own: dict[str, Any] = {}
        self._records: dict[str, type] = {}
        for thing in classes:
            if not isinstance(thing, type | types.FunctionType):
                raise TypeError(f"classes= must contain classes and functions, not {thing!r:.80}.")
            if (name := f"own.{thing.__qualname__}") in self._own:
                raise ValueError(f"classes= contains two things named {thing.__qualname__}.")
            self._own[name] = thing

    def find_name(self, thing: Any) -> str | None:
        """Return the file name of a class or function; None if it is unknown."""
        modules, short = thing.__module__.split("."), thing.__qualname__
        names = [f"own.{short}", short]
        if modules[0] == "posterity":
            names.append(_name_in_room(thing))
        elif modules[0] == "sklearn":
            names += [".".join([*modules[:n], short]) for n in range(len(modules), 0, -1)]
        return next((name for name in names if self._look_up(name) is thing), None)

    def find_class(self, name: Any) -> Any:
        """Return the class or function of a file name, importing it if needed."""
        found = self._look_up(name) if isinstance(name, str) else None
        if found is None:
            raise FileError(
                f"The file contains {name!r:.80}, which this version of posterity does not have. "
                "If it is your class or function, pass it to load in classes=; otherwise "
                "upgrade posterity."
            )
        return found

    def is_caller_defined(self, thing: Any) -> bool:
        """Return whether a class or function was passed by the caller."""
        return any(thing is own for own in self._own.values())

    def _look_up(self, name: str) -> Any:
        """Return what has this file name, and admit the records that it may hold."""
        if name in _SKLEARN:
            return _find_in_sklearn(name)
        found = self._own.get(name) or self._records.get(name) or _find_public(name)
        if isinstance(found, type):
            self._records.update(_list_records(found))
        return found


@functools.lru_cache(maxsize=1024)  # names of files, which need not be few
def _find_public(name: str) -> type | None:
    """Return the public class with this name; None if there is none whose objects have fields."""
    room, _, short = name.rpartition(".")
    room = room or _HOME.get(short, "")
    if room in _FAMILIES and short not in _HOME:
        return None
    if not room.isalpha() or importlib.util.find_spec(f"posterity.{room}") is None:
        return None
    module = importlib.import_module(f"posterity.{room}")
    found = getattr(module, short) if short in getattr(module, "__all__", ()) else None
    return found if isinstance(found, type) and fields.has_fields(found) else None


@functools.cache
def _list_records(cls: type) -> dict[str, type]:
    """Return by name the classes that annotations of a class mention and that are not public."""
    bases = (base for base in cls.__mro__ if base.__module__.startswith("posterity."))
    hints = (hint for base in bases for hint in typing.get_type_hints(base).values())
    classes = {found for hint in hints for found in _list_classes(hint)}
    return {c.__qualname__: c for c in classes if _find_public(_name_in_room(c)) is not c}


def _name_in_room(thing: Any) -> str:
    return f"{thing.__module__.split('.')[1]}.{thing.__qualname__}"


def _list_classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("posterity."):
        yield hint
    for argument in typing.get_args(hint):
        yield from _list_classes(argument)


def _find_in_sklearn(name: str) -> Any:
    """Import a name of scikit-learn; raise FileError if this version lacks it."""
    module, _, short = name.rpartition(".")
    try:
        if enabler := foreign.ENABLED_BY.get(name):
            importlib.import_module(enabler)
        return getattr(importlib.import_module(module), short)
    except (ImportError, AttributeError) as error:
        raise FileError(
            f"The file contains {name}, which scikit-learn {sklearn.__version__} does not "
            "have: install the version that wrote the file (posterity inspect names it)."
        ) from error
