"""Declare ``posterity vision track``."""

import typer

from posterity.cli import options as common
from posterity.cli import outcome
from posterity.vision.commands import track_options


def track(
    source: track_options.Source,
    box: track_options.Box,
    out: track_options.TrackOut = None,
    draw: track_options.TrackDraw = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Follow an object from a box in the first frame, with an ellipse around its middle.

    For frames that cannot be read the box is predicted; the exit code is then 3.
    """
    corners = track_options.parse_box(box)
    if json and out == "-":
        raise typer.BadParameter(
            "--json prints to standard output, so the track needs a file: add --out FILE."
        )
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import track as work

        plan = work.TrackRequest(source=source, box=corners, out=out, draw=draw, force=force)
        work.run(plan, voice.OutputPrinter(json, aside=out == "-"))
