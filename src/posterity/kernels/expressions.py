"""Kernel expressions: parameters held or bounded by their names, and all as one would type it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from posterity.kernels import parameter_tree, parameters
from posterity.kernels.parameter_tree import AnyNode, ParameterNode

if TYPE_CHECKING:
    from posterity.kernels.kernel import Kernel

_Mark: TypeAlias = Callable[[Any, Mapping[str, str]], Any]
"""Function from a node and its marked names, with those asked for, to the marked node."""


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


def write_expression(node: Kernel, *, short: bool) -> str:
    """As one would type it; an expression that is held as a whole says so once, at its end."""
    free = release(node)
    if not _is_held_as_a_whole(node, free):
        return node._write(short=short)
    text = free._write(short=short)
    is_call = text.startswith(f"{type(node).__name__}(")
    return f"{text}.fixed()" if is_call else f"({text}).fixed()"


def _is_held_as_a_whole(node: Kernel, free: Kernel) -> bool:
    """Whether a node with others below is ``free`` with every parameter held."""
    if not parameter_tree.children(node) or not any(parameter_tree.all_names(free)):
        return False
    return bool(hold(free, ()) == node)


def write_call(node: Kernel, *, short: bool) -> str:
    """As a call: the first argument by position, others by name where they are not the default."""
    said: list[str] = []
    for i, f in enumerate(parameter_tree.constructor_fields(node)):
        value = getattr(node, f.name)
        if f.default is MISSING or value != f.default:
            text = _write_value(value, short)
            said.append(text if i == 0 else f"{f.name}={text}")
    inside, after = _write_marks(node)
    return f"{type(node).__name__}({', '.join(said + inside)}){after}"


def _write_value(value: Any, short: bool) -> str:
    if parameter_tree.is_node(value):
        return str(value._write(short=short))
    return parameters.write_value(value, short)


def _write_marks(node: ParameterNode) -> tuple[list[str], str]:
    """Write what holds or bounds parameters as one would type it: arguments, and calls after.

    The calls also reach parameters of the same name further down; then only arguments will do.
    """
    marked = {*node.held, *(name for name, _, _ in node.limits)}
    nested = (
        n for _, child in parameter_tree.children(node) for n in parameter_tree.all_names(child)
    )
    below = {parameters.last_name(name) for name in nested}
    if marked & below:
        said = (("held", node.held), ("limits", node.limits))
        return [f"{name}={value!r}" for name, value in said if value], ""
    everything = not below and set(node.held) == set(parameter_tree.own_names(node))
    held = "" if everything else ", ".join(repr(name) for name in node.held)
    limits = ", ".join(f"{name}=({lower!r}, {upper!r})" for name, lower, upper in node.limits)
    fixed = f".fixed({held})" if node.held else ""
    return [], fixed + (f".bounded({limits})" if limits else "")
