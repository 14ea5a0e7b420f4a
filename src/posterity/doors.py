"""Doors of packages, behind which modules are imported when a name of theirs is asked for.

The stub of a package, ``__init__.pyi``, says where its names come from, once for type checkers and
for the door.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def open_door(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package with a stub.

    A module of the package must not have the name of something that the package exports. What the
    stub imports from the package itself is a subpackage.

    Examples
    --------
    >>> from posterity import doors
    >>> names, find, _ = doors.open_door("posterity.linear")
    >>> names[0], find("RidgeRegression").__module__
    ('BayesianLinearRegression', 'posterity.linear.regressors')
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    homes = {
        alias.name: f"{package}.{alias.name}" if node.module == package else str(node.module)
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"{package} has no {name!r}.", name=name)
        value: Any = import_module(homes[name])
        if homes[name] != f"{package}.{name}":
            value = getattr(value, name)
        setattr(sys.modules[package], name, value)  # asked once
        return value

    return sorted(homes), find, lambda: sorted({*vars(sys.modules[package]), *homes})
