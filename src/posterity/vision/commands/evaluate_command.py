"""Declare ``posterity vision evaluate``."""

from posterity.cli import options as common
from posterity.cli import outcome
from posterity.vision.commands import evaluate_options, label_options, options


def evaluate(
    model: evaluate_options.ScoredModel = None,
    images: evaluate_options.ScoredImages = None,
    boxes: options.Boxes = None,
    labels: label_options.KnownLabels = None,
    classes: label_options.ClassFile = None,
    void: label_options.Void = [255],  # noqa: B006 -- typer reads it, and no one changes it
    opencv: options.OpenCV = None,
    label: options.Label = None,
    overlap: evaluate_options.Overlap = 0.4,
    min_size: options.MinSize = None,
    prior: options.Prior = None,
    out: evaluate_options.ScoresOut = None,
    draw: evaluate_options.ScoresDraw = None,
    jobs: options.Jobs = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Score a model on images that it was not trained on and whose contents are known.

    A detector is scored by known boxes (--boxes): detection rate, false positives, reliability. A
    segmenter or a surface layout is scored by images and labels (--images, --labels), and a patch
    classifier by one folder of images per class (--images): accuracy, log score, calibration.
    """
    with outcome.report_errors():
        from posterity.cli import voice
        from posterity.vision.commands import evaluate as work
        from posterity.vision.commands.evaluate_request import ScoreRequest

        plan = ScoreRequest(
            model=model,
            images=images,
            boxes=boxes,
            labels=labels,
            classes=classes,
            void=tuple(void),
            opencv=opencv,
            label=label,
            overlap=overlap,
            min_size=min_size,
            prior=prior,
            out=out,
            draw=draw,
            jobs=jobs,
            force=force,
        )
        work.run(plan, voice.OutputPrinter(json))
