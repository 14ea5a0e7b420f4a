"""Learn to label pixels from folders of images and labels: for segments and surfaces."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from posterity import persistence, vision
from posterity.cli import amounts, outcome, outputs
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, label_images
from posterity.vision.commands.label_images import VOID, LabelledImages

PixelModel: TypeAlias = vision.TextonSegmenter | vision.SurfaceLayout


@dataclass(frozen=True)
class LearnRequest:
    """What to learn from, the model, and where to save it.

    Attributes
    ----------
    noun : str
        What the model is called in sentences.
    command : str
        Subcommand that uses the model.
    """

    images: str
    labels: str
    classes: str | None
    void: tuple[int, ...]
    out: str
    force: bool
    noun: str
    command: str


def run(plan: LearnRequest, model: PixelModel, voice: OutputPrinter) -> None:
    """Read images and labels, learn, and save the model."""
    detectors.require_pillow()
    outputs.check_output_file(plan.out, force=plan.force, inputs=(plan.images, plan.labels))
    found = label_images.read_labelled_images(
        plan.images, plan.labels, classes=plan.classes, void=plan.void
    )
    voice.say(f"Learning from {len(found.images):,} images.")
    names = _fit(plan, model, found, voice)
    model.set_params(n_jobs=None)  # the number of threads is not part of the model
    persistence.save(model, plan.out)
    _conclude(plan, model, found, names, voice)


def _fit(
    plan: LearnRequest, model: PixelModel, found: LabelledImages, voice: OutputPrinter
) -> dict[int, str]:
    numbers = np.unique(np.concatenate([np.unique(labels) for labels in found.labels]))
    names = found.classes.name_all([int(k) for k in numbers if k != VOID])
    try:
        with outcome.collect_warnings() as warned:
            model.fit(found.images, found.labels, void=VOID, names=names)
    except ValueError as error:
        raise ModelError(f"The {plan.noun} cannot be trained: {error}") from None
    voice.say(*(f"Note: {sentence}" for sentence in warned))
    return names


def _conclude(
    plan: LearnRequest,
    model: PixelModel,
    found: LabelledImages,
    names: dict[int, str],
    voice: OutputPrinter,
) -> None:
    n_bytes = Path(plan.out).stat().st_size
    score, log_score = (
        getattr(model, name, None) for name in ("held_out_score_", "held_out_log_score_")
    )
    if score is not None:
        voice.say(
            f"On images that were left out, {score:.1%} of the pixels are right, and the log score "
            f"is {log_score:.3f}."
        )
    voice.say(
        f"A {plan.noun} of {', '.join(names.values())} is saved to {plan.out} "
        f"({amounts.format_size(n_bytes)})."
    )
    voice.next("vision", plan.command, "photo.jpg", "--model", plan.out, "--out", "labels.png")
    voice.give(
        {
            "model": plan.out,
            "n_images": len(found.images),
            "failed": found.n_failed,
            "classes": names,
            "accuracy": score,
            "log_score": log_score,
            "n_bytes": n_bytes,
        }
    )
    if found.n_failed:
        outcome.print_error(f"{found.n_failed:,} images could not be read and are left out.")
