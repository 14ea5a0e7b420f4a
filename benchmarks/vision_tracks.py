"""An object followed through frames: two recorded sequences, and simulated ones.

``python -m benchmarks.vision_tracks`` measures and writes the results; with ``--learn``, it prints
the drift of the tracker by maximum likelihood from other simulated sequences.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image
from rich.console import Console
from scipy import optimize

from benchmarks import compact, harness, machine, readings, report, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import vision
from posterity.vision import DisplacementTracker, TrackedBox

FOLDER = Path(__file__).parents[2] / "shared/data/vision"
RECORDED = {"David": "track_david.zip", "FaceOcc2": "track_faceocc2.zip"}
HIDDEN = {"FaceOcc2": ((140, 180), (400, 500))}  # frames in which a book covers part of the face
N_COMPARED, N_CALIBRATION = 6, 20  # simulated sequences: for all contenders, and for ellipses
FIRST_TEST_SEED, FIRST_LEARN_SEED = 500, 0
CLOSE = 20.0  # pixels
FOLLOWED = 0.4  # sides of the object: with a larger error it was lost
LEVELS = (0.5, 0.8, 0.9, 0.95)
ELLIPSES = {
    f"{part}_{level}": f"{part}, {100 * level:.0f} %"
    for part in ("seen", "hidden")
    for level in LEVELS
} | {"coverage_deviation": "deviation of 90 %"}
NOTE = (
    "Frames after the first one, in gray. Precision: share of frames whose middle is within 20 "
    "pixels of the true one. Success: mean over thresholds 0, 0.05, ..., 1 of the share of frames "
    "whose box overlaps the true one by more (intersection over union). Coverage: share of frames "
    "whose true middle is inside an ellipse. Hidden: a book hides part of a face (FaceOcc2, frames "
    "140 to 180 and 400 to 500), or less than half of a simulated object is seen. Frames per "
    "second of processor time, one thread, start not counted. The constants of the tracker come "
    "from other simulated sequences; the two recorded ones were looked at several times while it "
    "was built. Simulated: means over sequences, +- their standard error. Errors of neighbouring "
    "frames are alike, so the coverage of one sequence says little: the standard deviation among "
    "simulated sequences is in the last table."
)
KEPT = "The rows of OpenCV and of the box that stays are those of an earlier run of this script."


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
    scene = vision.datasets.moving_object(
        130,
        shape=(180, 240),
        hidden=tuple((int(start), int(start + rng.integers(15, 45))) for start in starts),
        radius=float(rng.uniform(16, 30)),
        turning=float(rng.uniform(0.0, 0.35)),
        light=float(rng.uniform(0.0, 0.35)),
        speed=float(np.exp(rng.uniform(np.log(0.5), np.log(3.0)))),
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


def follow_by_posterity(sequence: Sequence) -> Iterator[TrackedBox]:
    """Boxes with covariances."""
    tracker = DisplacementTracker().start(sequence.frames[0], sequence.boxes[0])
    yield from tracker.track(sequence.frames[1:])


CONTENDERS: dict[str, Callable[[Sequence], Iterator[Any]]] = {
    "posterity": follow_by_posterity,
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
    truth = sequence.boxes[1:]
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
    if isinstance(found[0], TrackedBox):
        numbers |= score_ellipses(found, middles, sequence.hidden[1:])
    return numbers


def score_ellipses(found: list[TrackedBox], middles: Array, hidden: Any) -> dict[str, float]:
    """Shares of true middles inside ellipses, in plain view and while the object is hidden."""
    reached = np.array([one.find_coverage(x) for one, x in zip(found, middles, strict=True)])
    numbers = {
        "coverage_90": float(np.mean(reached <= 0.9)),
        "radius_px": float(np.median([one.radii(0.9)[0] for one in found])),
    }
    for name, chosen in (("seen", ~hidden), ("hidden", hidden)):
        if chosen.any():
            numbers |= {
                f"{name}_{level}": float(np.mean(reached[chosen] <= level)) for level in LEVELS
            }
    return numbers


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


def run_task(name: str, sequences: list[Sequence], contenders: Iterable[str]) -> dict[str, Any]:
    """Let contenders follow the objects of sequences."""
    runs = []
    for contender in contenders:
        rows = [run_contender(contender, sequence) for sequence in sequences]
        runs.append({"contender": contender, **(average(rows) if rows[1:] else rows[0])})
        if "coverage_90" in rows[0] and rows[1:]:
            runs[-1]["coverage_deviation"] = float(np.std([row["coverage_90"] for row in rows]))
    return {"name": name, "frames": len(sequences[0].frames), "n": len(sequences), "runs": runs}


def take_ellipses(task: dict[str, Any]) -> dict[str, Any]:
    """Move what is known about ellipses out of a task; return that of its first contender."""
    taken = [{key: run.pop(key) for key in ELLIPSES if key in run} for run in task["runs"]]
    return {"name": task["name"], "sequences": task["n"], **taken[0]}


def measure(quick: bool, contenders: list[str], threads: int | None) -> dict[str, Any]:
    """Let contenders, posterity first, follow all objects."""

    def work() -> dict[str, Any]:
        compared, calibration = (2, 2) if quick else (N_COMPARED, N_CALIBRATION)
        seeds = range(FIRST_TEST_SEED, FIRST_TEST_SEED + compared + calibration)
        simulated = [simulate(seed) for seed in seeds]
        tasks = [run_task(name, [read_sequence(name)], contenders) for name in RECORDED]
        tasks.append(run_task("simulated", simulated[:compared], contenders))
        more = run_task("more simulated", simulated[compared:], ["posterity"])
        return {"tasks": tasks, "ellipses": [take_ellipses(task) for task in (*tasks, more)]}

    warm = partial(run_contender, "posterity", simulate(FIRST_LEARN_SEED))
    return worker.run_after_warm_up(warm, work, threads)


def learn(n_sequences: int = 24) -> float:
    """Drift, from simulated sequences in which the object is seen and was not lost."""
    rows = []
    for k in range(n_sequences):
        sequence = simulate(FIRST_LEARN_SEED + k)
        tracker = DisplacementTracker().start(sequence.frames[0], sequence.boxes[0])
        for frame, box, hidden in zip(
            sequence.frames[1:], sequence.boxes[1:], sequence.hidden[1:], strict=True
        ):
            tracker.step(frame)
            side = np.sqrt(np.prod(box[2:] - box[:2]))
            miss = (tracker.state_.position[:2] - 0.5 * (box[:2] + box[2:])) / side
            if not hidden and np.linalg.norm(miss) < FOLLOWED:
                known = np.trace(tracker.state_.position_covariance[:2, :2]) / (2.0 * side**2)
                rows.append((1.0 - tracker.likeness_, np.mean(miss**2), known))
    return learn_drift(*np.array(rows).T)


def learn_drift(change: Array, error: Array, known: Array) -> float:
    """Standard deviation per lost share of the first look, by maximum likelihood.

    The squared error of a coordinate has the variance that the filters know, and the drift's.

    Examples
    --------
    >>> import numpy as np
    >>> round(learn_drift(np.full(3, 0.5), np.full(3, 0.05), np.full(3, 0.01)), 3)
    0.4
    """

    def lose(log_drift: float) -> float:
        variance = known + (np.exp(log_drift) * change) ** 2
        return float(np.mean(error / variance + np.log(variance)))

    return float(np.exp(optimize.minimize_scalar(lose, bounds=(-6.0, 0.0), method="bounded").x))


def keep_peers(tasks: list[dict[str, Any]], written: list[dict[str, Any]]) -> None:
    """Add the rows of other contenders that an earlier run has written."""
    for task, before in zip(tasks, written, strict=False):
        task["runs"] += [run for run in before["runs"] if not compact.is_ours(run["contender"])]


def run(options: Options, *, only_ours: bool = False) -> None:
    """Measure, write and show the scores."""
    if not all((FOLDER / name).exists() for name in RECORDED.values()):
        options.console.print("vision_tracks: skipped, because shared/data/vision is not here")
        return
    with harness.threads_of_children(options.threads):
        contenders = ["posterity"] if only_ours else list(CONTENDERS)
        measured = harness.in_new_process(measure, options.quick, contenders, options.threads)
    if only_ours:
        keep_peers(measured["tasks"], readings.read("vision_tracks").record["tasks"])
        measured["note"] = KEPT
    title = "Objects followed through frames"
    described = {"benchmark": "vision_tracks", "title": title, **machine.describe()}
    kept = {key: measured[key] for key in ("note", "tasks", "ellipses") if key in measured}
    result = {**described, **kept}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table for each sequence, and one of the ellipses."""
    columns = {
        "precision": "precision at 20 px",
        "precision_error": "+-",
        "success": "success",
        "success_error": "+-",
        "miss_px": "mean error, px",
        "coverage_90": "coverage of 90 %",
        "radius_px": "median radius, px",
        "frames_per_s": "frames per s",
    }
    note = f"{NOTE} {result.get('note', '')}".strip()
    lines = [f"# {result['title']}", "", *report.provenance(result), "", note, ""]
    for task in result["tasks"]:
        lines += [*make_table(task["name"], task["runs"], "contender", columns), ""]
    ellipses = make_table("ellipses of posterity", result["ellipses"], "name", ELLIPSES)
    return "\n".join([*lines, *ellipses, ""])


def make_table(
    corner: str, rows: list[dict[str, Any]], name: str, columns: dict[str, str]
) -> list[str]:
    """Lines of a table with the columns that some row has."""
    shown = [key for key in columns if any(key in row for row in rows)]
    body = [[row[name], *(report.number(row.get(key)) for key in shown)] for row in rows]
    return report.table([corner, *(columns[key] for key in shown)], body)


def main(
    quick: Annotated[bool, typer.Option(help="Two simulated sequences: a rehearsal.")] = False,
    ours: Annotated[bool, typer.Option(help="Keep the rows that peers have in the file.")] = False,
    only_learn: Annotated[bool, typer.Option("--learn", help="Print the drift.")] = False,
) -> None:
    """Follow all objects."""
    if only_learn:
        Console().print(f"drift: {learn():.3f} sides")
    else:
        run(Options(threads=1, quick=quick, console=Console()), only_ours=ours)


if __name__ == "__main__":
    typer.run(main)
