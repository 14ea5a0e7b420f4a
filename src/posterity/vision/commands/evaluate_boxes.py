"""Score a detector on images with known boxes: ``posterity vision evaluate --boxes FILE``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from posterity import displays, tables, vision
from posterity.arrays import Array
from posterity.cli import outcome
from posterity.cli.output import OutputPrinter, to_json_types
from posterity.scoring.calibration import ProbabilityBins
from posterity.vision.commands import models, reading, scoring
from posterity.vision.commands.training_requests import EvaluateRequest
from posterity.vision.displays.detection_curve import match_detections

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNTS = (0, 1, 10, 20, 50, 100, 200, 500, 1000)  # false positives in the table
_BINS = 10


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores on all images."""

    curve: vision.displays.DetectionCurveDisplay
    reliability: displays.ReliabilityDisplay | None
    detected: int  # objects found at a probability of at least one half
    wrong: int  # boxes without object there

    @property
    def calibration_error(self) -> float | None:
        """Expected calibration error, over bins of about equal numbers of boxes."""
        if self.reliability is None:
            return None
        found = self.reliability
        return ProbabilityBins(found.predicted, found.observed, found.counts).error

    def draw(self, figure: Figure) -> None:
        """Draw detection rate and reliability."""
        left, right = figure.subplots(1, 2)
        n_objects, n_images = self.curve.n_objects, self.curve.n_images
        self.curve.plot(left).set_title(f"{n_objects:,} objects, {n_images:,} images")
        if self.reliability is None:
            right.set_axis_off()
        else:
            self.reliability.plot(right).legend()
            right.set_title(f"calibration error {self.calibration_error:.3f}")


def run(request: EvaluateRequest, printer: OutputPrinter) -> None:
    """Search all images, compare with the known boxes, and print and write the scores."""
    boxes = _require_boxes(request)
    known = tables.read_boxes(boxes, label=request.label)
    detector = models.load_detector(request).set_params(n_jobs=1)
    reader = reading.LabelledReader(reading.find_folder(boxes, request.images), detector.channels)

    def search(image: tables.LabelledImage) -> tuple[vision.Detections, Array] | None:
        read = reader.read(image)
        return None if read is None else (detector.detect(read.frames), read.boxes)

    with outcome.collect_warnings() as warned:
        found, failed = scoring.compare_all(
            request, search, known, "Searching", lambda one: one.name
        )
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    if not sum(len(objects) for _, objects in found):
        raise tables.TableError(
            f"{boxes}: no object can be looked for, because no image with a box was read."
        )
    scores = _score([some for some, _ in found], [objects for _, objects in found], request.overlap)
    answer = _describe(request, scores, failed)
    scoring.write_scores(request, answer, _tabulate_curve(scores), scores.draw)
    _print_scores(printer, scores)
    scoring.conclude(request, printer, answer)


def _require_boxes(request: EvaluateRequest) -> str:
    if request.boxes is None:
        raise typer.BadParameter("a detector is scored by known boxes: add --boxes FILE.")
    scoring.check_options(request, (), ("labels", "classes"), "detector")
    return request.boxes


def _score(found: Sequence[vision.Detections], objects: Sequence[Array], overlap: float) -> _Scores:
    curve = vision.displays.DetectionCurveDisplay.from_detections(found, objects, overlap=overlap)
    probability = np.concatenate([some.probability for some in found])
    if not len(probability) or np.isnan(probability).any():
        return _Scores(curve, None, 0, 0)
    right, _ = match_detections(found, objects, overlap)
    reliability = vision.displays.check_detections(found, objects, overlap=overlap, n_bins=_BINS)
    probable = right[probability >= 0.5]
    return _Scores(curve, reliability, int(probable.sum()), int((~probable).sum()))


def _print_scores(printer: OutputPrinter, scores: _Scores) -> None:
    curve = scores.curve
    most = int(curve.false_positives[-1])
    counts = sorted({k for k in _COUNTS if k < most} | {most})
    rows = [(f"{k:,}", f"{100.0 * curve.rate_at(k):.1f} %") for k in counts]
    title = f"{curve.n_objects:,} objects in {curve.n_images:,} images"
    printer.table(title, ("false positives", "detection rate"), rows, words=0)
    if scores.reliability is None:
        printer.say("This detector has no probabilities; boxes are ranked by their windows.")
    else:
        printer.say(
            f"At a probability of at least 0.5: {scores.detected:,} of {curve.n_objects:,} objects "
            f"found, {scores.wrong:,} false positives.",
            f"Expected calibration error of the probabilities: {scores.calibration_error:.3f}.",
        )


def _describe(request: EvaluateRequest, scores: _Scores, failed: int) -> dict[str, Any]:
    """Return all scores as JSON types."""
    curve, reliable = scores.curve, scores.reliability
    told: dict[str, Any] = {
        "boxes": request.boxes,
        "model": request.model or request.opencv or models.DEFAULT,
        "overlap": request.overlap,
        "n_images": curve.n_images,
        "n_objects": curve.n_objects,
        "failed": failed,
        "calibration_error": scores.calibration_error,
        "detected_at_half": None if reliable is None else scores.detected,
        "false_positives_at_half": None if reliable is None else scores.wrong,
        "curve": {
            "false_positives": curve.false_positives.tolist(),
            "detection_rate": curve.detection_rate.tolist(),
            "score": curve.score.tolist(),
        },
    }
    if reliable is not None:
        told["reliability"] = {
            name: getattr(reliable, name).tolist() for name in ("predicted", "observed", "counts")
        }
    converted: dict[str, Any] = to_json_types(told)
    return converted


def _tabulate_curve(scores: _Scores) -> tuple[tuple[str, ...], Iterable[tuple[float, ...]]]:
    curve = scores.curve
    columns = ("false_positives", "detection_rate", "score")
    return columns, zip(curve.false_positives, curve.detection_rate, curve.score, strict=True)
