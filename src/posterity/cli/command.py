"""Make a dataclass a command: its fields are the options, and its docstring is the help.

Help names values in words of a person: FILE, not ``<str>``, and nothing for a switch. Commands of
images are imported only when they are asked for.
"""

import copy
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from posterity.cli import outcome

_LAST = {"seed": 1, "json": 2}  # options that every command ends with
_SECTION = "\n\nAttributes\n----------\n"
_FIELD = re.compile(r"^(\w+) : .*\n((?: .*(?:\n|$))+)", re.M)

R = TypeVar("R", bound=type[Any])


def register_request(
    app: typer.Typer, name: str, *, work: str | None = None, panel: str | None = None
) -> Callable[[R], R]:
    """Return a decorator that makes a request a command.

    The work is done by a function of a module beside that of the request, which is imported only
    then, so that help and usage errors appear immediately.

    Parameters
    ----------
    app : Typer
        Group of the command.
    name : str
        Name of the command.
    work : str, optional
        Name of the module, whose function is ``run``, or of both, such as "saved_models.predict".
        Default: a module with the name of the command.
    panel : str, optional
        Heading in the help of the group.
    """

    def register(request: R) -> R:
        room = request.__module__.rpartition(".")[0]
        module, _, function = (work or name.replace("-", "_")).partition(".")

        def run(**options: Any) -> None:
            with outcome.report_errors():
                asked = request(**options)
                printer = asked.make_printer()
                place = importlib.import_module(f"{room}.{module}")
                getattr(place, function or "run")(asked, printer)

        parameters = list_parameters(request)
        run.__doc__ = inspect.cleandoc(request.__doc__ or "").partition(_SECTION)[0]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        app.command(name, rich_help_panel=panel)(run)
        return request

    return register


def list_parameters(request: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a request as parameters of a function that Typer understands."""
    hints, docs = get_type_hints(request, include_extras=True), read_field_docs(request)
    fields = dataclasses.fields(request)
    made = [_make_parameter(one, hints[one.name], docs.get(one.name)) for one in fields]
    return sorted(made, key=_rank)


def _rank(parameter: inspect.Parameter) -> int:
    """Return a number by which arguments come first, and options of all commands last."""
    is_option = isinstance(parameter.annotation.__metadata__[0], typer.models.OptionInfo)
    return int(is_option) + _LAST.get(parameter.name, 0)


def _make_parameter(
    field: dataclasses.Field[Any], hint: Any, help: str | None
) -> inspect.Parameter:
    info = copy.copy(hint.__metadata__[0])  # several fields may share it
    info.help = info.help or help
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    keyword, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[hint.__origin__, info]
    return inspect.Parameter(field.name, keyword, default=default, annotation=annotation)


def read_field_docs(kind: type) -> dict[str, str]:
    """Return the descriptions of the fields in the docstrings of a class and of its bases.

    Examples
    --------
    >>> from posterity.cli import command, options
    >>> command.read_field_docs(options.SavedModel)["model"]
    'Model file saved by compare or fit.'
    """
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition(_SECTION)[2]
        docs |= {name: " ".join(text.split()) for name, text in _FIELD.findall(section)}
    return docs


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
