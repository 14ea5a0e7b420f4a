"""``posterity vision evaluate``: score a model on images whose contents are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from posterity import displays, files, persistence, tables, vision
from posterity.arrays import Array
from posterity.cli import outcome, output
from posterity.cli.output import OutputPrinter, to_json_types
from posterity.scoring.calibration import ProbabilityBins
from posterity.vision.commands import evaluate_classes, reading, results, sources
from posterity.vision.commands.results import Evaluation
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


def score_detector(request: EvaluateRequest, printer: OutputPrinter) -> Evaluation:
    """Search all images, and compare what is found with the known boxes."""
    boxes = request.boxes
    if boxes is None:
        raise typer.BadParameter("a detector is scored by known boxes: add --boxes FILE.")
    request.check_options("detector", refused=("labels", "classes"))
    known = tables.read_boxes(boxes, label=request.label)
    detector = sources.load_detector(request).set_params(n_jobs=1)
    reader = reading.LabelledReader(reading.find_folder(boxes, request.images), detector.channels)

    def search(image: tables.LabelledImage) -> tuple[vision.Detections, Array] | None:
        read = reader.read(image)
        return None if read is None else (detector.detect(read.frames), read.boxes)

    work, n_jobs = reading.ImageReading(), sources.count_jobs(request.jobs)
    with outcome.collect_warnings() as warned:
        found = list(
            work.read_all(search, known, "Searching", n_jobs=n_jobs, name=lambda one: one.name)
        )
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    if not sum(len(objects) for _, objects in found):
        raise tables.TableError(
            f"{boxes}: no object can be looked for, because no image with a box was read."
        )
    scores = _score([some for some, _ in found], [objects for _, objects in found], request.overlap)
    curve = scores.curve
    columns = ("false_positives", "detection_rate", "score")
    return Evaluation(
        _describe(request, scores, work.n_failed),
        (columns, zip(*(getattr(curve, column) for column in columns), strict=True)),
        scores.draw,
        _tabulate(curve),
        _describe_probabilities(scores),
        n_words=0,
    )


def _score(found: Sequence[vision.Detections], objects: Sequence[Array], overlap: float) -> _Scores:
    curve = vision.displays.DetectionCurveDisplay.from_detections(found, objects, overlap=overlap)
    probability = np.concatenate([some.probability for some in found])
    if not len(probability) or np.isnan(probability).any():
        return _Scores(curve, None, 0, 0)
    right, _ = match_detections(found, objects, overlap)
    reliability = vision.displays.check_detections(found, objects, overlap=overlap, n_bins=_BINS)
    probable = right[probability >= 0.5]
    return _Scores(curve, reliability, int(probable.sum()), int((~probable).sum()))


def _tabulate(
    curve: vision.displays.DetectionCurveDisplay,
) -> tuple[str, tuple[str, str], list[tuple[str, str]]]:
    """Return the title, the columns and the rows of the printed table."""
    most = int(curve.false_positives[-1])
    counts = sorted({k for k in _COUNTS if k < most} | {most})
    rows = [(f"{k:,}", f"{100.0 * curve.rate_at(k):.1f} %") for k in counts]
    title = f"{curve.n_objects:,} objects in {curve.n_images:,} images"
    return title, ("false positives", "detection rate"), rows


def _describe_probabilities(scores: _Scores) -> tuple[str, ...]:
    if scores.reliability is None:
        return ("This detector has no probabilities; boxes are ranked by their windows.",)
    return (
        f"At a probability of at least 0.5: {scores.detected:,} of {scores.curve.n_objects:,} "
        f"objects found, {scores.wrong:,} false positives.",
        f"Expected calibration error of the probabilities: {scores.calibration_error:.3f}.",
    )


def _describe(request: EvaluateRequest, scores: _Scores, failed: int) -> dict[str, Any]:
    """Return all scores as JSON types."""
    curve, reliable = scores.curve, scores.reliability
    told: dict[str, Any] = {
        "boxes": request.boxes,
        "model": request.model or request.opencv or sources.DEFAULT,
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


_PICTURES = (".png", ".jpg", ".pdf", ".svg")
_SCORES = {
    "WindowDetector": score_detector,
    "TextonSegmenter": evaluate_classes.score_segmenter,
    "SurfaceLayout": evaluate_classes.score_surfaces,
    "PatchClassifier": evaluate_classes.score_patches,
}


def run(request: EvaluateRequest, printer: OutputPrinter) -> None:
    """Score the model by the boxes, labels or folders that its kind needs."""
    sources.require_pillow()
    _check_outputs(request)
    kind = next(iter(_SCORES))
    if request.model is not None:
        kind = persistence.describe(request.model).class_name
    if kind not in _SCORES:
        raise outcome.ModelError(
            f"{request.model!r} contains a {kind}; only detectors, segmenters, surface layouts and "
            "patch classifiers are scored by labelled images."
        )
    found = _SCORES[kind](request, printer)
    _write(request, found)
    printer.table(*found.table, words=found.n_words)
    printer.say(*found.sentences)
    printer.say("These scores are valid only for images that the model was not trained on.")
    printer.say(*(f"Scores written to {path}." for path in (request.out, request.draw) if path))
    printer.give(found.answer)
    if found.answer["failed"]:
        reading.report_left_out(found.answer["failed"])
        raise typer.Exit(outcome.DATA)


def _check_outputs(request: EvaluateRequest) -> None:
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


def _write(request: EvaluateRequest, found: Evaluation) -> None:
    """Write all scores as JSON or a table of them as CSV, and a picture of them."""
    if request.out is not None:
        as_csv = results.find_format(request.out) == "csv"
        answer = json.dumps(found.answer, indent=1).encode()
        with files.replace_atomically(request.out) as file:
            file.write(results.format_csv(*found.sheet) if as_csv else answer)
    if request.draw is not None:
        with results.start_figure(9.0, 4.2) as figure:
            found.draw(figure)
            results.save_figure(request.draw, figure)
