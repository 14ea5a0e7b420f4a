"""An object followed through frames: two recorded sequences, and simulated ones.

``python -m benchmarks.vision_tracks`` measures and writes the results; with ``--learn``, it prints
the constants of the tracker that simulated sequences (others than those of the table) suggest.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image
from rich.console import Console

from benchmarks import harness, machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import BayesianLogisticRegression, datasets
from posterity.vision import DisplacementTracker, TrackedBox

FOLDER = Path(__file__).parents[2] / "shared/data/vision"
RECORDED = {"David": "track_david.zip", "FaceOcc2": "track_faceocc2.zip"}
HIDDEN = {"FaceOcc2": ((140, 180), (400, 500))}  # frames in which a book covers part of the face
N_SIMULATED = 6
FIRST_TEST_SEED, FIRST_LEARN_SEED = 500, 0
CLOSE = 20.0  # pixels
COVERAGE = 0.9
NOTE = (
    "Frames after the first one, in gray. Precision: share of frames whose middle is within 20 "
    "pixels of the true one. Success: mean over thresholds 0, 0.05, ..., 1 of the share of frames "
    "whose box overlaps the true one by more (intersection over union). Coverage: share of frames "
    "whose true middle is inside the 90 % ellipse, and the same while a book hides part of a face "
    "(FaceOcc2, frames 140 to 180 and 400 to 500) or where less than half of a simulated object is "
    "seen. Frames per second of processor time, one thread, start not counted. The constants of "
    "the tracker come from other simulated sequences; the two recorded ones were looked at "
    "several times while it was built. Simulated: means over six sequences."
)


@dataclass(frozen=True, eq=False)
class Sequence:
    """Frames, true boxes as corners, and where the object is hidden for the most part."""

    frames: Any
    boxes: Array
    hidden: Any


def read_sequence(name: str) -> Sequence:
    """Frames and boxes of an archive."""
    with zipfile.ZipFile(FOLDER / RECORDED[name]) as archive:
        names = sorted(one for one in archive.namelist() if one.endswith(".jpg"))
        opened = (Image.open(io.BytesIO(archive.read(one))) for one in names)
        frames = np.array([np.asarray(image.convert("L")) for image in opened])
        truth = next(one for one in archive.namelist() if one.endswith("gt_xywh.csv"))
        boxes = np.loadtxt(io.StringIO(archive.read(truth).decode()), delimiter=",")
    n = min(len(frames), len(boxes))
    boxes[:, 2:] += boxes[:, :2]
    hidden = np.zeros(n, dtype=bool)
    for first, last in HIDDEN.get(name, ()):
        hidden[first : last + 1] = True
    return Sequence(frames[:n], boxes[:n], hidden)


def simulate(seed: int) -> Sequence:
    """A sequence with up to two times in which the object is hidden."""
    rng = np.random.default_rng(1000 + seed)
    starts = rng.integers(15, 90, int(rng.integers(0, 3)))
    scene = datasets.moving_object(
        130,
        shape=(180, 240),
        hidden=tuple((int(start), int(start + rng.integers(15, 45))) for start in starts),
        radius=float(rng.uniform(16, 30)),
        turning=float(rng.uniform(0.1, 0.35)),
        light=float(rng.uniform(0.1, 0.35)),
        random_state=seed,
    )
    return Sequence(scene.frames, scene.boxes, scene.visible < 0.5)


def follow_still(sequence: Sequence) -> Iterator[Array]:
    """The first box in all frames."""
    for _ in sequence.frames[1:]:
        yield sequence.boxes[0]


def follow_by_opencv(create: str, sequence: Sequence) -> Iterator[Array]:
    """Boxes of a tracker of OpenCV; where it gives up, its last box."""
    import cv2

    cv2.setNumThreads(1)
    place = cv2.legacy if create == "TrackerMedianFlow_create" else cv2
    tracker, box = getattr(place, create)(), sequence.boxes[0]
    frames = (np.repeat(frame[:, :, None], 3, axis=2) for frame in sequence.frames)
    x0, y0, x1, y1 = (round(float(number)) for number in box)
    tracker.init(next(frames), (x0, y0, x1 - x0, y1 - y0))
    for frame in frames:
        found, (x, y, width, height) = tracker.update(frame)
        box = np.array([x, y, x + width, y + height], dtype=float) if found else box
        yield box


def follow_by_posterity(parameters: dict[str, Any], sequence: Sequence) -> Iterator[TrackedBox]:
    """Boxes with covariances."""
    tracker = DisplacementTracker(**parameters).start(sequence.frames[0], sequence.boxes[0])
    yield from tracker.track(sequence.frames[1:])


CONTENDERS: dict[str, Callable[[Sequence], Iterator[Any]]] = {
    "posterity": partial(follow_by_posterity, {}),
    "posterity, experts of the first frame": partial(follow_by_posterity, {"relearn_every": 0}),
    "box that stays": follow_still,
    "OpenCV CSRT": partial(follow_by_opencv, "TrackerCSRT_create"),
    "OpenCV KCF": partial(follow_by_opencv, "TrackerKCF_create"),
    "OpenCV MIL": partial(follow_by_opencv, "TrackerMIL_create"),
    "OpenCV MedianFlow": partial(follow_by_opencv, "TrackerMedianFlow_create"),
}


def measure_overlap(boxes: Array, truth: Array) -> Array:
    """Intersection over union of boxes.

    Examples
    --------
    >>> import numpy as np
    >>> measure_overlap(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 3.0, 2.0]])).round(3)
    array([0.333])
    """
    low, high = np.maximum(boxes[:, :2], truth[:, :2]), np.minimum(boxes[:, 2:], truth[:, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=1)
    areas = [(one[:, 2:] - one[:, :2]).prod(axis=1) for one in (boxes, truth)]
    return np.asarray(shared / (areas[0] + areas[1] - shared))


def score(sequence: Sequence, found: list[Any], seconds: float) -> dict[str, float]:
    """Precision, success, coverage and speed."""
    boxes = np.array([getattr(one, "box", one) for one in found])
    truth, hidden = sequence.boxes[1:], sequence.hidden[1:]
    middles = 0.5 * (truth[:, :2] + truth[:, 2:])
    miss = np.linalg.norm(0.5 * (boxes[:, :2] + boxes[:, 2:]) - middles, axis=1)
    overlap = measure_overlap(boxes, truth)
    success = np.mean([np.mean(overlap > threshold) for threshold in np.linspace(0, 1, 21)])
    numbers = {
        "precision": float(np.mean(miss <= CLOSE)),
        "success": float(success),
        "miss_px": float(np.mean(miss)),
        "frames_per_s": len(found) / max(seconds, 1e-9),
    }
    if not isinstance(found[0], TrackedBox):
        return numbers
    inside = np.array(
        [one.find_coverage(x) <= COVERAGE for one, x in zip(found, middles, strict=True)]
    )
    numbers |= {
        "coverage": float(inside.mean()),
        "radius_px": float(np.median([one.radii(COVERAGE)[0] for one in found])),
        "probability": float(np.mean([one.probability for one in found])),
    }
    return numbers | ({"hidden_coverage": float(inside[hidden].mean())} if hidden.any() else {})


def run_contender(name: str, sequence: Sequence) -> dict[str, float]:
    """Follow the object in one sequence; the first step, with the start, is not timed."""
    steps = CONTENDERS[name](sequence)
    found = [next(steps)]
    began = time.process_time()
    found += steps
    numbers = score(sequence, found, time.process_time() - began)
    if CONTENDERS[name] is follow_still:
        del numbers["frames_per_s"]
    return numbers


def average(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means over sequences, with standard errors of precision and success."""
    means = {
        key: float(np.mean([row[key] for row in rows if key in row]))
        for key in dict.fromkeys(key for row in rows for key in row)
    }
    for key in ("precision", "success"):
        values = [row[key] for row in rows]
        means[f"{key}_error"] = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return means


def measure(quick: bool, threads: int | None) -> dict[str, Any]:
    """Let all contenders follow all objects."""

    def work() -> dict[str, Any]:
        scenes = {name: [read_sequence(name)] for name in RECORDED}
        n = 2 if quick else N_SIMULATED
        scenes["simulated"] = [simulate(FIRST_TEST_SEED + k) for k in range(n)]
        tasks = []
        for name, sequences in scenes.items():
            runs = []
            for contender in CONTENDERS:
                rows = [run_contender(contender, sequence) for sequence in sequences]
                runs.append({"contender": contender, **(average(rows) if rows[1:] else rows[0])})
            tasks.append({"name": name, "frames": len(sequences[0].frames), "runs": runs})
        return {"tasks": tasks}

    warm = partial(run_contender, "posterity", simulate(FIRST_LEARN_SEED))
    return worker.run_after_warm_up(warm, work, threads)


def learn(n_sequences: int = 8) -> dict[str, Any]:
    """Log odds that the object is seen, and drift, from simulated sequences."""
    features, seen, drifts = [], [], []
    for k in range(n_sequences):
        sequence = simulate(FIRST_LEARN_SEED + k)
        tracker = DisplacementTracker().start(sequence.frames[0], sequence.boxes[0])
        for frame, box, hidden in zip(
            sequence.frames[1:], sequence.boxes[1:], sequence.hidden[1:], strict=True
        ):
            found = tracker.step(frame)
            side = np.sqrt(np.prod(box[2:] - box[:2]))
            middle = 0.5 * (box[:2] + box[2:])
            miss = np.linalg.norm(tracker.found_.pose[:2] - middle) / side
            if hidden or miss > 0.5 or miss < 0.35:
                features.append(tracker.found_.get_features()[1:])
                seen.append(not hidden and miss < 0.35)
            if not hidden and found.probability > 0.9 and miss < 0.4:
                error = np.sum((found.center - middle) ** 2) / (2.0 * side**2)
                drifts.append((1.0 - tracker.likeness_, error))
    model = BayesianLogisticRegression().fit(np.array(features), np.array(seen))
    change, error = np.array(drifts).T
    return {
        "log odds": [model.intercept_.round(1), model.coef_.round(1)],
        "share seen": float(np.mean(seen)),
        "drift": float(np.sqrt(np.mean(error / np.maximum(change, 0.1) ** 2))),
    }


def run(options: Options) -> None:
    """Measure, write and show the scores."""
    if not all((FOLDER / name).exists() for name in RECORDED.values()):
        options.console.print("vision_tracks: skipped, because shared/data/vision is not here")
        return
    with harness.threads_of_children(options.threads):
        measured = harness.in_new_process(measure, options.quick, options.threads)
    title = "Objects followed through frames"
    described = {"benchmark": "vision_tracks", "title": title, **machine.describe()}
    result = {**described, "tasks": measured["tasks"]}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table for each sequence."""
    columns = (
        ("precision", "precision at 20 px"),
        ("precision_error", "+-"),
        ("success", "success"),
        ("success_error", "+-"),
        ("miss_px", "mean error, px"),
        ("coverage", "coverage of 90 %"),
        ("hidden_coverage", "while hidden"),
        ("radius_px", "median radius, px"),
        ("frames_per_s", "frames per s"),
    )
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    for task in result["tasks"]:
        shown = [one for one in columns if any(one[0] in run for run in task["runs"])]
        body = [
            [run["contender"], *(report.number(run.get(key)) for key, _ in shown)]
            for run in task["runs"]
        ]
        heading = [task["name"], *(heading for _, heading in shown)]
        lines += [*report.table(heading, body), ""]
    return "\n".join(lines)


def main(
    quick: Annotated[bool, typer.Option(help="Two simulated sequences: a rehearsal.")] = False,
    learn_constants: Annotated[bool, typer.Option("--learn", help="Print constants.")] = False,
) -> None:
    """Follow all objects."""
    if learn_constants:
        Console().print(learn())
    else:
        run(Options(threads=1, quick=quick, console=Console()))


if __name__ == "__main__":
    typer.run(main)
