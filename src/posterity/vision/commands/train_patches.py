"""``posterity vision train-patches``: learn the classes of small images from a folder of each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from posterity import persistence, vision
from posterity.cli import amounts, outcome, outputs
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import detectors, patch_folders
from posterity.vision.commands.tally import count_things
from posterity.vision.integrals import Pixels


@dataclass(frozen=True)
class TrainPatchesRequest:
    """Folder of classes, the size of patches, and where to save the classifier."""

    folder: str
    out: str
    size: tuple[int, int]
    hold_out: float
    seed: int
    force: bool


def run(plan: TrainPatchesRequest, voice: OutputPrinter) -> None:
    """Read the images, test on a part of them, learn from all, and save the classifier."""
    detectors.require_pillow()
    outputs.check_output_file(plan.out, force=plan.force, inputs=(plan.folder,))
    found = patch_folders.read_patches(plan.folder, plan.size)
    X, y = np.stack(found.patches), np.array(found.labels)
    names, counts = np.unique(y, return_counts=True)
    if len(names) < 2 or counts.min() < 2:
        raise ModelError(
            f"{plan.folder} must have two classes or more with at least two readable images each; "
            f"it has {', '.join(f'{n} of {name}' for name, n in zip(names, counts, strict=True))}."
        )
    voice.say(f"Learning {len(names)} classes from {count_things(len(y), 'image', 'images')}.")
    scores = _test(plan, X, y)
    if scores:
        voice.say(
            f"On {scores['n_images']:,} images that were held out: accuracy "
            f"{100 * scores['accuracy']:.1f} %, where probabilities promise "
            f"{100 * scores['expected_accuracy']:.1f} %; log score {scores['log_score']:.3f}, by "
            f"class frequencies alone {scores['baseline_log_score']:.3f}."
        )
    persistence.save(_build_model(plan).fit(X, y), plan.out)
    size = amounts.format_size(Path(plan.out).stat().st_size)
    voice.say(f"Classifier saved to {plan.out} ({size}).")
    voice.next("vision", "classify-patches", "new_image.png", "--model", plan.out)
    failed = found.work.n_failed
    voice.give(
        {
            "model": plan.out,
            "classes": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "failed": failed,
            "held_out": scores or None,
        }
    )
    if failed:
        outcome.print_error(f"{failed:,} images could not be read and are left out.")


def _build_model(plan: TrainPatchesRequest) -> vision.PatchClassifier:
    return vision.PatchClassifier(plan.size, random_state=plan.seed)


def _test(plan: TrainPatchesRequest, X: Pixels, y: Any) -> dict[str, Any]:
    """Return scores on held-out images; empty if none are held out."""
    n_classes = len(np.unique(y))
    n_test = round(plan.hold_out * len(y))
    if n_test < n_classes:
        return {}
    rows = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=plan.seed)
    model = _build_model(plan).fit(X[rows[0]], y[rows[0]])
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
