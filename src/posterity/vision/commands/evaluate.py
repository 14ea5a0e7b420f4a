"""``posterity vision evaluate``: score a model on images whose contents are known."""

from posterity import persistence
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import evaluate_boxes, evaluate_classes, models, scoring
from posterity.vision.commands.training_requests import EvaluateRequest


def run(request: EvaluateRequest, printer: OutputPrinter) -> None:
    """Score the model by the boxes, labels or folders that its kind needs."""
    models.require_pillow()
    scoring.check_outputs(request)
    kind = (
        "WindowDetector"
        if request.model is None
        else persistence.describe(request.model).class_name
    )
    if kind == "WindowDetector":
        evaluate_boxes.run(request, printer)
    elif kind == "TextonSegmenter":
        evaluate_classes.score_pixels(request, printer, "segmenter")
    elif kind == "SurfaceLayout":
        evaluate_classes.score_pixels(request, printer, "surface layout")
    elif kind == "PatchClassifier":
        evaluate_classes.score_patches(request, printer, "patch classifier")
    else:
        raise ModelError(
            f"{request.model!r} contains a {kind}; only detectors, segmenters, surface layouts and "
            "patch classifiers are scored by labelled images."
        )
