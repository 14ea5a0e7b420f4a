"""Poses from silhouettes: recorded histograms of shape contexts, and rendered people.

``python -m benchmarks.vision_pose`` measures and writes the results; with ``--write``, it fits the
model of the package instead, to rendered silhouettes of all recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor

import posterity
from benchmarks import harness, machine, pose, report, vision_motions, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity.vision import PoseModes, ShapeContexts, SilhouettePose, bodies
from posterity.vision.masks import measure_occupancy

MODEL = Path(__file__).parents[1] / "src/posterity/vision/models/pose.posterity"
WALKING = ("walk", "limp", "march")
LEARNED = (*WALKING, "run", "jog")  # to learn long steps from
UNSEEN = ("08", "105")
ALL_ROUND, SIDE = (-180.0, 180.0), (60.0, 120.0)
MOST_TURN = 45.0  # degrees that a person turns in a straight walk
BLOCKS, FOLDS = 40, 5
LEVEL = 0.9
LEAST_MODE = 0.1
VIEWS, TEST_VIEWS, FRAMES = 3, 2, 40  # of each walk
MOST_RECORDINGS = 24  # of unseen people, for the model of the package
PACKAGED = SilhouettePose(32, n_columns=250)
PACKAGED_VIEWS = 4
MOST_RIDGE_ROWS = 4000  # of kernel ridge, whose cost is cubic
SHARES = (0.25, 0.4, 0.6)  # of the median distance: widths of kernels
NOTE = (
    "Mean distance between joints predicted and true: in the units of the recording for the "
    "histograms of Agarwal and Triggs (1,927 frames to learn from, a video of 418 to test on), "
    "in centimetres for rendered people. Those are all walks and runs at 15 frames a second, 40 "
    "frames of three views of each, to learn from; walks of subjects 08 and 105 to test on, two "
    "views of each; 91, which is 105, is left out. Peers see the roots of histograms, and of "
    "rendered people the same coarse pictures, too; kernel ridge has its width and penalty from "
    "blocks of frames, or people, held out in training, and 4,000 frames at most. First mode: "
    "distance of the most probable pose; nearest mode: of the nearest pose with a probability of "
    "10 % or more. Coverage is of 90 % intervals of coordinates that move; its range is over "
    "coordinates. In a video each frame is judged by all. Kept: frames, or columns of the kernel, "
    "that a prediction looks at. Seconds are of the processor; those of posterity contain "
    "descriptions of masks."
)


class Frames(NamedTuple):
    """Silhouettes and poses; groups are what is held out together in training."""

    X: Array
    y: Array
    groups: Array | None
    videos: Array  # number of the video of each row


class Task(NamedTuple):
    """Training and test frames, peers' columns of both, and the unit of distances."""

    train: Frames
    test: Frames
    columns: tuple[Array, Array]
    unit: float


@dataclass(frozen=True)
class Contender:
    """A row of the table."""

    name: str
    predict: Callable[[Task], list[dict[str, Any]]]


def load_recorded(quick: bool) -> Task:
    """The histograms of Agarwal and Triggs."""
    data = pose.frames(pose.QUICK if quick else 1)
    train = Frames(data.X, data.y, None, np.zeros(len(data.y)))
    test = Frames(data.X_test, data.y_test, None, np.zeros(len(data.y_test)))
    return Task(train, test, (np.sqrt(data.X), np.sqrt(data.X_test)), 1.0)


def load_rendered(turn: tuple[float, float], quick: bool) -> Task:
    """Silhouettes of walks, and histograms of their contexts for peers."""
    recordings = [
        recording
        for recording in vision_motions.read_recordings()
        if turn == ALL_ROUND or is_straight(recording)
    ]
    rng, sampler = np.random.default_rng(0), bodies.VideoSampler(turn=turn)
    seen = [one for one in recordings if one.subject not in UNSEEN and shows(one, LEARNED)]
    unseen = [one for one in recordings if one.subject in UNSEEN and shows(one, WALKING)]
    if quick:
        seen, unseen = take_evenly(seen, 4), take_evenly(unseen, 2)
    train = render_videos(seen, sampler, rng, views=VIEWS, frames=FRAMES)
    test = render_videos(unseen, sampler, rng, views=TEST_VIEWS, frames=FRAMES)
    contexts = ShapeContexts().fit(train.X[::8])
    columns = [
        np.column_stack(
            [np.sqrt(contexts.transform(X)), [measure_occupancy(m, (24, 16)) for m in X]]
        )
        for X in (train.X, test.X)
    ]
    return Task(train, test, (columns[0], columns[1]), 100.0)


def shows(recording: bodies.Recording, words: Sequence[str]) -> bool:
    """Whether the description of a recording has one of the words."""
    return any(word in recording.description.lower() for word in words)


def take_evenly(recordings: Sequence[bodies.Recording], most: int) -> list[bodies.Recording]:
    """At most so many of the recordings, evenly spread over the list."""
    which = np.unique(np.linspace(0, len(recordings) - 1, most).round().astype(int))
    return [recordings[k] for k in which]


def is_straight(recording: bodies.Recording) -> bool:
    """Whether a person turns little."""
    skeleton, places = recording.motion.skeleton, recording.poses.positions
    left, right = (skeleton.number_of(f"{side}UpLeg") for side in ("Left", "Right"))
    across = places[:, left] - places[:, right]
    heading = np.unwrap(np.arctan2(-across[:, 2], across[:, 0]))
    return bool(np.ptp(heading) < np.deg2rad(MOST_TURN))


def render_videos(
    recordings: Sequence[bodies.Recording],
    sampler: bodies.VideoSampler,
    rng: np.random.Generator,
    *,
    views: int,
    frames: int,
) -> Frames:
    """Render every recording from several views, every other time mirrored; people are groups."""
    videos = [
        (
            recording.subject,
            sampler.render(recording, rng, frames=frames, every=2, mirror=k % 2 > 0),
        )
        for recording in recordings
        for k in range(views)
    ]
    lengths = [len(video.masks) for _, video in videos]
    return Frames(
        np.concatenate([video.masks for _, video in videos]),
        np.concatenate([video.joints for _, video in videos]),
        np.repeat([subject for subject, _ in videos], lengths),
        np.repeat(np.arange(len(videos)), lengths),
    )


def number_frames(videos: Array) -> Array:
    """Times such that frames of different videos do not follow each other."""
    return np.arange(len(videos)) + 10.0 * videos


def predict_posterity(task: Task) -> list[dict[str, Any]]:
    """Fit a SilhouettePose; score it on the test frames one by one, and as videos."""
    train = task.train
    model, (_, fit_s) = worker.time_work(
        lambda: SilhouettePose().fit(
            train.X, train.y, times=number_frames(train.videos), groups=train.groups
        )
    )
    about = {"kept": len(model.experts_.centres), "fit_cpu_s": fit_s}
    return [
        {"how": how, **score_poses(model, task.test, task.unit, video=video), **about}
        for how, video in (("", False), (", video", True))
    ]


def score_poses(model: SilhouettePose, test: Frames, unit: float, *, video: bool) -> dict[str, Any]:
    """Errors of means and modes, and coverage, on the test frames."""
    parts = [test.videos == k for k in np.unique(test.videos)] if video else [test.videos >= 0]
    answers, (_, seconds) = worker.time_work(
        lambda: [model.predict_dist(test.X[part], video=video) for part in parts]
    )
    truth = np.concatenate([test.y[part] for part in parts]).reshape(len(test.y), -1)
    predicted = np.concatenate([answer.mean() for answer in answers]).reshape(truth.shape)
    bounds = [np.concatenate(b) for b in zip(*(a.interval(LEVEL) for a in answers), strict=True)]
    low, high = (b.reshape(truth.shape) for b in bounds)
    moves = truth.std(axis=0) > 1e-3 * truth.std()
    inside = ((low <= truth) & (truth <= high))[:, moves]
    each = inside.mean(axis=0)
    modes = PoseModes.join([model.predict_modes(test.X[part], video=video) for part in parts])
    first, nearest = np.mean([measure_modes(modes, k, own) for k, own in enumerate(truth)], axis=0)
    return {
        "joint_distance": unit * pose.joint_distance(predicted, truth),
        "first_mode": unit * float(first),
        "nearest_mode": unit * float(nearest),
        "coverage_percent": 100.0 * float(inside.mean()),
        "coverage_range": f"{100 * each.min():.0f} to {100 * each.max():.0f}",
        "predict_ms": 1000.0 * seconds / len(truth),
    }


def measure_modes(modes: PoseModes, frame: int, truth: Array) -> tuple[float, float]:
    """Distance of the most probable pose, and of the nearest one of some probability."""
    poses = modes.list_probable(frame, LEAST_MODE)[1]
    off = [pose.joint_distance(one.reshape(1, -1), truth[None]) for one in poses]
    return off[0], min(off)


def predict_peer(task: Task, build: Callable[[Task], Any]) -> list[dict[str, Any]]:
    """Fit a peer to roots of histograms; error on the test frames."""
    columns, (y, y_test) = task.columns, (part.y.reshape(len(part.y), -1) for part in task[:2])
    model, (_, fit_s) = worker.time_work(lambda: build(task).fit(columns[0], y))
    predicted, (_, seconds) = worker.time_work(lambda: model.predict(columns[1]))
    scores = {
        "joint_distance": task.unit * pose.joint_distance(predicted, y_test),
        "kept": len(y),
        "fit_cpu_s": fit_s,
        "predict_ms": 1000.0 * seconds / len(y_test),
    }
    return [scores]


def build_neighbours(task: Task, n: int) -> KNeighborsRegressor:
    """Poses of the nearest frames, by distance."""
    return KNeighborsRegressor(n, weights="distance")


def build_ridge(task: Task) -> Any:
    """scikit-learn's kernel ridge; width and penalty by held-out blocks or people."""
    X, train = task.columns[0], task.train
    typical = float(np.median(pdist(X[:: max(len(X) // 400, 1)])))
    blocks = np.arange(len(X)) * BLOCKS // len(X) if train.groups is None else train.groups
    folds = list(GroupKFold(FOLDS).split(X, groups=blocks))
    grid = {"gamma": [0.5 / (s * typical) ** 2 for s in SHARES], "alpha": [0.001, 0.01, 0.1]}
    return GridSearchCV(
        _CentredRidge(kernel="rbf"), grid, cv=folds, scoring="neg_mean_absolute_error"
    )


class _CentredRidge(KernelRidge):
    """Kernel ridge about the mean pose, on rows that are evenly spread."""

    def fit(self, X: Array, y: Array, sample_weight: Any = None) -> _CentredRidge:
        self.centre_ = y.mean(axis=0)
        some = slice(None, None, -(-len(y) // MOST_RIDGE_ROWS))
        super().fit(X[some], y[some] - self.centre_, sample_weight)
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(super().predict(X) + self.centre_)


def fit_mean(task: Task) -> list[dict[str, Any]]:
    """The mean pose of training."""
    y, y_test = (part.y.reshape(len(part.y), -1) for part in task[:2])
    predicted = np.tile(y.mean(axis=0), (len(y_test), 1))
    return [{"joint_distance": task.unit * pose.joint_distance(predicted, y_test), "kept": 0}]


PEERS = (
    *(
        Contender(
            f"{n} nearest neighbour{'s' if n > 1 else ''}",
            partial(predict_peer, build=partial(build_neighbours, n=n)),
        )
        for n in (1, 3, 5)
    ),
    Contender("kernel ridge of scikit-learn", partial(predict_peer, build=build_ridge)),
    Contender("mean pose", fit_mean),
)


CONTENDERS = (
    Contender("posterity", predict_posterity),
    *PEERS,
)
TASKS: tuple[tuple[str, Callable[[bool], Task]], ...] = (
    ("Agarwal and Triggs", load_recorded),
    ("rendered, straight walks from the side", partial(load_rendered, SIDE)),
    ("rendered, walks all round", partial(load_rendered, ALL_ROUND)),
)


def run(options: Options) -> None:
    """Fit every contender on every task; write and show the scores."""
    if not (vision_motions.ARCHIVE.exists() and pose.FOLDER.exists()):
        options.console.print("vision_pose: skipped, because shared/data is not beside this")
        return
    tasks = []
    for name, load in TASKS:
        options.console.print(f"vision_pose: {name}")
        with harness.threads_of_children(options.threads):
            tasks.append(
                harness.in_new_process(run_task, name, load, options.quick, options.threads)
            )
    title = "Poses from silhouettes"
    result = {"benchmark": "vision_pose", "title": title, **machine.describe(), "tasks": tasks}
    report.publish(result, page(result), options)


def run_task(
    name: str,
    load: Callable[[bool], Task],
    quick: bool,
    threads: int | None,
) -> dict[str, Any]:
    """All contenders on one task."""

    def work() -> dict[str, Any]:
        task = load(quick)
        runs = [
            {"contender": one.name + scores.pop("how", ""), **scores}
            for one in CONTENDERS
            for scores in one.predict(task)
        ]
        return {
            "name": name,
            "rows": len(task.train.y),
            "test_rows": len(task.test.y),
            "runs": runs,
        }

    return worker.run_after_warm_up(partial(int), work, threads)


def page(result: dict[str, Any]) -> str:
    """A table for each task."""
    columns = (
        ("joint_distance", "joint distance"),
        ("first_mode", "first mode"),
        ("nearest_mode", "nearest mode"),
        ("coverage_percent", "90 % intervals hold, %"),
        ("coverage_range", "range, %"),
        ("kept", "kept"),
        ("fit_cpu_s", "fit, CPU s"),
        ("predict_ms", "a frame, ms"),
    )
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    for task in result["tasks"]:
        size = f"{task['rows']:,} frames, {task['test_rows']:,} to test on"
        body = [
            [run["contender"], *(show(run.get(key)) for key, _ in columns)] for run in task["runs"]
        ]
        heading = ["", *(heading for _, heading in columns)]
        lines += [f"## {task['name']}: {size}", "", *report.table(heading, body), ""]
    return "\n".join(lines)


def show(value: Any) -> str:
    """A cell of the table."""
    return value if isinstance(value, str) else report.number(value)


def write_model(console: Console) -> None:
    """Fit the model of the package, and print its scores on some recordings of unseen people."""
    model = fit_packaged_model()
    posterity.save(model, MODEL)
    console.print(f"{MODEL.name}: {MODEL.stat().st_size:,} bytes")
    for scores in score_packaged_model(model):
        console.print(scores)


def fit_packaged_model() -> SilhouettePose:
    """Fit a model to two seconds of every recording of people who are not unseen."""
    rng = np.random.default_rng(0)
    seen = [
        one for one in vision_motions.read_recordings() if one.subject not in vision_motions.UNSEEN
    ]
    data = render_videos(seen, bodies.VideoSampler(), rng, views=PACKAGED_VIEWS, frames=30)
    times = number_frames(data.videos)
    return PACKAGED.fit(data.X, data.y, times=times, groups=data.groups)


def score_packaged_model(model: SilhouettePose) -> list[dict[str, Any]]:
    """Scores on some recordings of unseen people, frame by frame and as videos."""
    rng = np.random.default_rng(1)
    unseen = [
        one for one in vision_motions.read_recordings() if one.subject in vision_motions.UNSEEN
    ]
    some = take_evenly(unseen, MOST_RECORDINGS)
    test = render_videos(some, bodies.VideoSampler(), rng, views=1, frames=30)
    return [
        {"video": video, "frames": len(test.y), **score_poses(model, test, 100.0, video=video)}
        for video in (False, True)
    ]


def main(
    quick: Annotated[bool, typer.Option(help="Few frames: a rehearsal.")] = False,
    write: Annotated[bool, typer.Option(help="Fit the model of the package instead.")] = False,
) -> None:
    """Measure, or write the model."""
    if write:
        write_model(Console())
    else:
        run(Options(threads=1, quick=quick, console=Console()))


if __name__ == "__main__":
    typer.run(main)
