"""``posterity vision evaluate``: score a model on images whose contents are known."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from posterity import displays, files, persistence
from posterity.cli import outcome, outputs
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import evaluate_boxes, evaluate_classes, models, reading, results
from posterity.vision.commands.results import Evaluation
from posterity.vision.commands.training_requests import EvaluateRequest

_PICTURES = (".png", ".jpg", ".pdf", ".svg")
_SCORES = {
    "WindowDetector": evaluate_boxes.score_detector,
    "TextonSegmenter": evaluate_classes.score_segmenter,
    "SurfaceLayout": evaluate_classes.score_surfaces,
    "PatchClassifier": evaluate_classes.score_patches,
}


def run(request: EvaluateRequest, printer: OutputPrinter) -> None:
    """Score the model by the boxes, labels or folders that its kind needs."""
    models.require_pillow()
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
            outputs.check_output_file(path, force=request.force, inputs=inputs)
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
        with displays.style():
            from matplotlib.figure import Figure

            figure = Figure(figsize=(9.0, 4.2), layout="constrained")
            found.draw(figure)
            results.save_figure(request.draw, figure)
