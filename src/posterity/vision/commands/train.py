"""``posterity vision train-detector``: learn a detector, with a checkpoint after each round."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from posterity import persistence, tables, vision
from posterity.cli import amounts, outcome, outputs
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, labelled, training_images
from posterity.vision.commands.training_images import TrainingImages

_MAY_DIFFER = ("n_estimators", "n_jobs", "warm_start", "prior")  # when a training goes on


@dataclass(frozen=True)
class TrainRequest:
    """What to learn from, the parameters of the detector, and where to save it."""

    patches: str | None
    scenes: str | None
    boxes: str | None
    images: str | None
    label: str | None
    out: str
    checkpoint: str | None
    resume: bool
    force: bool
    jobs: int | None
    parameters: dict[str, Any]

    @property
    def checkpoint_path(self) -> Path:
        """Where the unfinished detector lies."""
        if self.checkpoint is not None:
            return Path(self.checkpoint)
        out = Path(self.out)
        return out.with_name(f"{out.stem}.checkpoint{out.suffix}")

    def build_detector(self) -> vision.WindowDetector:
        """Return the detector to train."""
        jobs = detectors.count_jobs(self.jobs)
        return vision.WindowDetector(**self.parameters, n_jobs=jobs)


def run(plan: TrainRequest, voice: OutputPrinter) -> None:
    """Read the images, learn, and save the detector."""
    detectors.require_pillow()
    _check_outputs(plan)
    detector = _start(plan, voice)
    images = _read_images(plan)
    voice.say(f"Learning from {len(images.patches):,} patches and {len(images.scenes):,} scenes.")
    _fit(plan, detector, images, voice)
    # The number of threads and how it was trained are not part of the detector.
    detector.set_params(warm_start=False, n_jobs=None)
    persistence.save(detector, plan.out)
    plan.checkpoint_path.unlink(missing_ok=True)
    _conclude(plan, detector, images, voice)


def _check_outputs(plan: TrainRequest) -> None:
    given = (plan.patches, plan.scenes, plan.boxes)
    inputs = tuple(path for path in given if path is not None)
    outputs.check_output_file(plan.out, force=plan.force, inputs=inputs)
    outputs.check_output_file(str(plan.checkpoint_path), force=plan.force, inputs=inputs)
    if plan.resume and not plan.checkpoint_path.exists():
        raise typer.BadParameter(
            f"there is no checkpoint {str(plan.checkpoint_path)!r}; train without --resume."
        )


def _start(plan: TrainRequest, voice: OutputPrinter) -> vision.WindowDetector:
    """Return a new detector, or the one of the checkpoint."""
    new = plan.build_detector()
    if not plan.resume:
        return new
    place = plan.checkpoint_path
    unfinished = persistence.load(place)
    if not isinstance(unfinished, vision.WindowDetector):
        raise ModelError(f"{str(place)!r} is not the checkpoint of a detector.")
    had, wanted = unfinished.get_params(), new.get_params()
    for name, value in wanted.items():
        if name not in _MAY_DIFFER and had[name] != value:
            raise ModelError(
                f"The checkpoint was made with {name}={had[name]!r}, not {value!r}: use the same "
                "options, or train without --resume."
            )
    voice.say(f"Going on from {unfinished.n_estimators_:,} trees of {place}.")
    return unfinished.set_params(warm_start=True, n_jobs=new.n_jobs, n_estimators=new.n_estimators)


def _read_images(plan: TrainRequest) -> TrainingImages:
    size = training_images.find_patch_size(plan.parameters["window"], plan.parameters["inset"])
    if plan.boxes is None:
        return training_images.read_folders(str(plan.patches), str(plan.scenes), size)
    known = tables.read_boxes(plan.boxes, label=plan.label)
    reader = labelled.LabelledReader(
        labelled.find_folder(plan.boxes, plan.images), plan.parameters["channels"]
    )
    images = training_images.read_labelled(known, reader, size)
    if plan.scenes is not None:
        training_images.read_scenes(plan.scenes, images)
    return images


def _fit(
    plan: TrainRequest,
    detector: vision.WindowDetector,
    images: TrainingImages,
    voice: OutputPrinter,
) -> None:
    """Learn, and save the detector after each round."""

    def keep(unfinished: vision.WindowDetector) -> None:
        persistence.save(unfinished, plan.checkpoint_path)
        last = unfinished.rounds_[-1]
        voice.say(
            f"{last.n_trees:,} trees: log loss {last.log_loss:.4f}, {last.n_background:,} windows "
            f"without object; share of windows of scenes that passed before: {last.pass_rate:.2g}."
        )

    try:
        if not images.patches:
            raise ValueError("there are no patches.")
        pixels = np.stack(images.patches)
        pixels = pixels[:, 0] if detector.channels == "gray" else pixels
        with outcome.collect_warnings() as warned:
            detector.fit(
                pixels,
                images.scenes,
                scene_boxes=images.scene_boxes,
                groups=np.array(images.groups),
                on_round=keep,
            )
    except KeyboardInterrupt:
        if plan.checkpoint_path.exists():
            outcome.print_error(f"Go on with --resume from {plan.checkpoint_path}.")
        raise
    except ValueError as error:
        raise ModelError(f"The detector cannot be trained: {error}") from None
    voice.say(*(f"Note: {sentence}" for sentence in warned))


def _conclude(
    plan: TrainRequest,
    detector: vision.WindowDetector,
    images: TrainingImages,
    voice: OutputPrinter,
) -> None:
    n_bytes = Path(plan.out).stat().st_size
    voice.say(
        f"Detector of {detector.n_estimators_:,} trees saved to {plan.out} "
        f"({amounts.format_size(n_bytes)})."
    )
    voice.next("vision", "evaluate", "--model", plan.out, "--boxes", "boxes.csv")
    voice.give(
        {
            "model": plan.out,
            "n_trees": detector.n_estimators_,
            "n_patches": len(images.patches),
            "n_scenes": len(images.scenes),
            "failed": images.reading.n_failed,
            "n_bytes": n_bytes,
            "notes": list(detector.notes_),
            "rounds": [vars(one) for one in detector.rounds_],
        }
    )
    if images.reading.n_failed:
        outcome.print_error(
            f"{images.reading.n_failed:,} images could not be read and are left out."
        )
