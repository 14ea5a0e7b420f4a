"""Compare models with labelled images, and write scores, for ``posterity vision evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from posterity import files, progress, vision
from posterity.cli import outcome, output
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import models, picture_tasks, reading, results
from posterity.vision.commands.training_requests import EvaluateRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
R = TypeVar("R")

_PICTURES = (".png", ".jpg", ".pdf", ".svg")


def check_outputs(request: EvaluateRequest) -> None:
    """Refuse outputs that cannot be written, before any work."""
    inputs = tuple(
        path for path in (request.boxes, request.model, request.opencv) if path is not None
    )
    for path in (request.out, request.draw):
        if path is not None:
            output.check_output_file(path, force=request.force, inputs=inputs)
    if request.out is not None:
        results.find_format(request.out)
    if request.draw is not None and Path(request.draw).suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"--draw {request.draw!r} must end in {', '.join(_PICTURES)}.")


def check_options(
    request: EvaluateRequest, needed: Sequence[str], refused: Sequence[str], noun: str
) -> None:
    """Refuse options that the kind of model does not have, and ask for those that it needs.

    Parameters
    ----------
    request : EvaluateRequest
        Has the options.
    needed, refused : sequences of str
        Names of attributes.
    noun : str
        What the model is called in sentences.
    """
    missing = [name for name in needed if getattr(request, name) is None]
    if missing:
        raise typer.BadParameter(f"a {noun} needs --{' and --'.join(missing)} to be scored.")
    for name in refused:
        if getattr(request, name) is not None:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"--{option} has no meaning for a {noun}; leave it out.")


def compare_all(
    request: EvaluateRequest,
    compare: Callable[[T], R | None],
    items: Sequence[T],
    description: str,
    name: Callable[[T], object],
) -> tuple[list[R], int]:
    """Compare what a model finds in images with what is known of them.

    Parameters
    ----------
    request : EvaluateRequest
        Has the number of threads.
    compare : callable
        Returns what is found, or None for an image that does not count; raises ImageError for one
        that cannot be read.
    items : sequence
        Images.
    description : str
        What is done, for the progress bar.
    name : callable
        Returns the name of an image.

    Returns
    -------
    found : list
        What was found in the images that count.
    n_failed : int
        Number of images that cannot be read.
    """
    found: list[R] = []
    n_failed = 0

    def attempt(item: T) -> R | str | None:
        try:
            return compare(item)
        except vision.ImageError as error:
            return str(error)
        except MemoryError:
            return f"{name(item)} is too large for the memory."

    work = picture_tasks.map_in_order(attempt, items, models.count_jobs(request.jobs))
    for result in progress.track(
        work, description=description, total=len(items), unit="images", size=lambda _: 1
    ):
        if isinstance(result, str):
            n_failed += 1
            outcome.print_error(results.make_printable(result))
        elif result is not None:
            found.append(result)
    return found, n_failed


def write_scores(
    request: EvaluateRequest,
    answer: dict[str, Any],
    table: tuple[Sequence[str], Iterable[Sequence[Any]]],
    draw: Callable[[Figure], None],
) -> None:
    """Write all scores as JSON or a table of them as CSV, and a picture of them.

    Parameters
    ----------
    request : EvaluateRequest
        Has the files.
    answer : dict
        All scores, as JSON types.
    table : (columns, rows)
        What a CSV file shows.
    draw : callable
        Draws the scores on a figure.
    """
    if request.out is not None:
        as_csv = results.find_format(request.out) == "csv"
        text = results.format_csv(*table) if as_csv else json.dumps(answer, indent=1).encode()
        with files.replace_atomically(request.out) as file:
            file.write(text)
    if request.draw is not None:
        _draw_scores(request.draw, draw)


def conclude(request: EvaluateRequest, printer: OutputPrinter, answer: dict[str, Any]) -> None:
    """Name the written files, print JSON, and end with exit code 3 if an image failed."""
    printer.say("These scores are valid only for images that the model was not trained on.")
    printer.say(*(f"Scores written to {path}." for path in (request.out, request.draw) if path))
    printer.give(answer)
    if answer["failed"]:
        reading.report_left_out(answer["failed"])
        raise typer.Exit(outcome.DATA)


def _draw_scores(path: str, draw: Callable[[Figure], None]) -> None:
    from matplotlib.figure import Figure

    from posterity import displays

    with displays.style():
        figure = Figure(figsize=(9.0, 4.2), layout="constrained")
        draw(figure)
        results.save_figure(path, figure)
