"""Score models of classes on labelled images: segmenters, surface layouts, patch classifiers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from posterity import displays, persistence, tables, vision
from posterity.arrays import Array
from posterity.cli.outcome import ModelError
from posterity.cli.output import OutputPrinter, to_json_types
from posterity.scoring.calibration import ProbabilityBins
from posterity.vision.commands import label_images, reading, sources
from posterity.vision.commands.label_images import VOID, LabelledPlace, LabelReader
from posterity.vision.commands.results import Evaluation
from posterity.vision.commands.train_classes import PixelModel
from posterity.vision.commands.training_requests import EvaluateRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 10  # of the probability of the most probable class
_LEAST_P = np.finfo(np.float32).tiny  # the logarithm of 0 is not a JSON number


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Counts of the labelled pixels of an image, or of one labelled image, by predicted class.

    Attributes
    ----------
    confusion : array of shape (C, C), int64
        Number of pixels of a class (row) that were assigned to a class (column).
    log_p : float
        Sum of the log probabilities of the known classes.
    bins : array of shape (3, B)
        Number of pixels in each bin of the probability of the most probable class, the sum of that
        probability, and the number of pixels that have that class.
    """

    confusion: NDArray[np.int64]
    log_p: float
    bins: Array

    @classmethod
    def from_predictions(cls, p: NDArray[Any], y: NDArray[np.int64]) -> ClassCounts:
        """Compare probabilities (n, C) with the known classes (n,), as numbers of columns.

        Examples
        --------
        >>> import numpy as np
        >>> from posterity.vision.commands.evaluate_classes import ClassCounts
        >>> p = np.array([[0.9, 0.1], [0.6, 0.4]])
        >>> ClassCounts.from_predictions(p, np.array([0, 1])).confusion
        array([[1, 0],
               [1, 0]])
        """
        n_classes = p.shape[1]
        best, top = np.argmax(p, axis=1), np.max(p, axis=1).astype(np.float64)
        confusion = np.bincount(y * n_classes + best, minlength=n_classes**2)
        at = np.minimum((_BINS * top).astype(np.intp), _BINS - 1)
        bins = [np.bincount(at, w, minlength=_BINS) for w in (None, top, best == y)]
        own = np.maximum(p[np.arange(len(y)), y], _LEAST_P)
        log_p = float(np.sum(np.log(own), dtype=np.float64))
        return cls(confusion.reshape(n_classes, -1), log_p, np.array(bins, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Scores on all images.

    Attributes
    ----------
    parts : sequence of ClassCounts
        Counts of each image.
    names : sequence of str
        Names of the classes.
    noun : str
        What is classified: "pixels" or "images".
    """

    parts: Sequence[ClassCounts]
    names: Sequence[str]
    noun: str

    @functools.cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Number of pixels of a class (row) that were assigned to a class (column)."""
        return np.asarray(np.sum([one.confusion for one in self.parts], axis=0))

    @functools.cached_property
    def bins(self) -> Array:
        """As in :class:`ClassCounts`, without empty bins."""
        total = np.sum([one.bins for one in self.parts], axis=0)
        return np.asarray(total[:, total[0] > 0])

    @property
    def log_score(self) -> float:
        """Mean log probability of the known class."""
        return sum(one.log_p for one in self.parts) / float(self.confusion.sum())

    @property
    def accuracy_error(self) -> float | None:
        """Standard error of the accuracy over images, whose pixels go together; None for one."""
        sizes = np.array([one.confusion.sum() for one in self.parts], dtype=float)
        right = np.array([np.trace(one.confusion) for one in self.parts], dtype=float)
        return find_ratio_error(right, sizes) if len(self.parts) > 1 else None

    @property
    def accuracy(self) -> float:
        """Share of the pixels whose most probable class is the known one."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    @property
    def class_accuracy(self) -> float:
        """Mean over the classes that occur of the share of their pixels that is right."""
        occurs = self.confusion.sum(axis=1) > 0
        return float(np.mean(np.diag(self.confusion)[occurs] / self.confusion[occurs].sum(axis=1)))

    @property
    def baseline_log_score(self) -> float:
        """Log score of the shares of the classes in these images."""
        counts = self.confusion.sum(axis=1)
        return -float(np.sum(special.entr(counts / counts.sum())))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error of the most probable class, in ten equal bins."""
        counts, confidence, right = self.bins
        return ProbabilityBins(confidence / counts, right / counts, counts).error

    def describe(self) -> dict[str, Any]:
        """Return all scores as JSON types."""
        columns, rows = self.tabulate()
        counts, confidence, right = self.bins
        told = {
            "n_images": len(self.parts),
            f"n_{self.noun}": int(self.confusion.sum()),
            "accuracy": self.accuracy,
            "accuracy_error": self.accuracy_error,
            "class_accuracy": self.class_accuracy,
            "log_score": self.log_score,
            "baseline_log_score": self.baseline_log_score,
            "calibration_error": self.calibration_error,
            "classes": [dict(zip(columns, row, strict=True)) for row in rows],
            "confusion": self.confusion.tolist(),
            "reliability": {
                "predicted": (confidence / counts).tolist(),
                "observed": (right / counts).tolist(),
                "counts": counts.tolist(),
            },
        }
        converted: dict[str, Any] = to_json_types(told)
        return converted

    def tabulate(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return columns and rows of a table of classes; None where a share has no pixels."""
        known, found = self.confusion.sum(axis=1).tolist(), self.confusion.sum(axis=0).tolist()
        right = np.diag(self.confusion).tolist()
        rows = [
            (name, n, _divide(r, n), _divide(r, m), _divide(r, n + m - r))
            for name, n, m, r in zip(self.names, known, found, right, strict=True)
        ]
        return ("class", self.noun, "recall", "precision", "intersection_over_union"), rows

    def draw(self, figure: Figure) -> None:
        """Draw the reliability of the most probable class, and the accuracy of each class."""
        left, right = figure.subplots(1, 2)
        counts, confidence, hits = self.bins
        p = confidence / counts  # no band: pixels of an image are not independent
        event = "the most probable class"
        reliability = displays.ReliabilityDisplay(p, hits / counts, p, p, counts, event=event)
        reliability.plot(left).set_title(f"calibration error {self.calibration_error:.3f}")
        shown = [(name, recall) for name, _, recall, *_ in self.tabulate()[1] if recall is not None]
        names, recalls = zip(*reversed(shown), strict=True)
        right.barh(names, recalls, color=displays.COLORS["blue"])
        right.set(xlim=(0.0, 1.0), xlabel="recall", title=f"accuracy {self.accuracy:.1%}")


def find_ratio_error(sums: Array, sizes: Array) -> float:
    """Standard error of a mean of numbers that come in parts, from the sum and size of each.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.commands import evaluate_classes
    >>> evaluate_classes.find_ratio_error(np.array([0.0, 4.0]), np.array([4.0, 4.0]))
    0.5
    """
    off = sums - sizes * np.sum(sums) / np.sum(sizes)
    n = len(sums)
    return float(np.sqrt(np.sum(off**2) * n / (n - 1)) / np.sum(sizes))


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None


_OF_DETECTORS = ("boxes", "opencv", "label", "min_size", "prior")


def score_segmenter(request: EvaluateRequest, printer: OutputPrinter) -> Evaluation:
    """Score a segmenter on images whose pixels are labelled."""
    return _score_pixels(request, "segmenter")


def score_surfaces(request: EvaluateRequest, printer: OutputPrinter) -> Evaluation:
    """Score a surface layout on images whose pixels are labelled."""
    return _score_pixels(request, "surface layout")


def _score_pixels(request: EvaluateRequest, noun: str) -> Evaluation:
    request.check_options(noun, needed=("images", "labels"), refused=_OF_DETECTORS)
    model: PixelModel = persistence.load(str(request.model))
    model.set_params(n_jobs=1)
    known = label_images.find_class_list(request.classes, str(request.labels))
    _compare_names(request, model, known)
    places = label_images.pair_places(str(request.images), str(request.labels))
    reader = LabelReader.from_classes(known, request.void)

    def compare(place: LabelledPlace) -> ClassCounts | None:
        _, image, labels = reader.read(place)
        y = _find_columns(np.asarray(model.classes_), place, labels)
        if not len(y):
            return None
        return ClassCounts.from_predictions(model.predict_proba(image)[labels != VOID], y)

    work, n_jobs = reading.ImageReading(), sources.count_jobs(request.jobs)
    counts = list(
        work.read_all(compare, places, "Labelling", n_jobs=n_jobs, name=lambda one: one.image)
    )
    if not counts:
        raise tables.TableError(
            f"No image of {request.images} has labels in {request.labels} to score."
        )
    return _report(request, ClassScores(counts, model.names_, "pixels"), work.n_failed)


def score_patches(request: EvaluateRequest, printer: OutputPrinter) -> Evaluation:
    """Score a classifier of patches on a folder with one subfolder for each class."""
    refused = (*_OF_DETECTORS, "labels", "classes")
    request.check_options("patch classifier", needed=("images",), refused=refused)
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
    return _report(request, ClassScores(counts, names, "images"), found.work.n_failed)


def _find_columns(
    classes: NDArray[np.int64], place: LabelledPlace, labels: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the places in the classes of a model of the labels that are not void."""
    own = labels[labels != VOID]
    at: NDArray[np.int64] = np.minimum(np.searchsorted(classes, own), len(classes) - 1)
    unknown = own[classes[at] != own]
    if len(unknown):
        raise vision.ImageError(
            f"{place.labels} has the label {unknown[0]}, which the model has not learned; "
            f"leave it out with --void {unknown[0]}."
        )
    return at


def _compare_names(
    request: EvaluateRequest, model: PixelModel, known: label_images.ClassList
) -> None:
    """Refuse a list of classes whose names are not those of the model."""
    for number, name in zip(np.asarray(model.classes_).tolist(), model.names_, strict=True):
        listed = known.names.get(number, name)
        if listed != name and name != str(number):
            raise ModelError(
                f"Class {number} is {name!r} in {request.model}, but {listed!r} in {known.source}."
            )


def _report(request: EvaluateRequest, scores: ClassScores, failed: int) -> Evaluation:
    """Return the scores as they are written and printed."""
    inputs = {
        "model": request.model,
        "images": request.images,
        "labels": request.labels,
        "failed": failed,
    }
    answer = {**inputs, **scores.describe()}
    columns, rows = scores.tabulate()
    shown = [
        (name, f"{n:,}", *(_format_share(share) for share in shares)) for name, n, *shares in rows
    ]
    title = f"{answer[f'n_{scores.noun}']:,} {scores.noun}" + (
        f" of {len(scores.parts):,} images" if scores.noun != "images" else ""
    )
    table = title, [column.replace("_", " ") for column in columns], shown
    return Evaluation(answer, (columns, rows), scores.draw, table, _describe_scores(scores))


def _format_share(share: float | None) -> str:
    """Format a share in percent; a dash if there is none."""
    return "-" if share is None else f"{100.0 * share:.1f} %"


def _describe_scores(scores: ClassScores) -> tuple[str, ...]:
    """Return the scores of all classes as sentences."""
    doubt = "" if scores.accuracy_error is None else f" +- {100.0 * scores.accuracy_error:.1f}"
    return (
        f"Accuracy {100.0 * scores.accuracy:.1f}{doubt} %, mean over classes "
        f"{100.0 * scores.class_accuracy:.1f} %.",
        f"Log score {scores.log_score:.3f}; by class frequencies alone "
        f"{scores.baseline_log_score:.3f}.",
        f"Expected calibration error of the probabilities: {scores.calibration_error:.3f}.",
    )
