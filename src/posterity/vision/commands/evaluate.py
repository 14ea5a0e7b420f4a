"""``posterity vision evaluate``: score a model on images whose contents are known."""

from posterity import persistence
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, evaluate_boxes, evaluate_classes
from posterity.vision.commands.evaluate_request import ScoreRequest


def run(plan: ScoreRequest, voice: OutputPrinter) -> None:
    """Score the model by the boxes, labels or folders that its kind needs."""
    detectors.require_pillow()
    plan.check_outputs()
    kind = "WindowDetector" if plan.model is None else persistence.describe(plan.model).class_name
    if kind == "WindowDetector":
        evaluate_boxes.run(plan, voice)
    elif kind == "TextonSegmenter":
        evaluate_classes.score_pixels(plan, voice, "segmenter")
    elif kind == "SurfaceLayout":
        evaluate_classes.score_pixels(plan, voice, "surface layout")
    elif kind == "PatchClassifier":
        evaluate_classes.score_patches(plan, voice, "patch classifier")
    else:
        raise ModelError(
            f"{plan.model!r} contains a {kind}; only detectors, segmenters, surface layouts and "
            "patch classifiers are scored by labelled images."
        )
