"""Parts of the body and joints in rendered depth images of people that no forest has seen.

``python -m benchmarks.vision_body_parts`` measures and writes the results. Rows are kept in
``benchmarks/data`` and not measured again, unless ``--fresh`` is given; each says when it was
measured. With ``--write``, the forest of people who may be near and hidden in part becomes the
model in the package. Real images, which have no labels, are drawn to ``benchmarks/data``.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier

import posterity
from benchmarks import harness, machine, report, vision_motions, vision_real_depth, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import vision
from posterity.vision import bodies, depth_differences
from posterity.vision.bodies.spheres import find_joint_parts
from posterity.vision.body_parts import BodyPartForest

MODEL = Path(__file__).parents[1] / "src/posterity/vision/models/body_parts.posterity"
KEPT = Path(__file__).parent / "data" / "vision_body_parts"
TEST_IMAGES = 300
BINS = 10
CLOSE = 0.1  # metres
VISIBLE = 5  # pixels of a joint
FRONT, ROUND = 60.0, 180.0  # degrees to either side
NOTE = (
    "Subjects 08, 14, 86 and 105 to test on, 300 images, all others to learn from; 91 is left out, "
    "because its files are those of 105. Images of 320 x 240 with the noise, steps and holes of a "
    "depth camera, people of 1.55 to 1.95 m at 2 to 4 m. Class mean is the mean over the 31 parts; "
    "the calibration error is that of the most probable part, in ten bins. Precision of joints: "
    "mean over 16 joints of the average precision of positions within 10 cm, where joints of "
    "which fewer than five pixels are visible are not missed. Milliseconds are of the processor, "
    "for parts, and for joints and parts. A row is measured by itself, on the day in its last "
    "column; only the rows of the day of this page saw the machine described above."
)


@dataclass(frozen=True)
class Setting:
    """A row of the table."""

    name: str
    fit: Callable[[Setting, bool], Any]
    max_turn: float
    images: int
    pixels: int
    tests: int
    least: float  # pixels of a leaf
    nearest: float = 2.0  # metres
    hidden: float = 0.0  # share of images

    def frames(self, quick: bool) -> Iterator[bodies.BodyFrame]:
        """Images to learn from: long recordings more often, but less than their length."""
        seen = [
            r for r in vision_motions.read_recordings() if r.subject not in vision_motions.UNSEEN
        ]
        sampler = bodies.FrameSampler(
            max_turn=self.max_turn,
            mirror=True,
            distance=(self.nearest, 4.0),
            hidden=self.hidden,
        )
        shares = np.sqrt([len(recording.motion.values) for recording in seen])
        n = min(self.images, 100) if quick else self.images
        return islice(sampler.draw(seen, np.random.default_rng(0), shares), n)


def fit_forest(setting: Setting, quick: bool) -> BodyPartForest:
    """A forest of three trees."""
    model = BodyPartForest(
        max_features=setting.tests,
        pixels_per_image=setting.pixels,
        min_samples_leaf=setting.least,
        n_jobs=1,
        random_state=0,
    )
    return model.fit(setting.frames(quick))


class Precomputed:
    """scikit-learn's forest on a table of differences that are drawn once."""

    n_differences = 400

    def __init__(self, setting: Setting) -> None:
        self._family = depth_differences.DepthDifferences()
        rng = np.random.default_rng(1)
        self._tests = self._family.draw(1, self.n_differences, rng)
        self._forest = RandomForestClassifier(
            3,
            max_features=setting.tests,
            max_depth=20,
            min_samples_leaf=4,
            n_jobs=1,
            random_state=0,
        )

    def fit(self, frames: Iterator[bodies.BodyFrame], per_image: int) -> Precomputed:
        """Fit a table of pixels."""
        rng, columns, labels = np.random.default_rng(0), [], []
        for number, frame in enumerate(frames):
            if number % 10 == 9:  # which the other forests set aside for joints
                continue
            pixels = depth_differences.DepthPixels.from_image(frame.depth, 285.0)
            some = pixels.take(rng.permutation(len(pixels))[:per_image])
            columns.append(self._differences(some))
            labels.append(frame.labels[tuple(some.positions().T)])
        self._forest.fit(np.concatenate(columns), np.concatenate(labels))
        return self

    def predict_proba(self, depth: Array) -> Array:
        """Probabilities (H, W, 31)."""
        pixels = depth_differences.DepthPixels.from_image(depth, 285.0)
        answer = np.zeros((*depth.shape, len(bodies.PARTS)))
        found = np.zeros((len(pixels), len(bodies.PARTS)))
        found[:, self._forest.classes_] = self._forest.predict_proba(self._differences(pixels))
        answer[tuple(pixels.positions().T)] = found
        return answer

    def _differences(self, pixels: depth_differences.DepthPixels) -> Array:
        n = len(pixels)
        places, which = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        return self._family.respond(pixels, places, self._tests, which).T.astype(np.float32)


def fit_peer(setting: Setting, quick: bool) -> Precomputed:
    """The peer on the same images."""
    return Precomputed(setting).fit(setting.frames(quick), setting.pixels)


def load_packaged(setting: Setting, quick: bool) -> BodyPartForest:
    """The model in the package, with one thread."""
    return vision.load_packaged("body_parts").set_params(n_jobs=1)


SETTINGS = (
    Setting("posterity, 600 images", fit_forest, FRONT, 600, 150, 50, 4.0),
    Setting("scikit-learn, 600 images, 400 differences", fit_peer, FRONT, 600, 150, 50, 4.0),
    Setting("posterity, 15,000 images", fit_forest, FRONT, 15_000, 150, 100, 24.0),
    Setting(
        "posterity, 15,000 images, also near and half hidden",
        *(fit_forest, FRONT, 15_000, 150, 100, 26.0),
        nearest=1.3,
        hidden=0.25,
    ),
    Setting("posterity, 6,000 images, all round", fit_forest, ROUND, 6_000, 150, 100, 12.0),
    Setting("posterity, the model in the package", load_packaged, FRONT, 0, 0, 0, 0.0),
)


def list_test_frames(max_turn: float, quick: bool) -> list[bodies.BodyFrame]:
    """Images of people who are not in the training set, all recordings alike."""
    unseen = [r for r in vision_motions.read_recordings() if r.subject in vision_motions.UNSEEN]
    sampler = bodies.FrameSampler(max_turn=max_turn)
    n = 10 if quick else TEST_IMAGES
    return list(islice(sampler.draw(unseen, np.random.default_rng(1)), n))


def score_parts(model: Any, frames: Sequence[bodies.BodyFrame]) -> dict[str, float]:
    """Shares in percent, mean log probability and calibration error over all pixels."""
    parts = []
    for frame in frames:
        seen = frame.labels != bodies.BACKGROUND
        p, y = model.predict_proba(frame.depth)[seen], frame.labels[seen]
        own = np.maximum(p[np.arange(len(y)), y], 1e-12)
        parts.append(np.column_stack([p.argmax(axis=1) == y, p.max(axis=1), np.log(own), y]))
    right, top, log_p, y = np.concatenate(parts).T
    return {
        "pixel_percent": 100.0 * float(right.mean()),
        "class_percent": 100.0 * float(np.mean([right[y == c].mean() for c in np.unique(y)])),
        "log_score": float(log_p.mean()),
        "top_class_error": find_calibration_error(top, right),
        "confidence_percent": 100.0 * float(top.mean()),
    }


def find_calibration_error(top: Array, right: Array) -> float:
    """Mean gap between confidence and accuracy over equal bins of confidence.

    Examples
    --------
    >>> import numpy as np
    >>> round(find_calibration_error(np.array([0.95, 0.95, 0.55]), np.array([1.0, 1.0, 1.0])), 4)
    0.1833
    """
    bins = np.minimum((BINS * top).astype(int), BINS - 1)
    gaps = [np.abs(np.sum((right - top)[bins == b])) for b in range(BINS)]
    return float(np.sum(gaps) / len(top))


def score_joints(model: BodyPartForest, frames: Sequence[bodies.BodyFrame]) -> dict[str, float]:
    """Mean average precision within 10 cm, shares within 10 cm, and the mean probability."""
    found = [model.find_joints(frame.depth) for frame in frames]
    probability = np.array([one.probability for one in found])
    off = np.array([one.positions for one in found]) - np.array([f.joints for f in frames])
    right = np.linalg.norm(off, axis=-1) < CLOSE
    visible = np.array(
        [
            [np.isin(f.labels, shown).sum() >= VISIBLE for shown in find_joint_parts()]
            for f in frames
        ]
    )
    each = [
        find_average_precision(probability[:, j], right[:, j], visible[:, j])
        for j in range(len(bodies.JOINTS))
    ]
    return {
        "joint_precision": float(np.mean(each)),
        "joint_precisions": dict(zip(bodies.JOINTS, np.round(each, 3).tolist(), strict=True)),
        "joint_percent": 100.0 * float(right[visible].mean()),
        "joint_confidence_percent": 100.0 * float(probability[visible].mean()),
        "joint_calibration_error": find_calibration_error(
            probability[visible], right[visible].astype(float)
        ),
    }


def find_average_precision(
    probability: Array, right: np.ndarray[Any, Any], visible: np.ndarray[Any, Any]
) -> float:
    """The area under precision over recall; hidden joints that are found do not count.

    Examples
    --------
    >>> import numpy as np
    >>> sure, right = np.array([0.9, 0.8, 0.7]), np.array([True, False, True])
    >>> round(find_average_precision(sure, right, np.array([True, True, True])), 4)
    0.5556
    """
    counts = ~right | visible
    order = np.argsort(-probability[counts], kind="stable")
    hits = right[counts][order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].sum() / max(visible.sum(), 1))


def time_frames(answer: Callable[[Array], Any], frames: Sequence[bodies.BodyFrame]) -> float:
    """Processor seconds of an image, without keeping answers: these are large."""
    some = frames[:100]
    _, (_, seconds) = worker.time_work(lambda: sum(answer(f.depth) is None for f in some))
    return seconds / len(some)


def run_setting(setting: Setting, quick: bool, target: Path | None) -> dict[str, Any]:
    """Fit one forest and score it on people it has not seen."""
    model, (_, fit_s) = worker.time_work(lambda: setting.fit(setting, quick))
    frames = list_test_frames(setting.max_turn, quick)
    model.predict_proba(frames[0].depth)
    scores = score_parts(model, frames)
    parts_s = time_frames(model.predict_proba, frames)
    learned = {} if setting.fit is load_packaged else {"fit_cpu_s": fit_s}
    numbers = {**scores, **learned, "parts_ms": 1000.0 * parts_s}
    if not isinstance(model, BodyPartForest):
        return numbers
    numbers |= score_joints(model, frames)
    joints_s = time_frames(model.find_joints, frames)
    with tempfile.TemporaryDirectory() as folder:
        path = target or Path(folder) / "model.posterity"
        path.parent.mkdir(parents=True, exist_ok=True)
        posterity.save(model, path)
        numbers |= {"file_bytes": os.path.getsize(path)}
    nodes = len(model.forest_.trees.thresholds)
    return numbers | {"joints_ms": 1000.0 * joints_s, "nodes": nodes}


def run(
    options: Options,
    settings: Sequence[Setting] = SETTINGS,
    *,
    write: bool = False,
    fresh: bool = False,
) -> None:
    """Fit every forest; write and show the scores."""
    if not vision_motions.ARCHIVE.exists():
        name = "shared/data/vision"
        options.console.print(f"vision_body_parts: skipped, because {name} is not here")
        return
    runs = []
    for setting in settings:
        options.console.print(f"vision_body_parts: {setting.name}")
        target = MODEL if write and setting is SETTINGS[3] else None
        kept = None if fresh or target or options.quick else recall_row(setting)
        runs.append(kept or measure_row(setting, options, target))
    task = {"name": "rendered people", "test_images": TEST_IMAGES, "runs": runs}
    title = "Parts of the body from depth"
    described = machine.describe()
    result = {"benchmark": "vision_body_parts", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)
    vision_real_depth.draw_frames(KEPT / "real_frames.png", options.console)


def measure_row(setting: Setting, options: Options, target: Path | None) -> dict[str, Any]:
    """A row of the table, measured now and kept unless it is a rehearsal."""
    with harness.threads_of_children(options.threads):
        numbers = harness.in_new_process(_measure, setting, options.quick, target, options.threads)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    row = {"contender": setting.name, "max_turn": setting.max_turn, "measured": today, **numbers}
    if not options.quick:
        KEPT.mkdir(parents=True, exist_ok=True)
        _find_file(setting).write_text(json.dumps(row))
    return row


def recall_row(setting: Setting) -> dict[str, Any] | None:
    """A row that an earlier run has kept."""
    file = _find_file(setting)
    return json.loads(file.read_text()) if file.exists() else None


def _find_file(setting: Setting) -> Path:
    return KEPT / (re.sub(r"[^a-z0-9]+", "_", setting.name.lower()) + ".json")


def _measure(
    setting: Setting, quick: bool, target: Path | None, threads: int | None
) -> dict[str, Any]:
    nothing = partial(int)
    return worker.run_after_warm_up(nothing, lambda: run_setting(setting, quick, target), threads)


def page(result: dict[str, Any]) -> str:
    """A table of the forests."""
    columns = (
        ("max_turn", "views, +- degrees"),
        ("pixel_percent", "pixels, %"),
        ("class_percent", "class mean, %"),
        ("log_score", "log score"),
        ("top_class_error", "calibration error"),
        ("joint_precision", "precision of joints"),
        ("joint_percent", "visible joints within 10 cm, %"),
        ("joint_calibration_error", "calibration error of joints"),
        ("fit_cpu_s", "render and fit, CPU s"),
        ("parts_ms", "parts, ms"),
        ("joints_ms", "joints, ms"),
        ("file_bytes", "file, bytes"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run.get(key)) for key, _ in columns), run["measured"]]
        for run in task["runs"]
    ]
    heading = ["three trees", *(heading for _, heading in columns), "measured"]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    return "\n".join([*lines, *report.table(heading, body), ""])


def main(
    quick: Annotated[bool, typer.Option(help="A hundred images: a rehearsal.")] = False,
    write: Annotated[bool, typer.Option(help="Write the model of the package.")] = False,
    fresh: Annotated[bool, typer.Option(help="Measure rows that are kept again.")] = False,
) -> None:
    """Fit all forests."""
    run(Options(threads=1, quick=quick, console=Console()), write=write, fresh=fresh)


if __name__ == "__main__":
    typer.run(main)
