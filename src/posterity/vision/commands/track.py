"""``posterity vision track``: follow an object through frames from a box in the first one."""

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import typer

from posterity import files, vision
from posterity.arrays import Array
from posterity.cli import outcome, output
from posterity.cli.output import OutputPrinter
from posterity.vision import images
from posterity.vision.commands import picture_tasks, results, sources
from posterity.vision.commands.picture_requests import TrackRequest
from posterity.vision.commands.picture_tasks import PictureTask, Tally
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture
from posterity.vision.integrals import Pixels

Drawer: TypeAlias = Callable[[str, Any, vision.TrackedBox], None]
_SIDES = ("x0", "y0", "x1", "y1")
_SEEN = 0.5
_VIDEOS = (".mp4", ".avi", ".webm", ".png", ".jpg")
_MOST_BYTES = 500_000_000  # of the frames of an animation


class TrackTask(PictureTask):
    """Follows an object from frame to frame; where one cannot be read, its box is predicted."""

    kind = Kind("", (*_SIDES, "probability", "std_x", "std_y", "correlation", "read"), "frames")
    made = (picture_tasks.PictureFile("draw", "Drawn"),)
    description, nouns, files = "Tracking", ("frame", "frames"), ("frame", "frames")
    failing = "; their boxes are predictions"
    title, found_key = "Track", "track"
    heads = ("image", "left", "top", "right", "bottom", "seen", "std x", "std y")
    shown, keeps_all = 12, True
    command, next_out = "track", "track.csv"
    request: TrackRequest

    def check_request(self) -> None:
        """Refuse a box without area, and outputs that cannot be written."""
        request = self.request
        self.box = parse_box(request.box)
        draw, force = request.draw, request.force
        inputs = () if request.source == sources.STREAM else (request.source,)
        results.check_out(request.out, force=force, inputs=inputs)
        if draw is None:
            return
        if Path(draw).suffix.lower() == ".gif":
            output.check_output_file(draw, force=force, inputs=inputs)
        elif Path(draw).suffix.lower() in _VIDEOS:
            raise typer.BadParameter(f"--draw {draw!r} must be a folder or end in .gif.")
        else:
            output.check_output_folder(
                draw, force=force, inputs=inputs, why="one frame per file", option="--draw"
            )

    def prepare_model(self) -> None:
        """Begin with a tracker that knows nothing."""
        self.tracker = vision.DisplacementTracker()

    def list_pictures(self) -> Iterator[Picture]:
        """Yield the frames."""
        mode = "gray" if self.request.draw is None else "color"
        return sources.list_frames(self.request.source, mode)

    def find_all(self) -> Iterator[PictureResult]:
        """Yield the box of each frame, and draw it."""
        with open_drawer(self.request.draw) as draw:
            for k, picture in enumerate(self.list_pictures()):
                image, error = None, ""
                try:
                    image = picture.load()
                    found = self._start(image) if k == 0 else self.tracker.step(image)
                except vision.ImageError as fault:
                    if k == 0:
                        raise outcome.ModelError(f"There is no first frame: {fault}") from None
                    image, error, found = None, str(fault), self.tracker.step(None)
                draw(picture.relative, image, found)
                row = _make_row(found, read=image is not None)
                yield PictureResult(picture.name, [row], error, about=row)

    def _start(self, image: Any) -> vision.TrackedBox:
        try:
            return self.tracker.start(image, self.box).get_box()
        except ValueError as error:
            raise typer.BadParameter(f"--box: {error}") from None

    def count(self, result: PictureResult) -> dict[str, int]:
        """Return whether the object is seen."""
        return {"seen": int(result.about["probability"] >= _SEEN)}

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return the row of a frame."""
        row = result.about
        return [
            (
                results.make_printable(result.name),
                *(f"{row[side]:.0f}" for side in _SIDES),
                f"{row['probability']:.2f}",
                *(f"{row[name]:.1f}" for name in ("std_x", "std_y")),
            )
        ]

    def show(self, tally: Tally, printer: OutputPrinter) -> None:
        """Print frames at equal distances."""
        n = len(tally.first)
        chosen = np.unique(np.linspace(0, n - 1, min(self.shown, n)).astype(int)) if n else ()
        rows = [row for k in chosen for row in self.list_rows(tally.first[k])]
        if rows:
            printer.table(self.title, self.heads, rows)

    def describe(self, tally: Tally) -> Iterator[str]:
        """Yield the numbers of frames, and of those where the object is seen."""
        if not tally.n_pictures:
            raise outcome.ModelError(f"{self.request.source} contains no frames.")
        yield (
            f"{tally.n_pictures:,} frames; the object is seen with a probability of at least "
            f"{_SEEN} in {tally.totals['seen']:,}."
        )

    def give(self, tally: Tally) -> dict[str, Any]:
        """Return the numbers of frames, and of those where the object is seen."""
        return {"frames": tally.n_pictures, "seen": tally.totals["seen"]}


run = TrackTask.run


def _make_row(found: vision.TrackedBox, *, read: bool) -> dict[str, Any]:
    """Return the numbers of a frame under the names of the columns."""
    std: Array = np.sqrt(np.diag(found.covariance))
    correlation = found.covariance[0, 1] / (std[0] * std[1])
    return {
        **dict(zip(_SIDES, (round(float(v), 2) for v in found.box), strict=True)),
        "probability": round(found.probability, 4),
        "std_x": round(float(std[0]), 2),
        "std_y": round(float(std[1]), 2),
        "correlation": round(float(correlation), 3),
        "read": read,
    }


@contextlib.contextmanager
def open_drawer(draw: str | None) -> Iterator[Drawer]:
    """Yield a function that draws a frame; an animation appears when the block succeeds.

    A frame that cannot be read is drawn on the one before.
    """
    if draw is None:
        yield lambda name, image, found: None
        return
    is_animation = Path(draw).suffix.lower() == ".gif"
    frames: list[Any] = []
    before = None

    def add(name: str, image: Any, found: vision.TrackedBox) -> None:
        nonlocal before
        before = before if image is None else image
        drawn = found.draw(before)
        if is_animation:
            _keep_frame(frames, drawn)
        else:
            _write_frame(Path(draw) / name, drawn)

    yield add
    if frames:
        with files.replace_atomically(draw) as file:
            frames[0].save(file, format="GIF", save_all=True, append_images=frames[1:], duration=40)


def _write_frame(place: Path, drawn: Pixels) -> None:
    if place.suffix.lower() not in sources.SUFFIXES:
        place = place.with_name(f"{place.name}.png")
    place.parent.mkdir(parents=True, exist_ok=True)
    vision.write_image(place, drawn)


def _keep_frame(frames: list[Any], drawn: Pixels) -> None:
    """Keep a frame of 256 colours, if memory should hold as many."""
    frames.append(images.import_pillow().fromarray(drawn).quantize(256))
    if sum(frame.width * frame.height for frame in frames) > _MOST_BYTES:
        raise vision.ImageError(
            f"The animation would have more than {_MOST_BYTES:,} pixels; draw to a folder."
        )


def parse_box(text: str) -> tuple[float, float, float, float]:
    """Parse left, top, width and height such as 120,80,64,64, and return the corners.

    Examples
    --------
    >>> from posterity.vision.commands import track
    >>> parse_box("120,80,64,48")
    (120.0, 80.0, 184.0, 128.0)
    """
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError:
        x = y = width = height = math.nan
    if not (math.isfinite(x + y) and 0.0 < width < math.inf and 0.0 < height < math.inf):
        raise typer.BadParameter(
            f"--box {text!r} is not left, top, width and height in pixels; use, for example, "
            "--box 120,80,64,64."
        )
    return x, y, x + width, y + height
