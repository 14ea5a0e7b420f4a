"""Surfaces of outdoor scenes, beside other boosted trees on the same segments.

Models learn from 66 images with labels derived from regions and are tested on 33 with true labels.
Five folds over all 99 images have derived labels. Each image is described once, since segments and
features do not depend on the split.
"""

from __future__ import annotations

import copy
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer
from PIL import Image
from rich.console import Console
from rich.progress import track
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import harness, machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import HERE, Options
from posterity.vision import segments
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.segments.segmented_image import judge_pixels
from posterity.vision.surface_layout import SEGMENTATIONS, SurfaceLayout

ARCHIVE = Path(__file__).parents[2] / "shared/data/vision/stanford_bg_part.zip"
SIZE = 320
UNKNOWN = 255
FOLDS = 5
BINS = 10
TASKS = ("train 66, true labels", "five folds, derived labels")
HOMOGENEOUS = 0.95
NOTE = (
    "Part of the Stanford background set: 99 images, labels sky, support and vertical. Train 66: "
    "labels derived from regions, tested on the 33 images with true labels. Five folds: all 99 "
    "images with derived labels. All contenders have the same segments, the same features and one "
    "model of labels and one of homogeneity; probabilities of the peers are merged and not "
    "calibrated; partitions alone have the sharpness of the merge. Means over images with their "
    "standard errors; log score is the mean log-probability of the label of a pixel in nats, the "
    "calibration error is that of the most probable label in ten bins. Everything about posterity "
    "was chosen by cross-validation over "
    "the 66 images. Fit and milliseconds are of the processor; an image is partitioned, described, "
    "and labelled."
)


@dataclass(frozen=True)
class Split:
    """Numbers of images to learn from and to test on."""

    task: str
    seen: list[int]
    unseen: list[int]


@dataclass(frozen=True)
class SurfaceImages:
    """Described images with derived labels, and true labels where they are known."""

    found: segments.LabelledSegments
    truth: list[np.ndarray[Any, Any] | None]
    describe_s: float  # processor seconds of an image


class PeerLayout:
    """Boosted trees of a peer, whose probabilities are merged and not calibrated."""

    def __init__(self, build: Callable[[int], Any]) -> None:
        self._build = build

    def fit_segments(self, found: segments.LabelledSegments) -> PeerLayout:
        """Fit one model of labels and one of homogeneity."""
        self._labels = self._fit_trees(200, found, *found.share_labels())
        self._homogeneity = self._fit_trees(120, found, *found.judge_homogeneity(HOMOGENEOUS))
        return self

    def merge_segments(self, image: segments.SegmentedImage) -> Array:
        """Merge the probabilities of segments into those of pixels, (h, w, C)."""
        p = self._labels.predict_proba(image.features)
        h = self._homogeneity.predict_proba(image.features)[:, 1]
        return segments.SegmentMerging().merge(image, p, h)

    def _fit_trees(
        self,
        n_rounds: int,
        found: segments.LabelledSegments,
        rows: np.ndarray[Any, Any],
        targets: np.ndarray[Any, Any],
        weights: Array,
    ) -> Any:
        model = self._build(n_rounds)
        return model.fit(found.features[rows], targets, sample_weight=weights)


def build_lightgbm(n_rounds: int) -> Any:
    """Build LightGBM with the settings of its prototype, and subsampling."""
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=n_rounds,
        learning_rate=0.05,
        num_leaves=12,
        min_child_samples=20,
        colsample_bytree=0.3,
        subsample=0.6,
        subsample_freq=1,
        reg_lambda=5.0,
        n_jobs=1,
        random_state=0,
        verbose=-1,
    )


def build_histograms(n_rounds: int) -> Any:
    """Build scikit-learn's boosted trees with the same settings as far as it has them."""
    return HistGradientBoostingClassifier(
        max_iter=n_rounds,
        learning_rate=0.05,
        max_leaf_nodes=12,
        max_features=0.3,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )


CONTENDERS: dict[str, Callable[[], Any]] = {
    "posterity": lambda: SurfaceLayout(random_state=0, n_jobs=1),
    "LightGBM": lambda: PeerLayout(build_lightgbm),
    "scikit-learn": lambda: PeerLayout(build_histograms),
}

N_PARTS = len(CONTENDERS) * (1 + FOLDS)


def read_archive(quick: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Read images, derived labels, and true labels, which are None where they are unknown."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        known = json.loads(archive.read("meta.json"))["images"][:: 8 if quick else 1]
        pictures = [_read_array(archive, f"images/{one['id']}.jpg") for one in known]
        derived = [_read_array(archive, f"surfaces_derived/{one['id']}.png") for one in known]
        truth = [
            _read_array(archive, f"surfaces/{one['id']}.png") if one["true_surfaces"] else None
            for one in known
        ]
    return pictures, derived, truth


def describe_images(quick: bool, folder: Path) -> SurfaceImages:
    """Read and describe all images; descriptions are kept for the other parts of the run."""
    pictures, derived, truth = read_archive(quick)
    place = folder / "described.joblib"
    if not place.exists():
        labelled = LabelledPictures.check(pictures, derived, UNKNOWN)
        found, (_, seconds) = worker.time_work(
            lambda: segments.describe_pictures(labelled, SEGMENTATIONS, SIZE, n_jobs=1)
        )
        joblib.dump((found, seconds / len(pictures)), place)
    found, describe_s = joblib.load(place)
    return SurfaceImages(found, truth, describe_s)


def compare_labels(derived: Sequence[Any], truth: Sequence[Any]) -> float:
    """Compute the mean percentage of pixels whose derived label is the true one."""
    shares = []
    for label, true in zip(derived, truth, strict=True):
        if true is not None:
            known = (label != UNKNOWN) & (true != UNKNOWN)
            shares.append(np.mean(label[known] == true[known]))
    return 100.0 * float(np.mean(shares))


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(archive.read(name))))


def list_splits(truth: Sequence[Any]) -> list[Split]:
    """List what to learn from and to test on: one split by true labels, and five folds."""
    n = len(truth)
    seen = [k for k in range(n) if truth[k] is None]
    true = Split(TASKS[0], seen, [k for k in range(n) if truth[k] is not None])
    fold = np.random.default_rng(0).permutation(n) % FOLDS
    folds = [
        Split(
            TASKS[1], [k for k in range(n) if fold[k] != f], [k for k in range(n) if fold[k] == f]
        )
        for f in range(FOLDS)
    ]
    return [true, *folds]


def score_images(
    predict: Callable[[segments.SegmentedImage], Array],
    images: SurfaceImages,
    chosen: Sequence[int],
    by_truth: bool,
) -> list[dict[str, Any]]:
    """Compute accuracy and log score of each image, and sums of its bins of confidence."""
    rows = []
    for k in chosen:
        one = images.found.images[k]
        codes = one.codes
        if by_truth:
            codes = np.asarray(images.truth[k], dtype=np.int64)
            codes[codes == UNKNOWN] = -1
        p = predict(one.segmented)
        right, log_p, n = judge_pixels(p, codes)
        bins = _sum_bins(p, codes).tolist()
        rows.append({"accuracy": right / n, "log_score": log_p / n, "bins": bins})
    return rows


def _sum_bins(p: Array, codes: np.ndarray[Any, Any]) -> Array:
    """Sum accuracy less confidence in each bin of confidence, and count its pixels."""
    known = codes >= 0
    top, right = p[known].max(axis=1), p[known].argmax(axis=1) == codes[known]
    bins = np.minimum((BINS * top).astype(int), BINS - 1)
    return np.stack([np.bincount(bins, right - top, BINS), np.bincount(bins, minlength=BINS)])


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Compute means over images, standard errors, and the calibration error of all pixels."""
    accuracy, log_score = (
        np.array([row[key] for row in rows]) for key in ("accuracy", "log_score")
    )
    gap, n = np.sum([row["bins"] for row in rows], axis=0)
    root = np.sqrt(max(len(rows) - 1, 1))
    return {
        "pixel_percent": 100.0 * float(accuracy.mean()),
        "pixel_error": 100.0 * float(accuracy.std() / root),
        "log_score": float(log_score.mean()),
        "log_score_error": float(log_score.std() / root),
        "calibration_error": float(np.abs(gap).sum() / n.sum()),
        "n_images": len(rows),
    }


def run_contender(name: str, images: SurfaceImages, split: Split) -> dict[str, Any]:
    """Fit and score one contender; for posterity, also each partition by itself."""
    model = CONTENDERS[name]()
    part = images.found.take(split.seen)
    _, (_, fit_s) = worker.time_work(partial(model.fit_segments, part))
    label_s, rows = 0.0, {}
    for variant, predict in list_variants(name, model).items():
        score = partial(score_images, predict, images, split.unseen, split.task == TASKS[0])
        rows[variant], (_, seconds) = worker.time_work(score)
        label_s += seconds / len(split.unseen) if variant == name else 0.0
    times = {"fit_cpu_s": fit_s, "image_ms": 1000.0 * (images.describe_s + label_s)}
    return {"contender": name, "task": split.task, "rows": rows, "times": times}


def join_parts(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average over the images of all splits of a task."""
    return [
        {
            "name": task,
            "runs": [run for name in CONTENDERS for run in _join_runs(parts, task, name)],
        }
        for task in TASKS
    ]


def _join_runs(parts: Sequence[dict[str, Any]], task: str, name: str) -> list[dict[str, Any]]:
    """Average each variant of a contender over the parts of a task; times are the contender's."""
    own = [part for part in parts if (part["task"], part["contender"]) == (task, name)]
    times = {key: float(np.mean([part["times"][key] for part in own])) for key in own[0]["times"]}
    return [
        {
            "contender": variant,
            **summarise([row for part in own for row in part["rows"][variant]]),
            **(times if variant == name else {}),
        }
        for variant in own[0]["rows"]
    ]


def list_variants(name: str, model: Any) -> dict[str, Callable[[segments.SegmentedImage], Array]]:
    """List the model, and for posterity merging without calibration, and single partitions."""
    variants = {name: model.merge_segments}
    if name != "posterity":
        return variants
    plain = replace_merging(model, segments.SegmentMerging())
    variants["posterity, not calibrated"] = plain.merge_segments
    for k, (kind, size) in enumerate(SEGMENTATIONS):
        variants[f"posterity, {kind} {size:g} alone"] = partial(_merge_one, model, k)
    return variants


def replace_merging(model: SurfaceLayout, merging: segments.SegmentMerging) -> SurfaceLayout:
    """Return a copy of the model with another merging."""
    other = copy.copy(model)
    other.merging_ = merging
    return other


def _merge_one(model: SurfaceLayout, k: int, image: segments.SegmentedImage) -> Array:
    return model.merge_segments(image.take_maps([k]))


def measure_part(number: int, quick: bool, threads: int | None, folder: Path) -> dict[str, Any]:
    """Fit and score one contender on one split."""

    def work() -> dict[str, Any]:
        images = describe_images(quick, folder)
        every = [(name, split) for split in list_splits(images.truth) for name in CONTENDERS]
        name, split = every[number]
        return run_contender(name, images, split)

    return worker.run_after_warm_up(partial(int), work, threads)


def measure_parts(options: Options, folder: Path) -> list[dict[str, Any]]:
    """Measure every part, each in a process of its own, unless its results are in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    places = [folder / f"{number}.json" for number in range(N_PARTS)]
    with harness.threads_of_children(options.threads):
        for number, place in enumerate(track(places, "surfaces", console=options.console)):
            if not place.exists():
                part = harness.in_new_process(
                    measure_part, number, options.quick, options.threads, folder
                )
                place.write_text(json.dumps(part))
    return [json.loads(place.read_text()) for place in places]


def run(options: Options, *, resume: bool = False) -> None:
    """Measure, write and show the scores; resume: with the parts of a run that was interrupted."""
    if not ARCHIVE.exists():
        options.console.print("vision_surfaces: skipped, because shared/data/vision is not here")
        return
    folder = HERE / "data" / ("surfaces_quick" if options.quick else "surfaces")
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    about = machine.describe()  # before the run, whose own load does not count
    tasks = join_parts(measure_parts(options, folder))
    libraries = worker.run_after_warm_up(partial(int), dict, options.threads)
    for task in tasks:
        task["runs"] = [{**libraries, **one} for one in task["runs"]]
    result = {
        "benchmark": "vision_surfaces",
        "title": "Surfaces of outdoor scenes",
        **about,
        "label_agreement": compare_labels(*read_archive(options.quick)[1:]),
        "tasks": tasks,
    }
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """Write a table for each way to split the images."""
    columns = (
        ("pixel_percent", "pixels, %"),
        ("pixel_error", "+-"),
        ("log_score", "log score"),
        ("log_score_error", "+-"),
        ("calibration_error", "calibration error"),
        ("fit_cpu_s", "fit, CPU s"),
        ("image_ms", "image, ms"),
    )
    agreement = (
        f"The derived labels of the 33 images are the true ones at {result['label_agreement']:.1f} "
        "% of the pixels."
    )
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, "", agreement, ""]
    for task in result["tasks"]:
        body = [
            [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
            for run in task["runs"]
        ]
        heading = [task["name"], *(heading for _, heading in columns)]
        lines += [*report.table(heading, body), ""]
    return "\n".join(lines)


def main(
    resume: Annotated[bool, typer.Option(help="Go on with a run that was interrupted.")] = False,
) -> None:
    """Measure all contenders on all splits and write the results."""
    run(Options(threads=1, console=Console()), resume=resume)


if __name__ == "__main__":
    typer.run(main)
