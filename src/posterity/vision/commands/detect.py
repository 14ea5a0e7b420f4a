"""``posterity vision detect``: find objects in images, folders and sequences of frames."""

from collections.abc import Iterator
from typing import Any

import typer

from posterity import vision
from posterity.cli import outcome
from posterity.vision.commands import results, sources
from posterity.vision.commands.picture_requests import DetectRequest
from posterity.vision.commands.picture_tasks import PictureFile, PictureTask, Tally, count_things
from posterity.vision.commands.results import Kind, PictureResult
from posterity.vision.commands.sources import Picture

_LEAST_WINDOWS = 3  # of a box without probability, as by OpenCV's default


class DetectTask(PictureTask):
    """Searches pictures, or pairs of frames, and draws the boxes that it finds."""

    kind = Kind("boxes", ("x0", "y0", "x1", "y1", "probability", "activation", "support"))
    made = (PictureFile("draw", "Drawn"),)
    description, title = "Searching", "Boxes"
    heads = ("image", "probability", "left", "top", "right", "bottom")
    further = "boxes; --out boxes.csv writes all."
    command, next_out = "detect", "boxes.json"
    request: DetectRequest

    def check_request(self) -> None:
        """Refuse several sequences of frames, and outputs that cannot be written."""
        if self.request.video and len(self.request.inputs) != 1:
            raise typer.BadParameter("--video takes one folder, one animated file, or -.")
        super().check_request()

    def prepare_model(self) -> None:
        """Load the detector, and refuse options that it has no use for."""
        self.detector = sources.load_detector(self.request).set_params(n_jobs=self.n_jobs)
        self.has_p = self.detector.calibration_ is not None
        if self.detector.channels != "gray" and not self.request.video:
            raise outcome.ModelError(
                "This detector looks at pairs of frames: add --video, and give a folder of frames, "
                "an animated file, or - for standard input."
            )
        if self.request.min_probability is not None and not self.has_p:
            raise outcome.ModelError(
                "This detector has no probabilities, so --min-probability cannot be used with it."
            )

    def list_pictures(self) -> Iterator[Picture]:
        """Yield pictures, or pairs of frames, with a drawing of its own for each."""
        request = self.request
        mode = "gray" if request.draw is None else "color"
        if not request.video:
            work = sources.list_pictures(request.inputs, mode)
        else:
            work = sources.list_frames(request.inputs[0], mode)
            if self.detector.channels != "gray":
                work = sources.pair_frames(work)
        return sources.name_drawings(work) if request.draw is not None else work

    def work_on(self, picture: Picture, content: Any) -> PictureResult:
        """Search a picture, and draw the boxes."""
        found = self._keep_probable(self.detector.detect(content))
        if place := self.find_place("draw", picture):
            image = content[1] if isinstance(content, tuple) else content
            vision.write_image(place, found.draw(image))
        return PictureResult(picture.name, found)

    def _keep_probable(self, found: vision.Detections) -> vision.Detections:
        """Keep the boxes that are probable, or without probabilities those of enough windows."""
        if not self.has_p:
            return found.take(found.support >= _LEAST_WINDOWS)
        least = self.request.min_probability
        return found.above(0.5 if least is None else least)

    def count(self, result: PictureResult) -> dict[str, int]:
        """Return the number of boxes, and whether there are any."""
        n = len(result.list_found())
        return {"boxes": n, "images_with_boxes": int(n > 0)}

    def list_rows(self, result: PictureResult) -> list[tuple[str, ...]]:
        """Return a row for each box."""
        name = results.make_printable(result.name)
        return [
            (
                name,
                "" if box["probability"] is None else f"{box['probability']:.2f}",
                *(f"{box[side]:.0f}" for side in ("x0", "y0", "x1", "y1")),
            )
            for box in result.list_found()
        ]

    def describe(self, tally: Tally) -> Iterator[str]:
        """Yield the number of boxes."""
        boxes = count_things(tally.totals["boxes"], "box", "boxes")
        images = count_things(tally.n_read, "image", "images")
        yield f"Found {boxes} in {tally.totals['images_with_boxes']:,} of {images}."
        if not self.has_p:
            yield "This detector has no probabilities; boxes are ranked by their windows."

    def give(self, tally: Tally) -> dict[str, Any]:
        """Return the numbers of boxes, and what the detector notes."""
        return {**super().give(tally), "notes": list(self.detector.notes_)}


run = DetectTask.run
