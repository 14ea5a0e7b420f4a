"""Score models of classes on labelled images: segmenters, surface layouts, patch classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posterity import persistence, tables, vision
from posterity.cli.outcome import ModelError
from posterity.cli.voice import OutputPrinter
from posterity.vision.commands import class_lists, label_images, reading, scoring
from posterity.vision.commands.class_scores import ClassCounts, ClassScores
from posterity.vision.commands.label_images import VOID, LabelledPlace, LabelReader
from posterity.vision.commands.learn_labels import PixelModel
from posterity.vision.commands.training_requests import EvaluateRequest

_OF_DETECTORS = ("boxes", "opencv", "label", "min_size", "prior")


def score_pixels(request: EvaluateRequest, printer: OutputPrinter, noun: str) -> None:
    """Score a segmenter or a surface layout on images whose pixels are box_images."""
    scoring.check_options(request, ("images", "labels"), _OF_DETECTORS, noun)
    model: PixelModel = persistence.load(str(request.model))
    model.set_params(n_jobs=1)
    known = class_lists.find_class_list(request.classes, str(request.labels))
    _compare_names(request, model, known)
    places = label_images.pair_places(str(request.images), str(request.labels))
    compare = _Comparison(model, LabelReader.from_classes(known, request.void))
    counts, failed = scoring.compare_all(request, compare, places, "Labelling")
    if not counts:
        raise tables.TableError(
            f"No image of {request.images} has labels in {request.labels} to score."
        )
    scores = ClassScores.from_counts(counts, model.names_, "pixels")
    _report(request, scores, failed, printer)


def score_patches(request: EvaluateRequest, printer: OutputPrinter, noun: str) -> None:
    """Score a classifier of patches on a folder with one subfolder for each class."""
    scoring.check_options(request, ("images",), (*_OF_DETECTORS, "labels", "classes"), noun)
    model: vision.PatchClassifier = persistence.load(str(request.model))
    found = reading.read_patches(str(request.images), model.size)
    names = [str(name) for name in model.classes_]
    for label in found.labels:
        if label not in names:
            place = Path(str(request.images)) / label
            raise tables.TableError(
                f"{place} is not named after a class of {request.model}: {', '.join(names)}."
            )
    p = model.predict_proba(np.stack(found.patches))
    y = np.array([names.index(label) for label in found.labels])
    counts = [ClassCounts.from_predictions(p[k : k + 1], y[k : k + 1]) for k in range(len(y))]
    scores = ClassScores.from_counts(counts, names, "images")
    _report(request, scores, found.work.n_failed, printer)


@dataclass(frozen=True)
class _Comparison:
    """Reads an image, labels it, and compares labels; returns a sentence if it cannot be read."""

    model: PixelModel
    reader: LabelReader

    def __call__(self, place: LabelledPlace) -> ClassCounts | str | None:
        try:
            _, image, labels = self.reader.read(place)
            y = self._find_columns(place, labels)
            is_known = labels != VOID
            if not is_known.any():
                return None
            return ClassCounts.from_predictions(self.model.predict_proba(image)[is_known], y)
        except vision.ImageError as error:
            return str(error)
        except MemoryError:
            return f"{place.image} is too large for the memory."

    def _find_columns(self, place: LabelledPlace, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Places in ``classes_`` of the labels that are not void."""
        numbers = np.asarray(self.model.classes_)
        own = labels[labels != VOID]
        at: NDArray[np.int64] = np.minimum(np.searchsorted(numbers, own), len(numbers) - 1)
        unknown = own[numbers[at] != own]
        if len(unknown):
            raise vision.ImageError(
                f"{place.labels} has the label {unknown[0]}, which the model has not learned; "
                f"leave it out with --void {unknown[0]}."
            )
        return at


def _compare_names(
    request: EvaluateRequest, model: PixelModel, known: class_lists.ClassList
) -> None:
    """Refuse a list of classes whose names are not those of the model."""
    for number, name in zip(np.asarray(model.classes_).tolist(), model.names_, strict=True):
        listed = known.names.get(number, name)
        if listed != name and name != str(number):
            raise ModelError(
                f"Class {number} is {name!r} in {request.model}, but {listed!r} in {known.source}."
            )


def _report(
    request: EvaluateRequest, scores: ClassScores, failed: int, printer: OutputPrinter
) -> None:
    """Write the scores and print them."""
    inputs = {
        "model": request.model,
        "images": request.images,
        "labels": request.labels,
        "failed": failed,
    }
    answer = {**inputs, **scores.describe()}
    columns, rows = scores.tabulate()
    scoring.write_scores(request, answer, (columns, rows), scores.draw)
    shown = [
        (name, f"{n:,}", *(_format_share(share) for share in shares)) for name, n, *shares in rows
    ]
    title = f"{answer[f'n_{scores.noun}']:,} {scores.noun}" + (
        f" of {scores.n_images:,} images" if scores.noun != "images" else ""
    )
    printer.table(title, [column.replace("_", " ") for column in columns], shown)
    printer.say(*_describe_scores(scores))
    scoring.conclude(request, printer, answer)


def _format_share(share: float | None) -> str:
    """Format a share in percent; a dash if there is none."""
    return "-" if share is None else f"{100.0 * share:.1f} %"


def _describe_scores(scores: ClassScores) -> Iterator[str]:
    """Yield the scores of all classes as sentences."""
    doubt = "" if scores.accuracy_error is None else f" +- {100.0 * scores.accuracy_error:.1f}"
    yield (
        f"Accuracy {100.0 * scores.accuracy:.1f}{doubt} %, mean over classes "
        f"{100.0 * scores.class_accuracy:.1f} %."
    )
    yield (
        f"Log score {scores.log_score:.3f}; by class frequencies alone "
        f"{scores.baseline_log_score:.3f}."
    )
    yield f"Expected calibration error of the probabilities: {scores.calibration_error:.3f}."
