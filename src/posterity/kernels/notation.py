"""Kernel expressions as one would type them."""

from __future__ import annotations

from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from posterity.kernels import marks, parameter_tree, parameters
from posterity.kernels.parameter_tree import ParameterNode

if TYPE_CHECKING:
    from posterity.kernels.kernel import Kernel


def write_expression(node: Kernel, *, short: bool) -> str:
    """As one would type it; an expression that is held as a whole says so once, at its end."""
    free = marks.release(node)
    if not _is_held_as_a_whole(node, free):
        return node._write(short=short)
    text = free._write(short=short)
    is_call = text.startswith(f"{type(node).__name__}(")
    return f"{text}.fixed()" if is_call else f"({text}).fixed()"


def _is_held_as_a_whole(node: Kernel, free: Kernel) -> bool:
    """Whether a node with others below is ``free`` with every parameter held."""
    if not parameter_tree.children(node) or not any(parameter_tree.all_names(free)):
        return False
    return bool(marks.hold(free, ()) == node)


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
    """What holds or bounds parameters, as one would type it: arguments, and calls after them.

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
