"""``posterity vision evaluate``: score a detector on images with known boxes."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from posterity import displays, files, progress, tables, vision
from posterity.arrays import Array
from posterity.cli import outcome, outputs
from posterity.cli.vision import detectors, labelled, parallel, results
from posterity.cli.voice import OutputPrinter, to_json_types
from posterity.vision.windows import calibration

_COUNTS = (0, 1, 10, 20, 50, 100, 200, 500, 1000)  # false positives in the table
_PICTURES = (".png", ".jpg", ".pdf", ".svg")
_BINS = 10


@dataclass(frozen=True)
class EvaluateRequest:
    """Known boxes, the detector, and what to write."""

    boxes: str
    model: str | None
    opencv: str | None
    images: str | None
    label: str | None
    overlap: float
    min_size: float | None
    prior: float | None
    out: str | None
    draw: str | None
    jobs: int | None
    force: bool


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

    curve: displays.DetectionCurveDisplay
    reliability: displays.ReliabilityDisplay | None
    detected: int  # objects found at a probability of at least one half
    wrong: int  # boxes without object there

    @property
    def calibration_error(self) -> float | None:
        """Expected calibration error, over bins of about equal numbers of boxes."""
        if self.reliability is None:
            return None
        gaps = np.abs(self.reliability.predicted - self.reliability.observed)
        return float(np.average(gaps, weights=self.reliability.counts))


def run(plan: EvaluateRequest, voice: OutputPrinter) -> None:
    """Search all images, compare with the known boxes, and print and write the scores."""
    _check_outputs(plan)
    known = tables.read_boxes(plan.boxes, label=plan.label)
    detector = detectors.load_detector(
        plan.model, plan.opencv, prior=plan.prior, min_size=plan.min_size
    )
    detector.set_params(n_jobs=1)
    reader = labelled.LabelledReader(
        labelled.find_folder(plan.boxes, plan.images), detector.channels
    )
    search = _Search(detector, reader, plan.overlap)
    found, failed = _search_all(search, known, detectors.count_jobs(plan.jobs))
    if not sum(some.n_objects for some in found):
        raise tables.TableError(
            f"{plan.boxes}: no object can be looked for, because no image with a box was read."
        )
    scores = _score(found)
    _write(plan, scores)
    _conclude(plan, voice, scores, failed)


@dataclass(frozen=True)
class _Search:
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


def _search_all(
    search: _Search, known: tuple[tables.LabelledImage, ...], jobs: int
) -> tuple[list[_Found], int]:
    """Return what is found in each image, and how many images cannot be read."""
    found: list[_Found] = []
    n_failed = 0
    work = parallel.map_in_order(search, known, jobs)
    for result in progress.track(
        work, description="Searching", total=len(known), unit="images", size=lambda _: 1
    ):
        if isinstance(result, str):
            n_failed += 1
            outcome.print_error(results.make_printable(result))
        elif result is not None:
            found.append(result)
    return found, n_failed


def _score(found: list[_Found]) -> _Scores:
    probability = np.concatenate([some.probability for some in found])
    rank = np.concatenate([some.rank for some in found])
    right = np.concatenate([some.right for some in found])
    n_objects = sum(some.n_objects for some in found)
    curve = displays.DetectionCurveDisplay.from_predictions(
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


def _conclude(plan: EvaluateRequest, voice: OutputPrinter, scores: _Scores, failed: int) -> None:
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
    voice.say("These scores are valid only for images that the detector was not trained on.")
    for path in (plan.out, plan.draw):
        if path is not None:
            voice.say(f"Scores written to {path}.")
    voice.give(_describe(plan, scores, failed))
    if failed:
        outcome.print_error(f"{failed:,} images could not be read and are left out.")
        raise typer.Exit(outcome.DATA)


def _describe(plan: EvaluateRequest, scores: _Scores, failed: int = 0) -> dict[str, Any]:
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


def _write(plan: EvaluateRequest, scores: _Scores) -> None:
    """Write the scores and their picture."""
    if plan.out is not None:
        as_csv = results.find_format(plan.out) == "csv"
        text = _format_curve(scores) if as_csv else json.dumps(_describe(plan, scores), indent=1)
        with files.replace_atomically(plan.out) as file:
            file.write(text.encode())
    if plan.draw is not None:
        with files.replace_atomically(plan.draw) as file:
            _draw(scores, file, Path(plan.draw).suffix.lower().removeprefix("."))


def _format_curve(scores: _Scores) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("false_positives", "detection_rate", "score"))
    curve = scores.curve
    writer.writerows(zip(curve.false_positives, curve.detection_rate, curve.score, strict=True))
    return out.getvalue()


def _draw(scores: _Scores, file: Any, kind: str) -> None:
    from matplotlib.figure import Figure

    with displays.style():
        figure = Figure(figsize=(9.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        curve = scores.curve
        scores.curve.plot(left).set_title(f"{curve.n_objects:,} objects, {curve.n_images:,} images")
        if scores.reliability is None:
            right.set_axis_off()
        else:
            scores.reliability.plot(right).legend()
            right.set_title(f"calibration error {scores.calibration_error:.3f}")
        figure.savefig(file, format=kind)


def _check_outputs(plan: EvaluateRequest) -> None:
    for path in (plan.out, plan.draw):
        if path is not None:
            outputs.check_output_file(path, force=plan.force, inputs=(plan.boxes,))
    if plan.out is not None:
        results.find_format(plan.out)
    if plan.draw is not None and Path(plan.draw).suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"--draw {plan.draw!r} must end in {', '.join(_PICTURES)}.")
