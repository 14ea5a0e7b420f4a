"""Walkers of a fixed camera: the frame alone, differences of two frames, or both.

``python -m benchmarks.vision_pedestrians`` learns from frames 2 to 500 and scores frames 502 to
795; ``--choose`` learns from frames 2 to 375 and compares scale factors on frames 401 to 500.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import machine, report, vision_data, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from benchmarks.vision_data import KnownImage, Pixels
from posterity.vision import WindowDetector, resizing

HIGH, WIDE = 1.3, 0.75  # sizes of a patch, in heights of a walker
SHOWN_HIGH, SHOWN_WIDE = 1.1, 0.55  # of the part that windows show
ASPECT = 0.4  # width over height of a walker
PATCH = (52, 30)  # pixels
LAST_LEARNED, FIRST_TESTED = 500, 502
CHOSEN_ON = (375, 401, 500)  # frames to learn from up to, and to choose on from and up to
SCALE_FACTOR = 1.15  # chosen by --choose
PER_FRAME = 0.5  # false positives
EVERY = 8  # frames at which OpenCV looks, which takes long
KINDS = {"frame alone": "gray", "differences alone": "differences", "both": "motion"}
PARTS = (*KINDS, "cv2")
NOTE = (
    "PETS 2009 S2.L1, one street and one camera: frames 2 to 500 to learn from, 502 to 795 to test "
    "on. Recall with 0.5 false positives a frame, one seed; boxes are 0.4 as wide as high. The "
    "scale factor of 1.15 was chosen on frames 401 to 500, with a detector of 40 trees of frames 2 "
    "to 375. "
    "Milliseconds are of the processor, one thread. cv2 is OpenCV's detector of people (gradients) "
    "at three times the size, its boxes cut by the usual margins, on every eighth frame. Training "
    "and test share the background, so this says nothing about other scenes."
)


def build_detector(channels: str) -> WindowDetector:
    """A detector of walkers, not yet fitted."""
    down, across = 0.5 * (1.0 - SHOWN_HIGH / HIGH), 0.5 * (1.0 - SHOWN_WIDE / WIDE)
    return WindowDetector(
        (28, 14),
        channels=channels,
        inset=(down, across, down, across),
        n_estimators=400,
        max_features=300,
        n_patches=6000,
        n_background=3000,
        scale_factor=SCALE_FACTOR,
        n_jobs=1,
        random_state=0,
    )


def grow_boxes(boxes: Array) -> Array:
    """Patches around walkers, (n, 4)."""
    x, height = 0.5 * (boxes[:, 0] + boxes[:, 2]), boxes[:, 3] - boxes[:, 1]
    y = 0.5 * (boxes[:, 1] + boxes[:, 3])
    across, down = 0.5 * WIDE * height, 0.5 * HIGH * height
    return np.column_stack([x - across, y - down, x + across, y + down])


def shrink_boxes(patches: Array) -> Array:
    """Walkers in the middle of patches, (n, 4).

    Examples
    --------
    >>> import numpy as np
    >>> box = np.array([[10.0, 10.0, 18.0, 30.0]])
    >>> shrink_boxes(grow_boxes(box)).round(3)
    array([[10., 10., 18., 30.]])
    """
    x, height = 0.5 * (patches[:, 0] + patches[:, 2]), (patches[:, 3] - patches[:, 1]) / HIGH
    y = 0.5 * (patches[:, 1] + patches[:, 3])
    across, down = 0.5 * ASPECT * height, 0.5 * height
    return np.column_stack([x - across, y - down, x + across, y + down])


def cut_patch(frames: Pixels, patch: Array) -> Pixels:
    """Pixels of a patch in both frames; beyond the edge the last ones go on."""
    x0, y0, x1, y1 = np.rint(patch).astype(int)
    lines = np.clip(np.arange(y0, max(y1, y0 + 1)), 0, frames.shape[1] - 1)
    columns = np.clip(np.arange(x0, max(x1, x0 + 1)), 0, frames.shape[2] - 1)
    cut = np.ascontiguousarray(frames[:, lines[:, None], columns])
    return np.stack([resizing.resize_by_area(frame, *PATCH) for frame in cut])


def train_detector(
    channels: str, known: Sequence[KnownImage], quick: bool
) -> tuple[WindowDetector, dict[str, float]]:
    """Learn from walkers of every second frame and the rest of every fourth one."""
    patches, groups = [], []
    for number, image in enumerate(known[::2]):
        for patch in grow_boxes(image.boxes):
            patches.append(cut_patch(image.pixels, patch))
            groups.append(number // 10)  # walkers of twenty frames are held out together
    scenes = known[::4]
    boxes = [grow_boxes(np.concatenate([image.boxes, image.ignored])) for image in scenes]
    detector = build_detector(channels)
    if quick:
        detector.set_params(n_estimators=40, max_features=100, n_patches=1000, n_background=500)
    pixels = np.stack(patches)
    gray = channels == "gray"
    views = [image.pixels[1] if gray else tuple(image.pixels) for image in scenes]
    _, (_, seconds) = worker.time_work(
        lambda: detector.fit(
            pixels[:, 1] if gray else pixels, views, scene_boxes=boxes, groups=np.array(groups)
        )
    )
    return detector, {"train_cpu_s": seconds, "patches": float(len(patches))}


def detect_all(
    detector: WindowDetector, known: Sequence[KnownImage]
) -> tuple[list[tuple[Array, Array]], float]:
    """Walkers of all frames, and CPU seconds of a frame."""
    gray = detector.channels == "gray"
    views = [image.pixels[1] if gray else tuple(image.pixels) for image in known]
    detector.detect(views[0])
    found, (_, seconds) = worker.time_work(lambda: [detector.detect(view) for view in views])
    return [(shrink_boxes(one.boxes), one.score) for one in found], seconds / len(views)


def detect_by_opencv(known: Sequence[KnownImage]) -> tuple[list[tuple[Array, Array]], float]:
    """The same by OpenCV's histograms of gradients."""
    import cv2

    cv2.setNumThreads(1)
    people = cv2.HOGDescriptor()
    people.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())

    def search(frame: Pixels) -> tuple[Array, Array]:
        large = cv2.resize(frame, None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC)
        boxes, weights = people.detectMultiScale(
            large, winStride=(8, 8), scale=1.07, groupThreshold=1
        )
        x, y, w, h = np.array(boxes, dtype=np.float64).reshape(-1, 4).T / 3.0
        x, y = x + 0.15 * w, y + 0.06 * h
        return np.column_stack([x, y, x + 0.7 * w, y + 0.88 * h]), np.ravel(weights)

    found, (_, seconds) = worker.time_work(lambda: [search(image.pixels[1]) for image in known])
    return found, seconds / len(known)


def score_frames(
    found: Sequence[tuple[Array, Array]], known: Sequence[KnownImage]
) -> dict[str, float]:
    """Recall at both overlaps."""
    return {
        f"recall_{round(100 * overlap)}": vision_data.match_all(found, known, overlap).rate_at(
            PER_FRAME * len(known)
        )
        for overlap in (0.4, 0.5)
    }


def choose_scale_factor(known: Sequence[KnownImage], options: Options) -> None:
    """Print recall and time by scale factor on frames that are not test frames."""
    last, first, end = CHOSEN_ON
    detector, _ = train_detector("motion", known[: last - 1], options.quick)
    for factor in (1.1, 1.15, 1.2, 1.25):
        found, seconds = detect_all(
            detector.set_params(scale_factor=factor), known[first - 2 : end - 1]
        )
        scores = score_frames(found, known[first - 2 : end - 1])
        options.console.print(f"scale factor {factor}: {scores}, {1000.0 * seconds:.1f} ms")


def run(options: Options, parts: Sequence[str] = PARTS, *, choose: bool = False) -> None:
    """Learn from each kind of planes, or some and keep the other rows; write and show scores."""
    if not vision_data.WALKERS.exists():
        options.console.print("vision_pedestrians: skipped, because shared/data/vision is not here")
        return
    known = vision_data.read_walkers()
    if choose:
        choose_scale_factor(known, options)
        return
    learned = known[: LAST_LEARNED - 1 : 5 if options.quick else 1]
    tested = known[FIRST_TESTED - 2 :: 20 if options.quick else 1]
    new: dict[str, dict[str, Any]] = {}
    for part in parts:
        if part == "cv2":
            some = tested[::EVERY]
            row = _describe("cv2, HOG, every 8th frame", *detect_by_opencv(some), some)
        else:
            detector, facts = train_detector(KINDS[part], learned, options.quick)
            row = _describe(f"posterity, {part}", *detect_all(detector, tested), tested) | facts
        new[row["contender"]] = row
        options.console.print(f"vision_pedestrians: {row['contender']}")
    kept = set(parts) != set(PARTS)
    rows = vision_data.read_runs("vision_pedestrians", options) if kept else {}
    task = {"name": "PETS 2009 S2.L1", "frames": len(tested), "runs": [*(rows | new).values()]}
    title = "Walkers of a fixed camera"
    described = machine.describe()
    result = {"benchmark": "vision_pedestrians", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def _describe(
    name: str, found: list[tuple[Array, Array]], seconds: float, known: Sequence[KnownImage]
) -> dict[str, Any]:
    scores = score_frames(found, known)
    return {"contender": name, **scores, "frame_ms": 1000.0 * seconds, "frames": len(known)}


def page(result: dict[str, Any]) -> str:
    """A table of the kinds of planes."""
    columns = (
        ("recall_40", "recall, overlap 0.4"),
        ("recall_50", "overlap 0.5"),
        ("frame_ms", "a frame, ms"),
        ("frames", "frames"),
        ("train_cpu_s", "training, CPU s"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
        for run in task["runs"]
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["detector", *(heading for _, heading in columns)]
    return "\n".join([*lines, *report.table(heading, body), ""])


def main(
    part: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(PARTS)}; other rows are kept.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Few trees and frames: a rehearsal.")] = False,
    choose: Annotated[bool, typer.Option(help="Compare scale factors on frames 401-500.")] = False,
) -> None:
    """Score detectors of walkers."""
    run(Options(threads=1, quick=quick, console=Console()), part or PARTS, choose=choose)


if __name__ == "__main__":
    typer.run(main)
