"""Groups of commands.

Help names values in words of a person: FILE, not ``<str>``, and nothing for a switch. Commands of
images are imported only when they are asked for.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperGroup

_VISION = "vision"
_NUMBERS = ("int", "float")
_SUBJECTS = ("Column", "File", "Folder")  # first words of help that say what a text is


class PlainGroup(TyperGroup):
    """A group of commands whose options say what to type."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name, with words for the types of its values."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            name_values(command, ctx)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group itself in the same words."""
        name_values(self, ctx)
        super().format_help(ctx, formatter)


def name_values(command: Any, ctx: Any) -> None:
    """Give every option without a word for its value the one that fits, and arguments none."""
    for param in command.get_params(ctx):
        if param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: None  # its name says what it is
        elif param.metavar is None:
            kind = param.display_type(ctx).strip("<>").removeprefix("list[").rstrip("]")
            param.metavar = _choose_word(kind.split()[0], param.help or "")


def _choose_word(kind: str, help: str) -> str | None:
    """Return what stands for a value in help; None leaves it to Typer, as the choices there are.

    Examples
    --------
    >>> _choose_word("str", "File to save the model to.")
    'FILE'
    >>> _choose_word("float", "Least probability of a box.")
    'NUMBER'
    """
    if kind == "bool":
        return ""
    if kind in _NUMBERS:
        return "NUMBER"
    if kind in ("str", "Path"):
        first = help.partition(" ")[0]
        return first.upper() if first in _SUBJECTS else "TEXT"
    return None


class CommandGroup(PlainGroup):
    """Commands of the library, and ``vision`` if its folder is there."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        has_vision = find_spec(f"posterity.{_VISION}") is not None
        return [*super().list_commands(ctx), *([_VISION] if has_vision else [])]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name."""
        if cmd_name != _VISION or _VISION not in self.list_commands(ctx):
            return super().get_command(ctx, cmd_name)
        group = typer.main.get_group(import_module("posterity.vision.commands").app)
        group.name = _VISION
        return group
