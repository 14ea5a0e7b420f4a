"""Poses of a person who walks, from silhouettes and from five joints, in walks not seen.

``python -m benchmarks.vision_walking`` measures and writes the results; with ``--write``, it also
fits the model of the package to the walks that are part of it.
"""

from __future__ import annotations

import csv
import functools
import io
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor

import posterity
from benchmarks import machine, report, vision_motions, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import GPLVM, vision
from posterity.vision.silhouettes import measure_masks

MODEL = Path(__file__).parents[1] / "src/posterity/vision/models/walking.posterity"
ENDS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
STATURE = 1.944  # metres: that of the first measurements of this task
TRAINING, TEST = slice(0, 6), slice(6, 9)
STEPS = {"training": 3, "test": 4}  # of 30 frames a second
COMPONENTS = 40  # of silhouettes, for regressors
NOTE = (
    "Subject 35, six walks to learn from (210 frames, 10 per second) and three others to test on "
    "(76 frames, 7.5 per second), rendered from the side; 38 joints relative to the hips. Errors "
    "are mean distances of joints in centimetres, with the standard error over the three walks. "
    "Coverage is the share of coordinates that move within their 90 % intervals; of points, those "
    "of joints that are not given; in all answers the given joints stay where they are. All "
    "silhouettes are measured in the same way, and settings of all models were chosen on the walks "
    "to learn from. In sequences, all frames of a walk are known. Milliseconds are of the "
    "processor, for one frame; those from joints include what is learned about these joints."
)


class Frames(NamedTuple):
    """Walks as all contenders see them."""

    data: Any
    silhouettes: Array  # (N, F)

    @property
    def poses(self) -> Array:
        return self.data.poses.reshape(len(self.data.poses), -1)


class Answer(NamedTuple):
    """Poses (n, 3 J), and intervals where there are some."""

    poses: Array
    interval: tuple[Array, Array] | None = None


Contender = Callable[[Frames, Frames], tuple[Callable[[], Answer], Callable[[], Answer]]]


def read_walks() -> tuple[Frames, Frames]:
    """Render the walks to learn from, and those to test on."""
    with zipfile.ZipFile(vision_motions.ARCHIVE) as unpacked, tempfile.TemporaryDirectory() as to:
        index = io.StringIO(unpacked.read("clips.csv").decode())
        rows = [
            row
            for row in csv.DictReader(index)
            if row["subject"] == "35" and row["group"] == "walk"
        ]
        walks = [vision_motions.read_recording(unpacked, row, to) for row in rows[: TEST.stop]]
    parts = []
    for part, step in ((TRAINING, STEPS["training"]), (TEST, STEPS["test"])):
        data = vision.datasets.walkers(recordings=walks[part], step=step, stature=STATURE)
        parts.append(Frames(data, measure_masks(data.masks)))
    return parts[0], parts[1]


def find_columns(frames: Frames) -> Array:
    """Columns of poses of the five joints."""
    joints = [frames.data.joint_names.index(name) for name in ENDS]
    return np.concatenate([3 * joint + np.arange(3) for joint in joints])


def answer_mean(training: Frames, test: Frames) -> Any:
    """The mean pose."""
    mean = np.repeat(training.poses.mean(axis=0)[None], len(test.poses), axis=0)
    return lambda: Answer(mean), lambda: Answer(mean)


def regress(make: Callable[[], Any], n_components: int | None) -> Contender:
    """A contender that predicts poses from components of silhouettes, or from joints."""

    def answer(training: Frames, test: Frames) -> Any:
        centre = training.silhouettes.mean(axis=0)
        axes = np.linalg.svd(training.silhouettes - centre, full_matrices=False)[2][:n_components]
        seen, asked = ((part.silhouettes - centre) @ axes.T for part in (training, test))
        columns = find_columns(training)
        targets = training.poses - training.poses.mean(axis=0)

        def predict(X: Array, Z: Array) -> Answer:
            size = np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
            scale = np.sqrt(np.mean(targets**2))
            model = make()
            keys = {"groups": training.data.groups} if isinstance(model, GridSearchCV) else {}
            model.fit((X - X.mean(axis=0)) / size, targets / scale, **keys)
            query = (Z - X.mean(axis=0)) / size
            if not isinstance(model, GaussianProcessRegressor):
                return Answer(model.predict(query) * scale + training.poses.mean(axis=0))
            mean, deviation = (a * scale for a in model.predict(query, return_std=True))
            mean += training.poses.mean(axis=0)
            return Answer(mean, (mean - 1.645 * deviation, mean + 1.645 * deviation))

        return (
            lambda: predict(seen, asked),
            lambda: predict(training.poses[:, columns], test.poses[:, columns]),
        )

    return answer


def make_process() -> GaussianProcessRegressor:
    """Scikit-learn's process with kernel and noise of the largest evidence."""
    kernel = ConstantKernel(1.0) * RBF(1.0, (0.05, 50.0)) + WhiteKernel(0.01, (1e-6, 1.0))
    return GaussianProcessRegressor(kernel)


def make_ridge() -> GridSearchCV:
    """Kernel ridge with width and penalty of the least error on walks left out."""
    grid = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1], "gamma": [0.1, 0.3, 1.0, 3.0]}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=GroupKFold(6))


def answer_plain_model(training: Frames, test: Frames) -> Any:
    """A GPLVM of poses and silhouettes of the same total variance, as first measured."""
    moving = np.flatnonzero(training.poses.std(axis=0) > 1e-6)
    centre = training.silhouettes.mean(axis=0)
    axes = np.linalg.svd(training.silhouettes - centre, full_matrices=False)[2][:12]
    poses, masks = training.poses[:, moving], (training.silhouettes - centre) @ axes.T
    weight = poses.std() / masks.std() * np.sqrt(len(moving) / 12)
    model = GPLVM(3).fit(np.hstack([poses, weight * masks]), groups=training.data.groups)

    def complete(known: Array) -> Answer:
        filled = model.complete(known)
        low, high = filled.interval(0.9)
        whole = [np.repeat(training.poses.mean(axis=0)[None], len(known), axis=0) for _ in range(3)]
        for target, values in zip(whole, (filled.mean(), low, high), strict=True):
            target[:, moving] = values[:, : len(moving)]
        return Answer(whole[0], (whole[1], whole[2]))

    def from_masks() -> Answer:
        known = np.full((len(test.poses), len(moving) + 12), np.nan)
        known[:, len(moving) :] = weight * (test.silhouettes - centre) @ axes.T
        return complete(known)

    def from_points() -> Answer:
        known = np.full((len(test.poses), len(moving) + 12), np.nan)
        places = np.flatnonzero(np.isin(moving, find_columns(training)))
        known[:, places] = test.poses[:, moving[places]]
        return complete(known)

    return from_masks, from_points


def answer_walking_model(training: Frames, test: Frames, *, sequence: bool) -> Any:
    """The class of this library."""
    seen = training.data
    model = vision.WalkingModel()
    model.fit(seen.masks, seen.poses, groups=seen.groups, times=seen.times)
    path = {"times": test.data.times, "groups": test.data.groups} if sequence else {}

    def describe(found: vision.PoseModes) -> Answer:
        flat = (a.reshape(len(found), -1) for a in (found.mean(), *found.interval(0.9)))
        mean, low, high = flat
        return Answer(mean, (low, high))

    points = np.full(test.poses.shape, np.nan)
    columns = find_columns(training)
    points[:, columns] = test.poses[:, columns]
    known = points.reshape(test.data.poses.shape)
    return (
        lambda: describe(model.predict_modes(test.data.masks, **path)),
        lambda: describe(model.complete(known, **path)),
    )


CONTENDERS: dict[str, Contender] = {
    "mean pose": answer_mean,
    "nearest neighbour": regress(lambda: KNeighborsRegressor(1), 12),
    "nearest neighbour, all measures": regress(lambda: KNeighborsRegressor(1), None),
    "kernel ridge, scikit-learn": regress(make_ridge, COMPONENTS),
    "Gaussian process, scikit-learn": regress(make_process, COMPONENTS),
    "posterity GPLVM, blocks of equal variance": answer_plain_model,
    "posterity WalkingModel, frames": lambda a, b: answer_walking_model(a, b, sequence=False),
    "posterity WalkingModel, sequences": lambda a, b: answer_walking_model(a, b, sequence=True),
}


def score(answer: Answer, test: Frames, is_scored: Any) -> dict[str, float]:
    """Error in centimetres with its standard error over walks, and coverage in per cent."""
    shape = len(test.poses), -1, 3
    apart = np.linalg.norm((answer.poses - test.poses).reshape(shape), axis=2).mean(axis=1)
    each = [100.0 * apart[test.data.groups == k].mean() for k in np.unique(test.data.groups)]
    found = {
        "error_cm": float(100.0 * apart.mean()),
        "standard_error_cm": float(np.std(each, ddof=1) / np.sqrt(len(each))),
    }
    if answer.interval is not None:
        low, high = answer.interval
        within = (low <= test.poses) & (test.poses <= high)
        found["coverage_percent"] = float(100.0 * within[:, is_scored].mean())
    return found


def keep_known(answer: Answer, test: Frames) -> Answer:
    """Put the joints that are given where they are, whoever answers."""
    poses, columns = answer.poses.copy(), find_columns(test)
    poses[:, columns] = test.poses[:, columns]
    return answer._replace(poses=poses)


def measure(name: str, training: Frames, test: Frames) -> dict[str, Any]:
    """A row of the table."""
    start = time.process_time()
    questions = CONTENDERS[name](training, test)
    row: dict[str, Any] = {"contender": name, "fit_s": time.process_time() - start}
    moves = training.poses.std(axis=0) > 1e-6
    hidden = moves.copy()
    hidden[find_columns(training)] = False
    for task, ask, scored in zip(
        ("silhouettes", "points"), questions, (moves, hidden), strict=True
    ):
        start = time.process_time()
        answer = ask()
        spent = 1000.0 * (time.process_time() - start) / len(test.poses)
        if task == "points":
            answer = keep_known(answer, test)
        row |= {f"{task}_{key}": value for key, value in score(answer, test, scored).items()}
        row[f"{task}_ms"] = spent
    return row


def run(options: Options, *, write: bool = False) -> None:
    """Measure all contenders; write and show the scores."""
    if write:
        write_model(options)
    if not vision_motions.ARCHIVE.exists():
        options.console.print("vision_walking: skipped, because shared/data/vision is not here")
        return
    training, test = read_walks()
    names = list(CONTENDERS)[:2] if options.quick else list(CONTENDERS)
    runs = []
    for name in names:
        options.console.print(f"vision_walking: {name}")
        work = functools.partial(measure, name, training, test)
        runs.append(worker.run_after_warm_up(int, work, options.threads))
    task = {"name": "subject 35", "frames": len(test.poses), "runs": runs}
    title = "Poses of a person who walks"
    described = machine.describe()
    result = {"benchmark": "vision_walking", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table of the contenders."""
    columns = (
        ("silhouettes_error_cm", "from silhouettes, cm"),
        ("silhouettes_standard_error_cm", "+-"),
        ("silhouettes_coverage_percent", "coverage, %"),
        ("silhouettes_ms", "ms"),
        ("points_error_cm", "from five joints, cm"),
        ("points_standard_error_cm", "+-"),
        ("points_coverage_percent", "coverage, %"),
        ("points_ms", "ms"),
        ("fit_s", "fit, CPU s"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
        for run in task["runs"]
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["", *(heading for _, heading in columns)]
    return "\n".join([*lines, *report.table(heading, body), ""])


def write_model(options: Options) -> None:
    """Fit the model of the package to the walks of the package."""
    walks = vision.datasets.walkers(4)
    model = vision.WalkingModel().fit(
        walks.masks, walks.poses, groups=walks.groups, times=walks.times
    )
    posterity.save(model, MODEL)
    options.console.print(f"{MODEL.name}: {MODEL.stat().st_size:,} bytes")


def main(
    quick: Annotated[bool, typer.Option(help="Two contenders: a rehearsal.")] = False,
    write: Annotated[bool, typer.Option(help="Write the model of the package.")] = False,
) -> None:
    """Measure all contenders."""
    run(Options(threads=1, quick=quick, console=Console()), write=write)


if __name__ == "__main__":
    typer.run(main)
