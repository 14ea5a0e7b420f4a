"""Parameters of a kernel expression that are held or bounded, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from posterity.kernels import parameter_tree, parameters
from posterity.kernels.parameter_tree import AnyNode

_Mark: TypeAlias = Callable[[Any, Mapping[str, str]], Any]
"""From a node and its marked names, with the names that were asked for, to the marked node."""


def hold(node: AnyNode, names: Sequence[str]) -> AnyNode:
    """The tree with these parameters held; all where no name is given."""

    def mark(part: Any, own: Mapping[str, str]) -> Any:
        return replace(part, held=tuple(sorted({*part.held, *own})))

    return _mark_named(node, mark, names or None)


def bound(node: AnyNode, limits: Mapping[str, tuple[float, float]]) -> AnyNode:
    """The tree with parameters tuned only between these limits."""
    checked = {name: parameters.check_limits(name, pair) for name, pair in limits.items()}

    def mark(part: Any, own: Mapping[str, str]) -> Any:
        kept = {n: (n, lo, hi) for n, lo, hi in part.limits}
        kept |= {n: (n, *checked[asked]) for n, asked in own.items()}
        return replace(part, limits=tuple(kept[n] for n in sorted(kept)))

    return _mark_named(node, mark, tuple(checked))


def release(node: AnyNode) -> AnyNode:
    """The tree with no parameter held."""
    changes: dict[str, Any] = {at: release(c) for at, c in parameter_tree.children(node)}
    return replace(node, held=(), **changes)


def _mark_named(node: AnyNode, mark: _Mark, names: Sequence[str] | None) -> AnyNode:
    known = sorted(parameter_tree.all_names(node))
    unknown = set(names or ()) - {*known, *map(parameters.last_name, known)}
    if unknown:
        raise ValueError(f"{node} has no parameter {min(unknown)!r}; it has {known}.")
    return _mark_below(node, mark, None if names is None else {name: name for name in names})


def _mark_below(node: AnyNode, mark: _Mark, asked: Mapping[str, str] | None) -> AnyNode:
    """``asked`` maps names as seen from here to names as they were asked for; None: all."""
    wanted = {n: n for n in parameter_tree.own_names(node)} if asked is None else asked
    own = {n: wanted[n] for n in parameter_tree.own_names(node) if n in wanted}
    changes: dict[str, Any] = {
        at: _mark_below(child, mark, None if asked is None else parameters.names_below(asked, at))
        for at, child in parameter_tree.children(node)
    }
    tree = replace(node, **changes) if changes else node
    return mark(tree, own) if own else tree
