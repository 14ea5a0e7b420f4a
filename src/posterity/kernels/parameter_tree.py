"""The positive numbers of a kernel expression, read and replaced in log space.

An expression is a tree of frozen dataclasses. Each node declares its numbers with
:func:`parameters.positive`, says which of them are ``held`` and which have ``limits``, and may hold
further nodes in its fields. Nothing here knows of x and z.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import Field, fields, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from posterity.arrays import Array
from posterity.kernels import parameters
from posterity.kernels.parameters import Range, Value


class ParameterNode(Protocol):
    """A dataclass with parameters."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def held(self) -> tuple[str, ...]:
        """Own parameters that are not tuned."""

    @property
    def limits(self) -> tuple[tuple[str, float, float], ...]:
        """Name, lower and upper limit of own parameters whose range was given."""


AnyNode = TypeVar("AnyNode", bound=ParameterNode)


def own_names(node: ParameterNode) -> tuple[str, ...]:
    """The parameters that the node itself declares."""
    return _own_names(type(node))


@functools.cache
def _own_names(kind: Hashable) -> tuple[str, ...]:
    return tuple(f.name for f in _fields_of(kind) if f.metadata.get("positive"))


@functools.cache
def _fields_of(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


def free_names(node: ParameterNode) -> list[str]:
    """Those of its own parameters that are not held."""
    if not node.held:
        return list(_own_names(type(node)))
    return [name for name in own_names(node) if name not in node.held]


def constructor_fields(node: ParameterNode) -> list[Field[Any]]:
    """The fields one passes to the constructor."""
    return [f for f in _fields_of(type(node)) if f.init and not f.metadata.get("aside")]


def children(node: ParameterNode) -> list[tuple[str, Any]]:
    """The nodes directly below, with the names of their fields."""
    found = []
    for f in _fields_of(type(node)):
        if is_node(value := getattr(node, f.name)):
            found.append((f.name, value))
    return found


def is_node(value: Any) -> bool:
    """Whether a value has parameters itself."""
    return "held" in getattr(type(value), "__dataclass_fields__", ())


def all_names(node: ParameterNode) -> Iterator[str]:
    """Every nested name, held or not."""
    yield from own_names(node)
    for at, child in children(node):
        yield from (f"{at}__{name}" for name in all_names(child))


def check_values(node: ParameterNode) -> None:
    """Make own numbers floats and own flags booleans, or raise ValueError."""
    for f in _fields_of(type(node)):
        value = getattr(node, f.name)
        if f.metadata.get("positive"):
            if type(value) is not float or not 0.0 < value < math.inf:
                where = f"{type(node).__name__}.{f.name}"
                value = parameters.check_value(value, where, per_column=f.metadata["per_column"])
        elif f.type in (bool, "bool"):
            value = parameters.check_flag(value, f"{type(node).__name__}.{f.name}")
            value = value and not isinstance(getattr(node, f.metadata.get("of", ""), None), tuple)
        object.__setattr__(node, f.name, value)


def set_to_neutral(node: AnyNode) -> AnyNode:
    """The node with its unset parameters at their neutral values; those below are left."""
    unset = []
    for name in _own_names(type(node)):  # at every evaluation: without further calls
        if getattr(node, name) is None:
            unset.append(name)
    if not unset:
        return node
    neutral: dict[str, Any] = {name: _default_range(node, name).start for name in unset}
    return replace(node, **neutral)


def read_logs(node: ParameterNode) -> Array:
    """The free parameters in log space: own ones, then those below."""
    return parameters.logs(list(_read_values(node)))


def _read_values(node: ParameterNode) -> Iterator[float]:
    tree = set_to_neutral(node)
    for name in free_names(tree):
        yield from parameters.list_numbers(getattr(tree, name))
    for _, child in children(tree):
        yield from _read_values(child)


def replace_logs(node: AnyNode, theta: Array) -> AnyNode:
    """The tree with other free parameters, given in log space."""
    values = np.exp(np.asarray(theta, dtype=np.float64))
    if values.shape != (n_free := sum(1 for _ in _read_values(node)),):
        given = len(values) if values.ndim == 1 else f"an array of shape {values.shape}"
        raise ValueError(f"{node} has {n_free} free parameters; {given} were given.")
    return _replace_values(node, iter(values.tolist()))


def _replace_values(node: AnyNode, values: Iterator[float]) -> AnyNode:
    tree = set_to_neutral(node)
    changes: dict[str, Any] = {}
    for name in free_names(tree):
        old: Value = getattr(tree, name)
        new = tuple(next(values) for _ in parameters.list_numbers(old))
        changes[name] = new if isinstance(old, tuple) else new[0]
    for name, child in children(tree):
        changes[name] = _replace_values(child, values)
    return replace(tree, **changes)


def label_free(node: ParameterNode, *, with_limits: bool = False) -> list[str]:
    """The names of the free numbers, in order; ``with_limits``: those whose limits were given."""
    tree = set_to_neutral(node)
    own = (n for n in free_names(tree) if not with_limits or limits_of(tree, n) is not None)
    labels = [label for n in own for label in parameters.label_numbers(n, getattr(tree, n))]
    for at, child in children(tree):
        labels += [f"{at}__{label}" for label in label_free(child, with_limits=with_limits)]
    return labels


def start_search(node: AnyNode, ranges: Mapping[str, Range]) -> tuple[AnyNode, Array]:
    """The node with unset parameters at their start, and log bounds (P, 2) of its own free ones."""
    starts: dict[str, Any] = {}
    rows: list[tuple[float, float]] = []
    for name in own_names(node):
        given = getattr(node, name)
        known = ranges.get(name) or _default_range(node, name)
        value = known.start if given is None else parameters.spread_like(given, known.start)
        low, high = (parameters.spread_like(v, value) for v in (known.lower, known.upper))
        if name not in node.held:
            limits = limits_of(node, name)
            value = value if limits is None else parameters.clip_value(value, limits)
            rows += parameters.ranges_within(value, low, high, limits)
        starts[name] = value
    bounds = np.log(np.asarray(rows, dtype=np.float64).reshape(-1, 2))
    return replace(node, **starts), bounds


def _default_range(node: ParameterNode, name: str) -> Range:
    about = node.__dataclass_fields__[name].metadata
    return Range(about["neutral"], *about["bounds"])


def limits_of(node: ParameterNode, name: str) -> tuple[float, float] | None:
    """The limits that an own parameter was given, if any."""
    return next(((lower, upper) for n, lower, upper in node.limits if n == name), None)


def read_params(node: ParameterNode, *, deep: bool) -> dict[str, Any]:
    """Constructor arguments by name, with nested names where ``deep``."""
    shallow = {f.name: getattr(node, f.name) for f in constructor_fields(node)}
    inner = (
        (f"{at}__{name}", value)
        for at, child in (children(node) if deep else ())
        for name, value in read_params(child, deep=True).items()
    )
    return shallow | dict(inner)


def replace_params(node: AnyNode, params: Mapping[str, Any]) -> AnyNode:
    """The tree with other constructor arguments, by nested name."""
    changes: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    known = read_params(node, deep=False)
    for key, value in params.items():
        name, _, rest = key.partition("__")
        if name not in known:
            raise ValueError(f"{node} has no parameter {name!r}; it has {sorted(known)}.")
        if rest:
            nested.setdefault(name, {})[rest] = value
        else:
            changes[name] = value
    for name, inner in nested.items():
        child = changes.get(name, known[name])
        if not is_node(child):
            raise ValueError(f"{name!r} of {node} has no parameter {min(inner)!r}.")
        changes[name] = replace_params(child, inner)
    return replace(node, **changes)
