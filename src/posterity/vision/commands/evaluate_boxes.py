"""Score a detector on images with known boxes: ``posterity vision evaluate --boxes FILE``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from posterity import displays, tables, vision
from posterity.arrays import Array
from posterity.cli import outcome
from posterity.cli.voice import OutputPrinter, to_json_types
from posterity.scoring.calibration import ProbabilityBins
from posterity.vision.commands import detectors, labelled
from posterity.vision.commands.evaluate_request import ScoreRequest
from posterity.vision.windows import calibration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNTS = (0, 1, 10, 20, 50, 100, 200, 500, 1000)  # false positives in the table
_BINS = 10


@dataclass(frozen=True, eq=False)
class _Found:
    """Boxes of an image, and which of them are right."""

    probability: Array
    rank: Array
    right: Any
    n_objects: int


@dataclass(frozen=True, eq=False)
class _Scores:
    """What was measured on all images."""

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


def run(plan: ScoreRequest, voice: OutputPrinter) -> None:
    """Search all images, compare with the known boxes, and print and write the scores."""
    boxes = _require_boxes(plan)
    known = tables.read_boxes(boxes, label=plan.label)
    detector = detectors.load_detector(
        plan.model, plan.opencv, prior=plan.prior, min_size=plan.min_size
    )
    detector.set_params(n_jobs=1)
    reader = labelled.LabelledReader(labelled.find_folder(boxes, plan.images), detector.channels)
    search = _BoxComparison(detector, reader, plan.overlap)
    with outcome.collect_warnings() as warned:
        found, failed = plan.compare_all(search, known, "Searching")
    voice.say(*(f"Note: {sentence}" for sentence in warned))
    if not sum(some.n_objects for some in found):
        raise tables.TableError(
            f"{boxes}: no object can be looked for, because no image with a box was read."
        )
    scores = _score(found)
    answer = _describe(plan, scores, failed)
    plan.write(answer, _tabulate_curve(scores), scores.draw)
    _print_scores(voice, scores)
    plan.conclude(voice, answer)


def _require_boxes(plan: ScoreRequest) -> str:
    if plan.boxes is None:
        raise typer.BadParameter("a detector is scored by known boxes: add --boxes FILE.")
    plan.require((), ("labels", "classes"), "detector")
    return plan.boxes


@dataclass(frozen=True)
class _BoxComparison:
    """Reads an image, searches it, and compares boxes; returns a sentence if it cannot be read."""

    detector: vision.WindowDetector
    reader: labelled.LabelledReader
    overlap: float

    def __call__(self, image: tables.LabelledImage) -> _Found | str | None:
        try:
            read = self.reader.read(image)
            if read is None:
                return None
            found = self.detector.detect(read.frames)
        except vision.ImageError as error:
            return str(error)
        except MemoryError:
            return f"{image.name} is too large for the memory."
        rank = found.score
        right = calibration.match_boxes(found.boxes, rank, read.boxes, self.overlap)
        return _Found(found.probability, rank, right, len(read.boxes))


def _score(found: list[_Found]) -> _Scores:
    probability = np.concatenate([some.probability for some in found])
    rank = np.concatenate([some.rank for some in found])
    right = np.concatenate([some.right for some in found])
    n_objects = sum(some.n_objects for some in found)
    curve = vision.displays.DetectionCurveDisplay.from_predictions(
        right, rank, n_objects=n_objects, n_images=len(found)
    )
    is_calibrated = len(rank) > 0 and not np.isnan(probability).any()
    reliability = (
        displays.ReliabilityDisplay.from_predictions(
            right, probability, n_bins=_BINS, event="a right box"
        )
        if is_calibrated
        else None
    )
    probable = probability >= 0.5
    return _Scores(curve, reliability, int(right[probable].sum()), int((~right[probable]).sum()))


def _print_scores(voice: OutputPrinter, scores: _Scores) -> None:
    curve = scores.curve
    most = int(curve.false_positives[-1])
    counts = sorted({k for k in _COUNTS if k < most} | {most})
    rows = [(f"{k:,}", f"{100.0 * curve.rate_at(k):.1f} %") for k in counts]
    title = f"{curve.n_objects:,} objects in {curve.n_images:,} images"
    voice.table(title, ("false positives", "detection rate"), rows, words=0)
    if scores.reliability is None:
        voice.say("This detector has no probabilities; boxes are ranked by their windows.")
    else:
        voice.say(
            f"At a probability of at least 0.5: {scores.detected:,} of {curve.n_objects:,} objects "
            f"found, {scores.wrong:,} false positives.",
            f"Expected calibration error of the probabilities: {scores.calibration_error:.3f}.",
        )


def _describe(plan: ScoreRequest, scores: _Scores, failed: int) -> dict[str, Any]:
    """Return all scores as JSON types."""
    curve, reliable = scores.curve, scores.reliability
    told: dict[str, Any] = {
        "boxes": plan.boxes,
        "model": plan.model or plan.opencv or detectors.DEFAULT,
        "overlap": plan.overlap,
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
