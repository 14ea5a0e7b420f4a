"""Regression and classification that says how sure it is.

One model is four choices: likelihood x prior x feature space x inference. Every estimator here is
one combination of them, every prediction is a distribution, and every Bayesian model has an
evidence by which it can be compared with the others.
"""

from importlib import import_module
from typing import Any

from posterity.estimators import BY_ROOM

# The rooms a user enters, and the names that stand at the front door. They are imported when they
# are asked for, so that the command answers at once; __init__.pyi tells type checkers the same.
_ROOMS = (
    "analysis",
    "comparison",
    "datasets",
    "designs",
    "displays",
    "distributions",
    "features",
    "inference",
    "kernels",
    "likelihoods",
    "persistence",
    "priors",
    "scoring",
    "tables",
    "testing",
    "trees",
)
_HOME = {name: room for room, names in BY_ROOM.items() for name in names}
_HOME |= dict.fromkeys(("load", "save"), "persistence") | {
    "compare": "analysis",
    "predict_dist": "models",
}

__all__ = sorted([*_HOME, *_ROOMS])


def __getattr__(name: str) -> Any:
    """A room or a name of the front door, imported at its first use."""
    if name == "__version__":  # of what is installed: pyproject.toml alone states it
        return import_module("importlib.metadata").version("posterity")
    if name in _ROOMS:
        return import_module(f"posterity.{name}")
    if name not in _HOME:
        raise AttributeError(f"posterity has no {name!r}.", name=name)
    value = getattr(import_module(f"posterity.{_HOME[name]}"), name)
    globals()[name] = value  # asked once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
