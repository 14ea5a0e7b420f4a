"""Subcommands of ``posterity vision`` that label pixels, and those that learn to."""

from collections.abc import Callable

from posterity.cli import options as common
from posterity.cli import outcome
from posterity.vision.commands import label_options, options

_UNREADABLE = "Files that cannot be read are reported and skipped; the exit code is then 3."


def _build_command(class_name: str, trained_by: str, help_text: str) -> Callable[..., None]:
    """Build the subcommand that labels pixels with a model of a class.

    Parameters
    ----------
    class_name : str
        Class of ``posterity.vision``.
    trained_by : str
        Subcommand that trains such models.
    help_text : str
        First sentence of the help.
    """

    def label(
        inputs: label_options.LabelInputs,
        model: label_options.PixelModel = None,
        out: label_options.LabelsOut = None,
        entropy: label_options.Entropy = None,
        probabilities: label_options.Probabilities = None,
        classes: label_options.ClassColors = None,
        jobs: options.Jobs = None,
        force: common.Force = False,
        json: common.Json = False,
    ) -> None:
        with outcome.report_errors():
            from posterity import vision
            from posterity.cli import voice
            from posterity.vision.commands import label_pixels

            plan = label_pixels.LabelRequest(
                inputs=tuple(inputs),
                model=model,
                out=out,
                entropy=entropy,
                probabilities=probabilities,
                classes=classes,
                jobs=jobs,
                force=force,
                kind=getattr(vision, class_name),
                command=trained_by,
            )
            label_pixels.run(plan, voice.OutputPrinter(json))

    label.__doc__ = f"{help_text}\n\n{_UNREADABLE}"
    return label


segment = _build_command(
    "TextonSegmenter",
    "train-segmenter",
    "Label every pixel of photographs, with a probability for every class.",
)
surfaces = _build_command(
    "SurfaceLayout",
    "train-surfaces",
    "Label the surfaces of scenes, with a probability for every pixel.",
)


def train_surfaces(
    images: label_options.LabelledImages,
    labels: label_options.Labels,
    out: label_options.PixelModelOut = "surfaces.posterity",
    classes: label_options.ClassFile = None,
    void: label_options.Void = [255],  # noqa: B006 -- typer reads it, and no one changes it
    trees: label_options.MostTrees = 100,
    jobs: options.Jobs = None,
    seed: common.Seed = 0,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Learn the surfaces of scenes, such as ground, walls and sky, from labelled images."""
    with outcome.report_errors():
        from posterity import vision
        from posterity.cli import voice
        from posterity.vision.commands import detectors, learn_labels

        plan = learn_labels.LearnRequest(
            images=images,
            labels=labels,
            classes=classes,
            void=tuple(void),
            out=out,
            force=force,
            noun="surface layout",
            command="surfaces",
        )
        jobs = detectors.count_jobs(jobs)
        model = vision.SurfaceLayout(n_estimators=trees, n_jobs=jobs, random_state=seed)
        learn_labels.run(plan, model, voice.OutputPrinter(json))


def train_segmenter(
    images: label_options.LabelledImages,
    labels: label_options.Labels,
    out: label_options.PixelModelOut = "segmenter.posterity",
    classes: label_options.ClassFile = None,
    void: label_options.Void = [255],  # noqa: B006 -- typer reads it, and no one changes it
    textons: label_options.NumberOfTextons = 400,
    trees: label_options.MostTrees = 400,
    folds: label_options.Folds = 4,
    smooth: label_options.Smooth = True,
    jobs: options.Jobs = None,
    seed: common.Seed = 0,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Learn to label every pixel of photographs, such as grass, cow and sky."""
    with outcome.report_errors():
        from posterity import vision
        from posterity.cli import voice
        from posterity.vision.commands import detectors, learn_labels

        plan = learn_labels.LearnRequest(
            images=images,
            labels=labels,
            classes=classes,
            void=tuple(void),
            out=out,
            force=force,
            noun="segmenter",
            command="segment",
        )
        model = vision.TextonSegmenter(
            textons,
            n_estimators=trees,
            cv=folds,
            smooth=smooth,
            n_jobs=detectors.count_jobs(jobs),
            random_state=seed,
        )
        learn_labels.run(plan, model, voice.OutputPrinter(json))
