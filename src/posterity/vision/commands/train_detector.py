"""``posterity vision train-detector``: learn a detector, with a checkpoint after each round."""

from pathlib import Path

import numpy as np
import typer

from posterity import persistence, tables, vision
from posterity.cli import outcome, output
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import reading, sources
from posterity.vision.commands.reading import TrainingImages
from posterity.vision.commands.training_requests import TrainDetectorRequest

_MAY_DIFFER = ("n_estimators", "n_jobs", "warm_start", "prior")  # when a training goes on


def run(request: TrainDetectorRequest, printer: OutputPrinter) -> None:
    """Read the images, learn, and save the detector."""
    _check_inputs(request)
    sources.require_pillow()
    _check_outputs(request)
    detector = _start(request, printer)
    images = _read_images(request, detector)
    printer.say(f"Learning from {len(images.patches):,} patches and {len(images.scenes):,} scenes.")
    _fit(request, detector, images, printer)
    # The number of threads and how it was trained are not part of the detector.
    detector.set_params(warm_start=False, n_jobs=None)
    persistence.save(detector, request.out)
    request.unfinished.unlink(missing_ok=True)
    _conclude(request, detector, images, printer)


def _check_inputs(request: TrainDetectorRequest) -> None:
    """Refuse options that do not go together."""
    if (request.patches is None) == (request.boxes is None):
        raise typer.BadParameter("objects are given by --patches DIR or by --boxes FILE.")
    if request.patches is not None and request.scenes is None:
        raise typer.BadParameter("--patches needs images without objects: add --scenes DIR.")
    if request.boxes is None and request.channels != "gray":
        raise typer.BadParameter("two frames are only known with --boxes, not with --patches.")


def _build_detector(request: TrainDetectorRequest) -> vision.WindowDetector:
    return vision.WindowDetector(
        reading.parse_window(request.window),
        inset=parse_inset(request.inset),
        channels=request.channels,
        n_estimators=request.trees,
        max_features=request.features,
        n_patches=request.variations,
        n_background=request.background,
        mirror=request.mirror,
        n_jobs=sources.count_jobs(request.jobs),
        random_state=request.seed,
    )


def _check_outputs(request: TrainDetectorRequest) -> None:
    given = (request.patches, request.scenes, request.boxes)
    inputs = tuple(path for path in given if path is not None)
    output.check_output_file(request.out, force=request.force, inputs=inputs)
    output.check_output_file(str(request.unfinished), force=request.force, inputs=inputs)
    if request.resume and not request.unfinished.exists():
        raise typer.BadParameter(
            f"there is no checkpoint {str(request.unfinished)!r}; train without --resume."
        )


def _start(request: TrainDetectorRequest, printer: OutputPrinter) -> vision.WindowDetector:
    """Return a new detector, or the one of the checkpoint."""
    new = _build_detector(request)
    if not request.resume:
        return new
    place = request.unfinished
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
    printer.say(f"Going on from {unfinished.n_estimators_:,} trees of {place}.")
    return unfinished.set_params(warm_start=True, n_jobs=new.n_jobs, n_estimators=new.n_estimators)


def _read_images(request: TrainDetectorRequest, detector: vision.WindowDetector) -> TrainingImages:
    size = reading.find_patch_size(detector.window, detector.inset)
    if request.boxes is None:
        return reading.read_folders(str(request.patches), str(request.scenes), size)
    known = tables.read_boxes(request.boxes, label=request.label)
    reader = reading.LabelledReader(
        reading.find_folder(request.boxes, request.images), request.channels
    )
    images = reading.read_labelled(known, reader, size)
    if request.scenes is not None:
        reading.read_scenes(request.scenes, images)
    return images


def _fit(
    request: TrainDetectorRequest,
    detector: vision.WindowDetector,
    images: TrainingImages,
    printer: OutputPrinter,
) -> None:
    """Learn, and save the detector after each round."""

    def keep(unfinished: vision.WindowDetector) -> None:
        persistence.save(unfinished, request.unfinished)
        last = unfinished.rounds_[-1]
        printer.say(
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
        if request.unfinished.exists():
            outcome.print_error(f"Go on with --resume from {request.unfinished}.")
        raise
    except ValueError as error:
        raise ModelError(f"The detector cannot be trained: {error}") from None
    printer.say(*(f"Note: {sentence}" for sentence in warned))


def _conclude(
    request: TrainDetectorRequest,
    detector: vision.WindowDetector,
    images: TrainingImages,
    printer: OutputPrinter,
) -> None:
    n_bytes = Path(request.out).stat().st_size
    printer.say(
        f"Detector of {detector.n_estimators_:,} trees saved to {request.out} "
        f"({output.format_size(n_bytes)})."
    )
    printer.next("vision", "evaluate", "--model", request.out, "--boxes", "boxes.csv")
    printer.give(
        {
            "model": request.out,
            "n_trees": detector.n_estimators_,
            "n_patches": len(images.patches),
            "n_scenes": len(images.scenes),
            "failed": images.reading.n_failed,
            "n_bytes": n_bytes,
            "notes": list(detector.notes_),
            "rounds": [vars(one) for one in detector.rounds_],
        }
    )
    reading.report_left_out(images.reading.n_failed)


def parse_inset(text: str) -> tuple[float, float, float, float]:
    """Parse the four fractions of a patch around the window: top, left, bottom, right."""
    try:
        parts = tuple(float(part) for part in text.split(","))
    except ValueError:
        parts = ()
    if len(parts) == 1:
        parts *= 4
    if len(parts) != 4 or not all(0.0 <= part < 0.5 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a fraction below 0.5, or four of them for top, left, bottom, right, "
            "such as 0.1,0.1,0.1,0.1."
        )
    top, left, bottom, right = parts
    return top, left, bottom, right
