"""``posterity vision track``: follow an object through frames from a box in the first one."""

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import typer

from posterity import files, progress, vision
from posterity.arrays import Array
from posterity.cli import outcome, outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, pictures, results, track_drawing

_COLUMNS = ("image", "x0", "y0", "x1", "y1", "probability", "std_x", "std_y", "correlation", "read")
_SHOWN = 12  # rows in the table for people
_SEEN = 0.5


@dataclass(frozen=True)
class TrackRequest:
    """Frames to read, the first box, and files to write."""

    source: str
    box: tuple[float, float, float, float]
    out: str | None
    draw: str | None
    force: bool


def run(plan: TrackRequest, voice: OutputPrinter) -> None:
    """Track the object, write the boxes, and count the frames that cannot be read."""
    detectors.require_pillow()
    _check_outputs(plan)
    rows: list[dict[str, Any]] = []
    with _open_rows(plan.out) as write, track_drawing.open_drawer(plan.draw) as draw:
        steps = progress.track(
            _follow(plan), description="Tracking", unit="frames", size=lambda _: 1
        )
        for picture, image, found in steps:
            row = _make_row(picture.name, found, read=image is not None)
            write(row)
            rows.append(row)
            draw(picture.relative, image, found)
    _conclude(plan, voice, rows)


def _follow(
    plan: TrackRequest,
) -> Iterator[tuple[pictures.Picture, Any, vision.TrackedBox]]:
    """Yield each frame with its box; None stands for a frame that cannot be read."""
    mode = "gray" if plan.draw is None else "color"
    tracker = vision.DisplacementTracker()
    for k, picture in enumerate(pictures.list_frames(plan.source, mode)):
        image = None
        try:
            image = picture.load()
            found = _start(tracker, image, plan) if k == 0 else tracker.step(image)
        except vision.ImageError as error:
            if k == 0:
                raise outcome.ModelError(f"There is no first frame: {error}") from None
            outcome.print_error(results.make_printable(str(error)))
            image, found = None, tracker.step(None)
        yield picture, image, found


def _start(
    tracker: vision.DisplacementTracker, image: Any, plan: TrackRequest
) -> vision.TrackedBox:
    try:
        return tracker.start(image, plan.box).get_box()
    except ValueError as error:
        raise typer.BadParameter(f"--box: {error}") from None


def _make_row(name: str, found: vision.TrackedBox, *, read: bool) -> dict[str, Any]:
    """Return the numbers of a frame under the names of the columns."""
    std: Array = np.sqrt(np.diag(found.covariance))
    correlation = found.covariance[0, 1] / (std[0] * std[1])
    box = dict(zip(_COLUMNS[1:5], (round(float(v), 2) for v in found.box), strict=True))
    return {
        "image": name.encode("utf-8", "backslashreplace").decode(),
        **box,
        "probability": round(found.probability, 4),
        "std_x": round(float(std[0]), 2),
        "std_y": round(float(std[1]), 2),
        "correlation": round(float(correlation), 3),
        "read": read,
    }


@contextlib.contextmanager
def _open_rows(out: str | None) -> Iterator[Any]:
    """Yield a function that writes a row; a file appears when the block succeeds."""
    if out is None:
        yield lambda row: None
    elif out == results.STDOUT:
        yield _start_csv(sys.stdout)
        sys.stdout.flush()
    else:
        with files.replace_atomically(out) as raw:
            text = io.StringIO()
            if results.find_format(out) == "csv":
                yield _start_csv(text)
            else:
                rows: list[dict[str, Any]] = []
                yield rows.append
                text.write(json.dumps({"frames": rows}, indent=1) + "\n")
            raw.write(text.getvalue().encode())


def _start_csv(file: TextIO) -> Any:
    rows = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
    rows.writeheader()

    def write(row: dict[str, Any]) -> None:
        rows.writerow(row)
        file.flush()  # a reader of standard output gets each frame at once

    return write


def _check_outputs(plan: TrackRequest) -> None:
    """Refuse outputs that cannot be written, before any work."""
    inputs = () if plan.source == pictures.STREAM else (plan.source,)
    if plan.out is not None and plan.out != results.STDOUT:
        results.find_format(plan.out)
        outputs.check_output_file(plan.out, force=plan.force, inputs=inputs)
    if plan.draw is None:
        return
    if Path(plan.draw).suffix.lower() == ".gif":
        outputs.check_output_file(plan.draw, force=plan.force, inputs=inputs)
    elif Path(plan.draw).suffix.lower() in (".mp4", ".avi", ".webm", ".png", ".jpg"):
        raise typer.BadParameter(f"--draw {plan.draw!r} must be a folder or end in .gif.")
    else:
        outputs.check_output_folder(
            plan.draw, force=plan.force, inputs=inputs, why="one frame per file", option="--draw"
        )


def _conclude(plan: TrackRequest, voice: OutputPrinter, rows: list[dict[str, Any]]) -> None:
    if not rows:
        raise outcome.ModelError(f"{plan.source} contains no frames.")
    n_failed = sum(not row["read"] for row in rows)
    n_seen = sum(row["probability"] >= _SEEN for row in rows)
    if plan.out is None:
        _show_rows(voice, rows)
    elif plan.out != results.STDOUT:
        voice.say(f"Track written to {plan.out}.")
    if plan.draw is not None:
        voice.say(f"Drawn to {plan.draw}.")
    voice.say(
        f"{len(rows):,} frames; the object is seen with a probability of at least {_SEEN} in "
        f"{n_seen:,}."
    )
    if plan.out is None:
        x0, y0, x1, y1 = plan.box
        box = f"{x0:g},{y0:g},{x1 - x0:g},{y1 - y0:g}"
        voice.next("vision", "track", plan.source, "--box", box, "--out", "track.csv")
    voice.give(
        {
            "frames": len(rows),
            "failed": n_failed,
            "seen": n_seen,
            "out": plan.out,
            "draw": plan.draw,
            "track": rows if plan.out is None else None,
        }
    )
    if n_failed:
        outcome.print_error(
            f"{n_failed:,} of {len(rows):,} frames could not be read; their boxes are predictions."
        )
        raise typer.Exit(outcome.DATA)


def _show_rows(voice: OutputPrinter, rows: list[dict[str, Any]]) -> None:
    """Print frames at equal distances."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(_SHOWN, len(rows))).astype(int))
    heads = ("image", "left", "top", "right", "bottom", "seen", "std x", "std y")
    voice.table(
        "Track",
        heads,
        [
            (
                results.make_printable(row["image"]),
                *(f"{row[name]:.0f}" for name in _COLUMNS[1:5]),
                f"{row['probability']:.2f}",
                *(f"{row[name]:.1f}" for name in ("std_x", "std_y")),
            )
            for row in (rows[k] for k in chosen)
        ],
    )
