"""``posterity vision train-patches``: learn the classes of small images from a folder of each."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from posterity import persistence, vision
from posterity.cli import output
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter
from posterity.vision.commands import models, options, reading
from posterity.vision.commands.picture_tasks import count_things
from posterity.vision.commands.training_requests import TrainPatchesRequest
from posterity.vision.integrals import Pixels


def run(request: TrainPatchesRequest, printer: OutputPrinter) -> None:
    """Read the images, test on a part of them, learn from all, and save the classifier."""
    models.require_pillow()
    output.check_output_file(request.out, force=request.force, inputs=(request.folder,))
    found = reading.read_patches(request.folder, options.parse_window(request.size))
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
    persistence.save(_build_model(request).fit(X, y), request.out)
    size = output.format_size(Path(request.out).stat().st_size)
    printer.say(f"Classifier saved to {request.out} ({size}).")
    printer.next("vision", "classify-patches", "new_image.png", "--model", request.out)
    failed = found.work.n_failed
    printer.give(
        {
            "model": request.out,
            "classes": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "failed": failed,
            "held_out": scores or None,
        }
    )
    reading.report_left_out(failed)


def _build_model(request: TrainPatchesRequest) -> vision.PatchClassifier:
    return vision.PatchClassifier(options.parse_window(request.size), random_state=request.seed)


def _test(request: TrainPatchesRequest, X: Pixels, y: Any) -> dict[str, Any]:
    """Return scores on held-out images; empty if none are held out."""
    n_classes = len(np.unique(y))
    n_test = round(request.hold_out * len(y))
    if n_test < n_classes:
        return {}
    rows = train_test_split(
        np.arange(len(y)), test_size=n_test, stratify=y, random_state=request.seed
    )
    model = _build_model(request).fit(X[rows[0]], y[rows[0]])
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
