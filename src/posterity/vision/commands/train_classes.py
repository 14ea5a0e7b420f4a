"""Learn classes: of pixels from folders of images and labels, and of small images from folders."""

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from posterity import persistence, vision
from posterity.cli import outcome, output
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import label_images, reading, sources
from posterity.vision.commands.label_images import VOID
from posterity.vision.commands.picture_tasks import count_things
from posterity.vision.commands.training_requests import LearnRequest, TrainPatchesRequest
from posterity.vision.integrals import Pixels

PixelModel: TypeAlias = vision.TextonSegmenter | vision.SurfaceLayout


class _Learned(NamedTuple):
    """A model, what it is in a sentence, and further entries of the answer in JSON."""

    model: Any
    sentence: str
    answer: dict[str, Any]


def run(request: LearnRequest | TrainPatchesRequest, printer: OutputPrinter) -> None:
    """Read images and classes, learn, and save the model."""
    sources.require_pillow()
    output.check_output_file(request.out, force=request.force, inputs=request.folders)
    found = _LEARN[request.system](request, printer)
    persistence.save(found.model, request.out)
    n_bytes = Path(request.out).stat().st_size
    printer.say(f"{found.sentence} saved to {request.out} ({output.format_size(n_bytes)}).")
    first, *options = request.example
    printer.next("vision", request.command, first, "--model", request.out, *options)
    printer.give({"model": request.out, **found.answer, "n_bytes": n_bytes})
    reading.report_left_out(found.answer["failed"])


def _learn_pixels(request: LearnRequest, printer: OutputPrinter) -> _Learned:
    own = {name: getattr(request, option) for name, option in request.parameters.items()}
    model: PixelModel = getattr(vision, request.system)(
        **own, n_jobs=sources.count_jobs(request.jobs), random_state=request.seed
    )
    found = label_images.read_labelled_images(
        request.images, request.labels, classes=request.classes, void=request.void
    )
    printer.say(f"Learning from {len(found.images):,} images.")
    numbers = np.unique(np.concatenate([np.unique(labels) for labels in found.labels]))
    names = found.classes.name_all([int(k) for k in numbers if k != VOID])
    try:
        with outcome.collect_warnings() as warned:
            model.fit(found.images, found.labels, void=VOID, names=names)
    except ValueError as error:
        raise ModelError(f"The {request.noun} cannot be trained: {error}") from None
    printer.say(*(f"Note: {sentence}" for sentence in warned))
    model.set_params(n_jobs=None)  # the number of threads is not part of the model
    score, log_score = (
        getattr(model, name, None) for name in ("held_out_score_", "held_out_log_score_")
    )
    if score is not None:
        printer.say(
            f"On images that were left out, {score:.1%} of the pixels are right, and the log score "
            f"is {log_score:.3f}."
        )
    answer = {
        "n_images": len(found.images),
        "failed": found.n_failed,
        "classes": names,
        "accuracy": score,
        "log_score": log_score,
    }
    return _Learned(model, f"A {request.noun} of {', '.join(names.values())} is", answer)


def _learn_patches(request: TrainPatchesRequest, printer: OutputPrinter) -> _Learned:
    """Test on a part of the images, and learn from all."""
    found = reading.read_patches(request.folder, reading.parse_window(request.size))
    X, y = np.stack(found.patches), np.array(found.labels)
    names, counts = np.unique(y, return_counts=True)
    if len(names) < 2 or counts.min() < 2:
        counted = ", ".join(f"{n} of {name}" for name, n in zip(names, counts, strict=True))
        raise ModelError(
            f"{request.folder} must have two classes or more with at least two readable images "
            f"each; it has {counted}."
        )
    printer.say(f"Learning {len(names)} classes from {count_things(len(y), 'image', 'images')}.")
    scores = _test(request, X, y)
    if scores:
        printer.say(
            f"On {scores['n_images']:,} images that were held out: accuracy "
            f"{100 * scores['accuracy']:.1f} %, where probabilities promise "
            f"{100 * scores['expected_accuracy']:.1f} %; log score {scores['log_score']:.3f}, by "
            f"class frequencies alone {scores['baseline_log_score']:.3f}."
        )
    answer = {
        "classes": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "failed": found.work.n_failed,
        "held_out": scores or None,
    }
    return _Learned(_build_classifier(request).fit(X, y), "Classifier", answer)


_LEARN: dict[str, Any] = {
    "TextonSegmenter": _learn_pixels,
    "SurfaceLayout": _learn_pixels,
    "PatchClassifier": _learn_patches,
}


def _build_classifier(request: TrainPatchesRequest) -> vision.PatchClassifier:
    return vision.PatchClassifier(reading.parse_window(request.size), random_state=request.seed)


def _test(request: TrainPatchesRequest, X: Pixels, y: Any) -> dict[str, Any]:
    """Return scores on held-out images; empty if none are held out."""
    n_classes = len(np.unique(y))
    n_test = round(request.hold_out * len(y))
    if n_test < n_classes:
        return {}
    rows = train_test_split(
        np.arange(len(y)), test_size=n_test, stratify=y, random_state=request.seed
    )
    model = _build_classifier(request).fit(X[rows[0]], y[rows[0]])
    p = model.predict_proba(X[rows[1]])
    codes = np.searchsorted(model.classes_, y[rows[1]])
    shares = np.bincount(np.searchsorted(model.classes_, y[rows[0]])) / len(rows[0])
    return {
        "n_images": n_test,
        "accuracy": float(np.mean(p.argmax(axis=1) == codes)),
        "expected_accuracy": float(np.mean(p.max(axis=1))),
        "log_score": -float(log_loss(codes, p, labels=range(n_classes))),
        "baseline_log_score": float(np.mean(np.log(shares[codes]))),
    }
