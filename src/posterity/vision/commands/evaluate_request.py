"""What ``posterity vision evaluate`` is asked for, and how its scores are written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from posterity import files, progress
from posterity.cli import outcome, outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, parallel, results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
R = TypeVar("R")

_PICTURES = (".png", ".jpg", ".pdf", ".svg")


@dataclass(frozen=True)
class ScoreRequest:
    """The model, images whose contents are known, and what to write.

    Attributes
    ----------
    boxes : str, optional
        File of known boxes; for detectors.
    labels : str, optional
        Folder of label maps; for segmenters and surface layouts.
    classes, void
        Names of labels, and the labels that are left out; for the same models.
    opencv, label, overlap, min_size, prior
        Only for detectors.
    """

    model: str | None
    images: str | None
    boxes: str | None
    labels: str | None
    classes: str | None
    void: tuple[int, ...]
    opencv: str | None
    label: str | None
    overlap: float
    min_size: float | None
    prior: float | None
    out: str | None
    draw: str | None
    jobs: int | None
    force: bool

    def check_outputs(self) -> None:
        """Refuse outputs that cannot be written, before any work."""
        inputs = tuple(path for path in (self.boxes, self.model, self.opencv) if path is not None)
        for path in (self.out, self.draw):
            if path is not None:
                outputs.check_output_file(path, force=self.force, inputs=inputs)
        if self.out is not None:
            results.find_format(self.out)
        if self.draw is not None and Path(self.draw).suffix.lower() not in _PICTURES:
            raise typer.BadParameter(f"--draw {self.draw!r} must end in {', '.join(_PICTURES)}.")

    def require(self, needed: Sequence[str], refused: Sequence[str], noun: str) -> None:
        """Refuse options that the kind of model does not have, and ask for those that it needs.

        Parameters
        ----------
        needed, refused : sequences of str
            Names of attributes.
        noun : str
            What the model is called in sentences.
        """
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise typer.BadParameter(f"a {noun} needs --{' and --'.join(missing)} to be scored.")
        for name in refused:
            if getattr(self, name) is not None:
                option = name.replace("_", "-")
                raise typer.BadParameter(f"--{option} has no meaning for a {noun}; leave it out.")

    def compare_all(
        self, compare: Callable[[T], R | str | None], items: Sequence[T], description: str
    ) -> tuple[list[R], int]:
        """Compare what a model finds in images with what is known of them.

        Parameters
        ----------
        compare : callable
            Returns what is found, None for an image that does not count, or a sentence for one
            that cannot be read.
        items : sequence
            Images.
        description : str
            What is done, for the progress bar.

        Returns
        -------
        found : list
            What was found in the images that count.
        n_failed : int
            Number of images that cannot be read.
        """
        found: list[R] = []
        n_failed = 0
        work = parallel.map_in_order(compare, items, detectors.count_jobs(self.jobs))
        for result in progress.track(
            work, description=description, total=len(items), unit="images", size=lambda _: 1
        ):
            if isinstance(result, str):
                n_failed += 1
                outcome.print_error(results.make_printable(result))
            elif result is not None:
                found.append(result)
        return found, n_failed

    def write(
        self,
        answer: dict[str, Any],
        table: tuple[Sequence[str], Iterable[Sequence[Any]]],
        draw: Callable[[Figure], None],
    ) -> None:
        """Write all scores as JSON or a table of them as CSV, and a picture of them.

        Parameters
        ----------
        answer : dict
            All scores, as JSON types.
        table : (columns, rows)
            What a CSV file shows.
        draw : callable
            Draws the scores on a figure.
        """
        if self.out is not None:
            as_csv = results.find_format(self.out) == "csv"
            text = _format_csv(*table) if as_csv else json.dumps(answer, indent=1)
            with files.replace_atomically(self.out) as file:
                file.write(text.encode())
        if self.draw is not None:
            _save_figure(self.draw, draw)

    def conclude(self, voice: OutputPrinter, answer: dict[str, Any]) -> None:
        """Name the written files, print JSON, and end with exit code 3 if an image failed."""
        voice.say("These scores are valid only for images that the model was not trained on.")
        voice.say(*(f"Scores written to {path}." for path in (self.out, self.draw) if path))
        voice.give(answer)
        if answer["failed"]:
            outcome.print_error(f"{answer['failed']:,} images could not be read and are left out.")
            raise typer.Exit(outcome.DATA)


def _format_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _save_figure(path: str, draw: Callable[[Figure], None]) -> None:
    from matplotlib.figure import Figure

    from posterity import displays

    with displays.style():
        figure = Figure(figsize=(9.0, 4.2), layout="constrained")
        draw(figure)
        with files.replace_atomically(path) as file:
            figure.savefig(file, format=Path(path).suffix.lower().removeprefix("."))
