"""Objects in files of an earlier layout: how their parts then become their parts now.

A class that changes the fields it keeps adds a function to ``UPGRADES`` under the name by which
files know it. The function takes the parts by name as any earlier file has them and returns those
of today, unchanged where they are so already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from posterity.persistence.errors import FileError

Parts: TypeAlias = dict[str, Any]

UPGRADES: dict[str, Callable[[Parts], Parts]] = {}


def upgrade(name: str, parts: Parts) -> Parts:
    """The parts of an object of the class of this name, as this version has them."""
    change = UPGRADES.get(name)
    if change is None:
        return parts
    try:
        return change(parts)
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise FileError(
            f"The file holds a {name.rpartition('.')[2]} of an earlier version that cannot be "
            f"read: {error!s:.200}."
        ) from error


def rename(**names: str) -> Callable[[Parts], Parts]:
    """The change of a class whose fields have other names now: ``rename(new="old")``.

    Examples
    --------
    >>> rename(width="scale")({"scale": 2.0, "n": 3})
    {'width': 2.0, 'n': 3}
    """
    now = {old: new for new, old in names.items()}
    return lambda parts: {now.get(name, name): part for name, part in parts.items()}
