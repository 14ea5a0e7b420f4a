"""Learn to label pixels from folders of images and labels: for segments and surfaces."""

from pathlib import Path
from typing import TypeAlias

import numpy as np

from posterity import persistence, vision
from posterity.cli import outcome, output
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import label_images, models, reading
from posterity.vision.commands.label_images import VOID, LabelledImages
from posterity.vision.commands.training_requests import LearnRequest

PixelModel: TypeAlias = vision.TextonSegmenter | vision.SurfaceLayout


def run(request: LearnRequest, printer: OutputPrinter) -> None:
    """Read images and labels, learn, and save the model."""
    models.require_pillow()
    inputs = (request.images, request.labels)
    output.check_output_file(request.out, force=request.force, inputs=inputs)
    model = _build_model(request)
    found = label_images.read_labelled_images(
        request.images, request.labels, classes=request.classes, void=request.void
    )
    printer.say(f"Learning from {len(found.images):,} images.")
    names = _fit(request, model, found, printer)
    model.set_params(n_jobs=None)  # the number of threads is not part of the model
    persistence.save(model, request.out)
    _conclude(request, model, found, names, printer)


def _build_model(request: LearnRequest) -> PixelModel:
    own = {name: getattr(request, option) for name, option in request.parameters.items()}
    model: PixelModel = getattr(vision, request.system)(
        **own, n_jobs=models.count_jobs(request.jobs), random_state=request.seed
    )
    return model


def _fit(
    request: LearnRequest, model: PixelModel, found: LabelledImages, printer: OutputPrinter
) -> dict[int, str]:
    numbers = np.unique(np.concatenate([np.unique(labels) for labels in found.labels]))
    names = found.classes.name_all([int(k) for k in numbers if k != VOID])
    try:
        with outcome.collect_warnings() as warned:
            model.fit(found.images, found.labels, void=VOID, names=names)
    except ValueError as error:
        raise ModelError(f"The {request.noun} cannot be trained: {error}") from None
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    return names


def _conclude(
    request: LearnRequest,
    model: PixelModel,
    found: LabelledImages,
    names: dict[int, str],
    printer: OutputPrinter,
) -> None:
    n_bytes = Path(request.out).stat().st_size
    score, log_score = (
        getattr(model, name, None) for name in ("held_out_score_", "held_out_log_score_")
    )
    if score is not None:
        printer.say(
            f"On images that were left out, {score:.1%} of the pixels are right, and the log score "
            f"is {log_score:.3f}."
        )
    printer.say(
        f"A {request.noun} of {', '.join(names.values())} is saved to {request.out} "
        f"({output.format_size(n_bytes)})."
    )
    printer.next(
        "vision", request.command, "photo.jpg", "--model", request.out, "--out", "labels.png"
    )
    printer.give(
        {
            "model": request.out,
            "n_images": len(found.images),
            "failed": found.n_failed,
            "classes": names,
            "accuracy": score,
            "log_score": log_score,
            "n_bytes": n_bytes,
        }
    )
    reading.report_left_out(found.n_failed)
