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

    def change(parts: Parts) -> Parts:
        renamed = {now.get(name, name): part for name, part in parts.items()}
        if len(renamed) < len(parts):
            raise ValueError("a field has both its old and its new name")
        return renamed

    return change


_FOREST = {"splits": "tests", "max_features": "n_tests", "min_samples_leaf": "min_leaf"}
_CLASS_FOREST = {**_FOREST, "oob_score_": "oob_accuracy_"}

UPGRADES: dict[str, Callable[[Parts], Parts]] = {
    "classification.LogitBoostClassifier": rename(
        max_features="n_tests",
        n_estimators="n_rounds",
        n_estimators_="n_rounds_",
        n_iter_no_change="patience",
        n_thresholds="n_offsets",
        splits="tests",
        splits_="tests_",
    ),
    "classification.RandomFernClassifier": rename(n_estimators="n_ferns", **_CLASS_FOREST),
    "classification.RandomForestClassifier": rename(n_estimators="n_trees", **_CLASS_FOREST),
    "classification.RandomTreeClassifier": rename(**_CLASS_FOREST),
    "regression.RandomFernRegressor": rename(n_estimators="n_ferns", **_FOREST),
    "regression.RandomForestRegressor": rename(n_estimators="n_trees", **_FOREST),
    "regression.RandomTreeRegressor": rename(**_FOREST),
}
