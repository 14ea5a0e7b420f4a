"""``posterity vision detect``: find objects in images, folders and sequences of frames."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from posterity import progress, vision
from posterity.cli import outcome, outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, drawings, parallel, pictures, results
from posterity.vision.commands.pictures import Picture
from posterity.vision.commands.results import PictureResult
from posterity.vision.commands.tally import Tally, count_things

_SHOWN = 20  # boxes in the table for people
_HEADS = ("image", "probability", "left", "top", "right", "bottom")


@dataclass(frozen=True)
class DetectRequest:
    """Where to look, with which detector, and what to write."""

    inputs: tuple[str, ...]
    model: str | None
    opencv: str | None
    out: str | None
    draw: str | None
    min_probability: float | None
    min_size: float | None
    prior: float | None
    video: bool
    jobs: int | None
    force: bool

    @property
    def is_single(self) -> bool:
        """Whether there is one image, which is drawn to a file and not to a folder."""
        return not self.video and len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()

    def words(self) -> list[str]:
        """Return the options that repeat this search."""
        named = {"--model": self.model, "--opencv": self.opencv}
        video = ["--video"] if self.video else []
        return [*video, *(word for pair in named.items() if pair[1] for word in map(str, pair))]


@dataclass
class _Counts:
    """What has been seen so far, and the first boxes."""

    files: Tally = field(default_factory=Tally)
    n_with_boxes: int = 0
    n_boxes: int = 0
    first: list[PictureResult] = field(default_factory=list)

    def add(self, result: PictureResult, *, keep: bool) -> None:
        """Count a result, and keep it if it is asked for."""
        self.files.add(result)
        if result.found is not None:
            self.n_boxes += len(result.found)
            self.n_with_boxes += len(result.found) > 0
        if keep:
            self.first.append(result)


def run(plan: DetectRequest, voice: OutputPrinter) -> None:
    """Search all pictures, write what is found, and count what cannot be read."""
    _check_outputs(plan)
    detector = detectors.load_detector(
        plan.model, plan.opencv, prior=plan.prior, min_size=plan.min_size
    )
    _check_search(plan, detector)
    jobs = detectors.count_jobs(plan.jobs)
    detector.set_params(n_jobs=jobs if plan.is_single else 1)
    search = _Search(plan, detector)
    counts = _Counts()
    keep_all = voice.machine and plan.out is None
    with results.open_writer(plan.out) as writer, outcome.collect_warnings() as warned:
        found = parallel.map_in_order(search, _list_work(plan, detector), jobs)
        for result in progress.track(
            found, description="Searching", unit="images", size=lambda _: 1
        ):
            writer.write(result)
            counts.add(result, keep=keep_all or (plan.out is None and counts.n_boxes < _SHOWN))
    voice.say(*(f"Note: {sentence}" for sentence in warned))
    _conclude(plan, voice, counts, detector)


@dataclass(frozen=True)
class _Search:
    """Reads a picture, searches it, and draws what is found."""

    plan: DetectRequest
    detector: vision.WindowDetector

    def __call__(self, picture: Picture) -> PictureResult:
        try:
            frames = picture.load()
            found = detectors.keep_probable(
                self.detector.detect(frames), self.detector, self.plan.min_probability
            )
            if self.plan.draw is not None:
                self._draw(frames, found, picture)
        except vision.ImageError as error:
            return PictureResult(picture.name, None, str(error))
        except MemoryError:
            return PictureResult(picture.name, None, f"{picture.name} is too large for the memory.")
        return PictureResult(picture.name, found)

    def _draw(self, frames: Any, found: vision.Detections, picture: Picture) -> None:
        image = frames[1] if isinstance(frames, tuple) else frames
        single = self.plan.is_single
        place = drawings.find_place(str(self.plan.draw), picture, is_single=single)
        vision.write_image(place, found.draw(image))


def _list_work(plan: DetectRequest, detector: vision.WindowDetector) -> Iterator[Picture]:
    """Yield pictures, or pairs of frames, with a drawing of its own for each."""
    mode = "gray" if plan.draw is None else "color"
    if not plan.video:
        work = pictures.list_pictures(plan.inputs, mode)
    else:
        work = pictures.list_frames(plan.inputs[0], mode)
        if detector.channels != "gray":
            work = pictures.pair_frames(work)
    return drawings.name_drawings(work) if plan.draw is not None else work


def _check_outputs(plan: DetectRequest) -> None:
    """Refuse wrong combinations of options and outputs that cannot be written."""
    if plan.video and len(plan.inputs) != 1:
        raise typer.BadParameter("--video takes one folder, one animated file, or -.")
    if plan.out is not None and plan.out != results.STDOUT:
        results.find_format(plan.out)
        outputs.check_output_file(plan.out, force=plan.force, inputs=plan.inputs)
    drawings.check_drawings(
        plan.draw, plan.inputs, option="--draw", is_single=plan.is_single, force=plan.force
    )


def _check_search(plan: DetectRequest, detector: vision.WindowDetector) -> None:
    if detector.channels != "gray" and not plan.video:
        raise outcome.ModelError(
            "This detector looks at pairs of frames: add --video, and give a folder of frames, an "
            "animated file, or - for standard input."
        )
    if plan.min_probability is not None and detector.calibration_ is None:
        raise outcome.ModelError(
            "This detector has no probabilities, so --min-probability cannot be used with it."
        )


def _conclude(
    plan: DetectRequest, voice: OutputPrinter, counts: _Counts, detector: vision.WindowDetector
) -> None:
    """Print counts and the first boxes, and end with exit code 3 if a file could not be read."""
    if plan.out is None:
        _show_boxes(voice, counts)
    elif plan.out != results.STDOUT:
        voice.say(f"Boxes written to {plan.out}.")
    if plan.draw is not None:
        voice.say(f"Drawn to {plan.draw}.")
    n_read = counts.files.n_read
    voice.say(
        f"Found {count_things(counts.n_boxes, 'box', 'boxes')} in {counts.n_with_boxes:,} of "
        f"{count_things(n_read, 'image', 'images')}."
    )
    if detector.calibration_ is None:
        voice.say("This detector has no probabilities; boxes are ranked by their windows.")
    if plan.out is None:
        voice.next("vision", "detect", *plan.inputs, *plan.words(), "--out", "boxes.json")
    voice.give(
        {
            "images": n_read,
            "failed": counts.files.n_failed,
            "boxes": counts.n_boxes,
            "out": plan.out,
            "draw": plan.draw,
            "notes": list(detector.notes_),
            "found": [result.as_record() for result in counts.first] if plan.out is None else None,
        }
    )
    counts.files.finish()


def _show_boxes(voice: OutputPrinter, counts: _Counts) -> None:
    rows = [
        (results.make_printable(result.name), *_format_box(box))
        for result in counts.first
        for box in result.found or ()
    ]
    if rows:
        voice.table("Boxes", _HEADS, rows[:_SHOWN])
    if counts.n_boxes > _SHOWN:
        voice.say(f"{counts.n_boxes - _SHOWN:,} further boxes; --out boxes.csv writes all.")


def _format_box(box: dict[str, Any]) -> tuple[str, ...]:
    p = box["probability"]
    return ("" if p is None else f"{p:.2f}", *(f"{box[k]:.0f}" for k in ("x0", "y0", "x1", "y1")))
