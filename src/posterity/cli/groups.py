"""The group of all commands, of which those of images are imported only when they are asked for."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer

from posterity.cli.plain_help import PlainGroup

_VISION = "vision"


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
