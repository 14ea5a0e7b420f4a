"""Run all systems of the demo, and write the page."""

import io
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from posterity import files, progress, report
from posterity.cli import output
from posterity.cli.output import OutputPrinter, command_name
from posterity.vision.commands import models
from posterity.vision.commands.demo import (
    detectors,
    patches,
    people,
    pixels,
)
from posterity.vision.commands.demo.demonstration import Demonstration
from posterity.vision.commands.training_requests import DemoRequest

SYSTEMS: tuple[Callable[[Path], Demonstration], ...] = (
    detectors.show_discs,
    detectors.show_walkers,
    patches.show_faces,
    people.show_bodies,
    people.show_silhouettes,
    people.show_walk,
    pixels.show_landscapes,
    pixels.show_streets,
    detectors.show_ball,
)
"""The systems, in the order of the page."""

_TITLE = "Vision systems on generated data"
_LEAD = (
    "Every picture on this page was computed when the page was written, from images that were "
    "generated on this machine. Every answer has a probability."
)


def run(request: DemoRequest, printer: OutputPrinter) -> None:
    """Write a folder with a page, its pictures, and files to try commands on."""
    models.require_pillow()
    why = "the demo writes several files"
    output.check_output_folder(request.out, force=request.force, why=why)
    folder = Path(request.out)
    folder.mkdir(parents=True, exist_ok=True)
    sections, records = [], []
    for show in progress.track(
        SYSTEMS, description="Showing", unit="systems", total=len(SYSTEMS), size=lambda _: 1
    ):
        began = time.perf_counter()
        shown = show(folder)
        section = _make_section(shown)
        with files.replace_atomically(folder / f"{shown.name}.png") as file:
            file.write(section.picture)
        sections.append(section)
        seconds = time.perf_counter() - began
        printer.say(f"{shown.title}: {shown.caption} ({seconds:.0f} s)")
        records.append(
            {"name": shown.name, "title": shown.title, "caption": shown.caption, "seconds": seconds}
        )
    place = folder / "report.html"
    report.PicturePage(_TITLE, _LEAD, tuple(sections)).write(place)
    printer.say(f"Page of pictures written to {place}.")
    printer.give({"report": str(place), "systems": records})


def _make_section(shown: Demonstration) -> report.PictureSection:
    picture = io.BytesIO()
    shown.figure.savefig(picture, format="png", dpi=110)
    command = shlex.join([command_name("posterity"), *shown.command]) if shown.command else ""
    return report.PictureSection(
        shown.name, shown.title, shown.sentence, picture.getvalue(), shown.caption, command
    )
