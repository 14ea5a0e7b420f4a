"""Make a dataclass a command: its fields are the options, and its docstring is the help."""

import copy
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from posterity.cli import outcome

_LAST = {"seed": 1, "json": 2}  # options that every command ends with
_SECTION = "\n\nAttributes\n----------\n"
_FIELD = re.compile(r"^(\w+) : .*\n((?: .*(?:\n|$))+)", re.M)

R = TypeVar("R", bound=type[Any])


def register_request(
    app: typer.Typer, name: str, *, work: str | None = None, panel: str | None = None
) -> Callable[[R], R]:
    """Return a decorator that makes a request a command.

    The work is done by the function ``run`` of a module beside that of the request, which is
    imported only then, so that help and usage errors appear immediately.

    Parameters
    ----------
    app : Typer
        Group of the command.
    name : str
        Name of the command.
    work : str, optional
        Name of the module. Default: that of the command.
    panel : str, optional
        Heading in the help of the group.
    """

    def register(request: R) -> R:
        room = request.__module__.rpartition(".")[0]
        module = f"{room}.{work or name.replace('-', '_')}"

        def run(**options: Any) -> None:
            with outcome.report_errors():
                asked = request(**options)
                printer = asked.make_printer()
                importlib.import_module(module).run(asked, printer)

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
