"""``python -m benchmarks [NAMES]``: measure, write the results, print the tables."""

import importlib
from typing import Annotated

import typer
from rich.console import Console

from benchmarks import BENCHMARKS
from benchmarks.options import Options

app = typer.Typer(add_completion=False)


def _known(names: list[str] | None) -> list[str]:
    for name in names or []:
        if name not in BENCHMARKS:
            raise typer.BadParameter(f"There is no {name!r}; choose from {', '.join(BENCHMARKS)}.")
    return names or list(BENCHMARKS)


@app.command()
def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(callback=_known, help=f"Any of: {', '.join(BENCHMARKS)}. None: all."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Processes for each contender.")] = 5,
    threads: Annotated[
        int | None, typer.Option(min=1, help="BLAS threads of a worker. None: all.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="A tenth of each size, into benchmarks/data/quick: a rehearsal.")
    ] = False,
) -> None:
    """Run posterity beside its peers; write benchmarks/results/NAME.json and NAME.md."""
    options = Options(repeats=repeats, threads=threads, quick=quick, console=Console())
    for name in names or []:
        importlib.import_module(f"benchmarks.{name}").run(options)


if __name__ == "__main__":
    app()
