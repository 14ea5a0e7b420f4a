"""The words after ``posterity`` on the command line."""

from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from posterity.cli import demo as demonstration

app = typer.Typer(
    help="Regression and classification that says how sure it is.",
    no_args_is_help=True,
    add_completion=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"posterity {version('posterity')}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Regression and classification that says how sure it is."""


@app.command()
def demo(
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the random split into parts.")] = 0,
) -> None:
    """Fit every model there is on embedded data sets and rank them."""
    demonstration.show(Console(), folds=folds, seed=seed)
