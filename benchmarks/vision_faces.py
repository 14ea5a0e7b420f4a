"""Faces in the photographs of MIT and CMU: detection rates, probabilities and speed.

``python -m benchmarks.vision_faces`` scores the detector of the package beside OpenCV's cascades,
read by OpenCV and by us; ``--train`` learns a detector anew from faces and scenes and scores it,
and ``--write`` makes it the detector of the package.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image
from rich.console import Console

import posterity
from benchmarks import machine, report, vision_data, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from benchmarks.vision_data import FoundBoxes, KnownImage
from posterity.displays import ReliabilityDisplay
from posterity.vision import Detections, WindowDetector
from posterity.vision.windows import grouping, pyramid
from posterity.vision.windows.pyramid import Inset

MODEL = Path(__file__).parents[1] / "src/posterity/vision/models/faces.posterity"
CASCADES = ("default", "alt", "alt2")
PARTS = ("package", *CASCADES, "speed")
FALSE_POSITIVES = (10, 20, 50, 110)
OVERLAP = 0.4
SIZE = (640, 480)
N_TIMED, N_REPEATS = 8, 3
BANDS = (0.05, 0.4, 0.7)
NOTE = (
    "130 images, 511 faces; a box is right if it is the best one of a face with an intersection "
    "over union of at least 0.4. Rates are in percent, with at most so many false positives in all "
    "images; scale factor 1.1. Boxes of cv2 are ranked by their number of windows, and ties in "
    "random order; ours by probability, or by the number of windows and then the sum of the last "
    "stage. Raw windows are those of OpenCV that we find too, and ours that OpenCV does not find. "
    "Speed: CPU milliseconds of one thread for an image of 640 x 480, mean over eight of the "
    "photographs, the least of three passes, contenders in turn. Calibration error: mean distance "
    "of probability and share of right boxes in ten bins of about equally many boxes, over all "
    "boxes, and over those of at least 0.05."
)


def build_detector() -> WindowDetector:
    """The detector of the package, not yet fitted."""
    return WindowDetector(
        (24, 24),
        inset=(5 / 36, 4 / 36, 3 / 36, 4 / 36),
        n_estimators=1500,
        max_features=800,
        n_patches=16000,
        n_background=8000,
        n_jobs=1,
        random_state=0,
    )


def train_detector(quick: bool) -> tuple[WindowDetector, dict[str, Any]]:
    """Learn from faces and scenes alone."""
    faces, groups = vision_data.read_faces()
    scenes = vision_data.read_scenes()
    detector = build_detector()
    if quick:
        detector.set_params(n_estimators=60, max_features=100, n_patches=1000, n_background=500)
    _, (_, seconds) = worker.time_work(lambda: detector.fit(faces, scenes, groups=groups))
    detector.set_params(n_jobs=None)
    return detector, {"train_cpu_s": seconds}


def score_boxes(found: Sequence[tuple[Array, Array]], known: Sequence[KnownImage]) -> FoundBoxes:
    """Boxes with the overlap of the task."""
    return vision_data.match_all(found, known, OVERLAP)


def score_rates(boxes: FoundBoxes) -> dict[str, float]:
    """Rates in percent at each number of false positives."""
    rates = {f"at_{k}": 100.0 * boxes.rate_at(k) for k in FALSE_POSITIVES}
    n_false = int(np.sum(~boxes.right))
    return rates | {"at_all": 100.0 * boxes.rate_at(n_false), "false_boxes": float(n_false)}


def score_probabilities(boxes: FoundBoxes) -> dict[str, Any]:
    """Calibration errors, and what the boxes of middling probability show."""
    p, right = boxes.score, boxes.right
    low, middle, high = BANDS
    some = p >= low
    between = (p >= middle) & (p < high)
    return {
        "calibration_error": find_calibration_error(p, right),
        "calibration_error_probable": find_calibration_error(p[some], right[some]),
        "log_loss": float(-np.mean(np.log(np.clip(np.where(right, p, 1.0 - p), 1e-12, 1.0)))),
        "boxes": len(p),
        "boxes_between": int(between.sum()),
        "right_between": int(right[between].sum()),
        "expected_between": float(p[between].sum()),
    }


def find_calibration_error(p: Array, right: Any) -> float:
    """Mean distance over ten bins of about equally many boxes.

    Examples
    --------
    >>> import numpy as np
    >>> find_calibration_error(np.full(20, 0.75), np.arange(20) < 10)
    0.25
    """
    bins = ReliabilityDisplay.from_predictions(right, p, n_bins=10)
    return float(np.average(np.abs(bins.predicted - bins.observed), weights=bins.counts))


def detect_all(detector: WindowDetector, known: Sequence[KnownImage]) -> list[tuple[Array, Array]]:
    """Boxes of all images, and the numbers by which they are ranked."""
    return [vision_data.rank_detections(detector.detect(image.pixels)) for image in known]


def score_detector(detector: WindowDetector, known: Sequence[KnownImage]) -> dict[str, Any]:
    """A detector of ours with probabilities."""
    boxes = score_boxes(detect_all(detector, known), known)
    return score_rates(boxes) | score_probabilities(boxes)


def score_cascade(name: str, known: Sequence[KnownImage]) -> list[dict[str, Any]]:
    """A file of OpenCV, read by OpenCV and by us, and the raw windows of both."""
    import cv2

    path = f"{cv2.data.haarcascades}haarcascade_frontalface_{name}.xml"
    theirs = cv2.CascadeClassifier(path)
    detector = WindowDetector.from_opencv(path, n_jobs=1)
    by_cv2, by_us, raw, same, more = [], [], 0, 0, 0
    for image in known:
        windows = theirs.detectMultiScale(image.pixels, scaleFactor=1.1, minNeighbors=0)
        boxes, counts = cv2.groupRectangles([list(map(int, w)) for w in windows], 1, 0.2)
        by_cv2.append(_place_rectangles(boxes, counts))
        found, ours = _search(detector, image)
        by_us.append(vision_data.rank_detections(found.take(found.support > 1)))
        wanted = Counter(map(tuple, np.reshape(windows, (-1, 4)).tolist()))
        raw += wanted.total()
        same += (wanted & ours).total()
        more += (ours - wanted).total()
    agreement = {"raw_windows": raw, "raw_same": same, "raw_more": more}
    return [
        {"contender": f"cv2, {name}", **score_rates(score_boxes(by_cv2, known))},
        {
            "contender": f"posterity, from_opencv {name}",
            **score_rates(score_boxes(by_us, known)),
            **agreement,
        },
    ]


def _place_rectangles(boxes: Any, counts: Any) -> tuple[Array, Array]:
    placed = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    placed[:, 2:] += placed[:, :2]
    return placed, np.array(counts, dtype=np.float64).reshape(-1)


def _search(
    detector: WindowDetector, image: KnownImage
) -> tuple[Detections, Counter[tuple[int, ...]]]:
    """Boxes as ``detect`` groups them, and the windows before that as x, y, width and height."""
    options = pyramid.SearchOptions("gray", Inset(), 1.1, 1, 0.3, None, 1)
    windows, activation = pyramid.find_windows(detector.cascade_, image.pixels[None], options)
    groups = grouping.group_like_opencv(windows, activation)
    unknown = np.full(len(groups), np.nan)
    windows[:, 2:] -= windows[:, :2]
    return (
        Detections(groups.boxes, unknown, groups.activation, groups.support),
        Counter(tuple(window) for window in windows.astype(int).tolist()),
    )


def time_search(known: Sequence[KnownImage], quick: bool) -> dict[str, float]:
    """CPU milliseconds of an image of 640 x 480, contenders in turn."""
    import cv2

    cv2.setNumThreads(1)
    some = known[:: len(known) // N_TIMED][:N_TIMED]
    images = [np.asarray(Image.fromarray(k.pixels).resize(SIZE, 2)) for k in some]
    work: dict[str, Callable[[Any], Any]] = {
        "posterity": posterity.load(MODEL).set_params(n_jobs=1).detect
    }
    for name in CASCADES:
        path = f"{cv2.data.haarcascades}haarcascade_frontalface_{name}.xml"
        theirs = cv2.CascadeClassifier(path)
        work[f"posterity, from_opencv {name}"] = WindowDetector.from_opencv(path, n_jobs=1).detect
        work[f"cv2, {name}"] = lambda image, c=theirs: c.detectMultiScale(image, 1.1, 3)
    least = {name: np.full(len(images), np.inf) for name in work}
    for _ in range(1 if quick else N_REPEATS):
        for k, image in enumerate(images):
            for name, search in work.items():
                _, (_, seconds) = worker.time_work(lambda s=search, i=image: s(i))
                least[name][k] = min(least[name][k], seconds)
    return {name: float(1000.0 * seconds.mean()) for name, seconds in least.items()}


def run(
    options: Options, parts: Sequence[str] = PARTS, *, train: bool = False, write: bool = False
) -> None:
    """Score all detectors, or some and keep the other rows; write and show the scores."""
    if not vision_data.PHOTOGRAPHS.exists():
        options.console.print("vision_faces: skipped, because shared/data/vision is not here")
        return
    known = vision_data.read_photographs()[:: 20 if options.quick else 1]
    new = []
    for row in _measure(options, known, parts, train=train, write=write):
        options.console.print(f"vision_faces: {row['contender']}")
        new.append(row)
    rows = {} if set(parts) == set(PARTS) else vision_data.read_runs("vision_faces", options)
    for row in new:
        rows[row["contender"]] = {**rows.get(row["contender"], {}), **row}
    task = {"name": "MIT+CMU", "images": len(known), "runs": list(rows.values())}
    title = "Faces in photographs"
    described = machine.describe()
    result = {"benchmark": "vision_faces", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def _measure(
    options: Options, known: Sequence[KnownImage], parts: Sequence[str], *, train: bool, write: bool
) -> Iterator[dict[str, Any]]:
    """Rows of the table, some in two pieces."""
    if train:
        detector, facts = train_detector(options.quick)
        scores = score_detector(detector.set_params(n_jobs=1), known)
        yield {"contender": "posterity, trained anew", **scores, **facts}
        if write and not options.quick:
            posterity.save(detector.set_params(n_jobs=None), MODEL)
    if "package" in parts:
        shipped = posterity.load(MODEL).set_params(n_jobs=1)
        size = {"file_bytes": os.path.getsize(MODEL), "trees": shipped.n_estimators_}
        yield {"contender": "posterity", **score_detector(shipped, known), **size}
    for name in CASCADES:
        if name in parts:
            yield from score_cascade(name, known)
    if "speed" in parts:
        for name, ms in time_search(known, options.quick).items():
            yield {"contender": name, "image_ms": ms}


def page(result: dict[str, Any]) -> str:
    """A table of all detectors."""
    columns = (
        *((f"at_{k}", f"{k} false") for k in FALSE_POSITIVES),
        ("at_all", "all boxes"),
        ("false_boxes", "false boxes"),
        ("image_ms", "640 x 480, ms"),
        ("calibration_error", "calibration error"),
        ("calibration_error_probable", "of boxes from 0.05"),
        ("boxes_between", "boxes from 0.4 to 0.7"),
        ("right_between", "right"),
        ("expected_between", "expected"),
        ("raw_windows", "raw windows of cv2"),
        ("raw_same", "found by us"),
        ("raw_more", "only by us"),
        ("train_cpu_s", "training, CPU s"),
    )
    (task,) = result["tasks"]
    body = [
        [one["contender"], *(report.number(one.get(key)) for key, _ in columns)]
        for one in task["runs"]
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["detector", *(heading for _, heading in columns)]
    return "\n".join([*lines, *report.table(heading, body), ""])


def main(
    part: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(PARTS)}; other rows are kept.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Every twentieth image: a rehearsal.")] = False,
    train: Annotated[bool, typer.Option(help="Learn a detector anew and score it.")] = False,
    write: Annotated[bool, typer.Option(help="Make it the detector of the package.")] = False,
) -> None:
    """Score detectors of faces."""
    options = Options(threads=1, quick=quick, console=Console())
    run(options, part or PARTS, train=train or write, write=write)


if __name__ == "__main__":
    typer.run(main)
