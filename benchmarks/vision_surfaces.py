"""Surfaces of outdoor scenes, beside other boosted trees on the same segments.

Sixty-six images with labels derived from regions are learned from, and thirty-three with true
labels are tested on. Five folds over all ninety-nine images have derived labels.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer
from PIL import Image
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import harness, machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import HERE, Options
from posterity.vision import segments
from posterity.vision.labelled_pictures import LabelledPictures
from posterity.vision.segments.merging import judge_pixels
from posterity.vision.surface_layout import SEGMENTATIONS, SurfaceLayout

ARCHIVE = Path(__file__).parents[2] / "shared/data/vision/stanford_bg_part.zip"
SIZE = 320
UNKNOWN = 255
FOLDS = 5
BINS = 10
TASKS = ("train 66, true labels", "five folds, derived labels")
HOMOGENEOUS = 0.95
NAMES = {0: "sky", 1: "support", 2: "vertical"}
NOTE = (
    "Part of the Stanford background set: 99 images, labels sky, support and vertical. Train 66: "
    "labels derived from regions, tested on the 33 images with true labels. Five folds: all 99 "
    "images with derived labels. All contenders have the same segments, the same features and one "
    "model of labels and one of homogeneity; the others are merged with the power 1 and not "
    "calibrated; partitions alone have the sharpness of the merge. Means over images with their "
    "standard errors; log score is the mean "
    "log-probability of the label of a pixel in nats, the calibration error is that of the most "
    "probable label in ten bins. Everything about posterity was chosen by cross-validation over "
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
    """Described images: learned from by derived labels, tested by true ones where there are."""

    found: segments.LabelledSegments
    truth: list[np.ndarray[Any, Any] | None]
    describe_s: float  # processor seconds of an image


class PeerLayout:
    """Segments of a peer, merged as the source does."""

    def __init__(self, build: Callable[[int], Any]) -> None:
        self._build = build

    def fit_segments(self, found: segments.LabelledSegments) -> PeerLayout:
        """Fit one model of labels and one of homogeneity."""
        rows, codes, weights = found.share_labels()
        self._labels = self._build(200).fit(found.features[rows], codes, sample_weight=weights)
        rows, is_one, weights = found.judge_homogeneity(HOMOGENEOUS)
        one = self._build(120).fit(found.features[rows], is_one, sample_weight=weights)
        self._homogeneity = one
        return self

    def merge_segments(self, image: segments.SegmentedImage) -> Array:
        """Probabilities (h, w, C)."""
        p = self._labels.predict_proba(image.features)
        h = self._homogeneity.predict_proba(image.features)[:, 1]
        return segments.SegmentMerging().merge(image, p, h)


def build_lightgbm(n_rounds: int) -> Any:
    """LightGBM with the settings of its prototype, and subsampling."""
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
    """scikit-learn's boosted trees."""
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


def read_images(quick: bool) -> SurfaceImages:
    """Read and describe all images."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        known = json.loads(archive.read("meta.json"))["images"][:: 8 if quick else 1]
        pictures = [_read(archive, f"images/{one['id']}.jpg") for one in known]
        derived = [_read(archive, f"surfaces_derived/{one['id']}.png") for one in known]
        truth = [
            _read(archive, f"surfaces/{one['id']}.png") if one["true_surfaces"] else None
            for one in known
        ]
    labelled = LabelledPictures.check(pictures, derived, UNKNOWN)
    place = HERE / "data/surfaces" / f"described{'_quick' if quick else ''}.joblib"
    if not place.exists():  # it takes longer than most fits
        found, (_, seconds) = worker.time_work(
            lambda: segments.describe_pictures(labelled, SEGMENTATIONS, SIZE, n_jobs=1)
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump((found, seconds / len(known)), place)
    found, describe_s = joblib.load(place)
    return SurfaceImages(found, truth, describe_s)


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(archive.read(name))))


def list_splits(truth: Sequence[Any]) -> list[Split]:
    """Images to learn from and to test on: one split by true labels, and five folds."""
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
    """Accuracy and log score of each image, and sums of its bins of confidence."""
    rows = []
    for k in chosen:
        one = images.found.images[k]
        codes = one.codes
        if by_truth:
            codes = np.asarray(images.truth[k], dtype=np.int64)
            codes[codes == UNKNOWN] = -1
        p = predict(one.segmented)
        right, log_p, n = judge_pixels(p, codes)
        rows.append(
            {"accuracy": right / n, "log_score": log_p / n, "bins": _bin(p, codes).tolist()}
        )
    return rows


def _bin(p: Array, codes: np.ndarray[Any, Any]) -> Array:
    """Sum of accuracy less confidence in each bin, and the number of pixels in it."""
    known = codes >= 0
    top, right = p[known].max(axis=1), p[known].argmax(axis=1) == codes[known]
    bins = np.minimum((BINS * top).astype(int), BINS - 1)
    return np.stack([np.bincount(bins, right - top, BINS), np.bincount(bins, minlength=BINS)])


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Means over images, standard errors, and the calibration error of all pixels."""
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
    seconds = {"fit_cpu_s": fit_s, "image_ms": 1000.0 * (images.describe_s + label_s)}
    return {"contender": name, "task": split.task, "rows": rows, "times": seconds}


def join_parts(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the images of all splits of a task."""
    tasks = []
    for task in TASKS:
        runs = []
        for name in CONTENDERS:
            own = [part for part in parts if (part["task"], part["contender"]) == (task, name)]
            if len(own) < (1 if task == TASKS[0] else FOLDS):
                continue  # some parts are missing
            for variant in own[0]["rows"]:
                rows = [row for part in own for row in part["rows"][variant]]
                times = {
                    key: float(np.mean([part["times"][key] for part in own]))
                    for key in own[0]["times"]
                }
                runs.append(
                    {"contender": variant, **summarise(rows), **(times if variant == name else {})}
                )
        tasks.append({"name": task, "runs": runs})
    return [task for task in tasks if task["runs"]]


def list_variants(name: str, model: Any) -> dict[str, Callable[[segments.SegmentedImage], Array]]:
    """The model, and for posterity its merging without calibration and without other partitions."""
    variants = {name: model.merge_segments}
    if name != "posterity":
        return variants
    plain = replace_merging(model, segments.SegmentMerging())
    variants["posterity, power 1, not calibrated"] = plain.merge_segments
    for k, (kind, size) in enumerate(SEGMENTATIONS):
        variants[f"posterity, {kind} {size:g} alone"] = partial(_merge_one, model, k)
    return variants


def replace_merging(model: SurfaceLayout, merging: segments.SegmentMerging) -> SurfaceLayout:
    """The same model with another merging."""
    other = SurfaceLayout()
    vars(other).update(vars(model), merging_=replace(merging))
    return other


def _merge_one(model: SurfaceLayout, k: int, image: segments.SegmentedImage) -> Array:
    return model.merge_segments(image.take_maps([k]))


def measure(
    quick: bool, threads: int | None, chosen: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Fit contenders on splits: all of them, or those of the numbers chosen."""

    def work() -> dict[str, Any]:
        images = read_images(quick)
        every = [(name, split) for split in list_splits(images.truth) for name in CONTENDERS]
        numbers = range(len(every)) if chosen is None else chosen
        return {"parts": [run_contender(every[k][0], images, every[k][1]) for k in numbers]}

    found: list[dict[str, Any]] = worker.run_after_warm_up(partial(int), work, threads)["parts"]
    return found


def run(options: Options, parts: list[dict[str, Any]] | None = None) -> None:
    """Measure, write and show the scores."""
    if not ARCHIVE.exists():
        options.console.print("vision_surfaces: skipped, because shared/data/vision is not here")
        return
    if parts is None:
        with harness.threads_of_children(options.threads):
            parts = harness.in_new_process(measure, options.quick, options.threads)
    title, tasks = "Surfaces of outdoor scenes", join_parts(parts)
    libraries = worker.run_after_warm_up(partial(int), dict, options.threads)
    for task in tasks:
        task["runs"] = [{**libraries, **one} for one in task["runs"]]
    result = {"benchmark": "vision_surfaces", "title": title, **machine.describe(), "tasks": tasks}
    report.publish(result, page(result), options)


def page(result: dict[str, Any]) -> str:
    """A table for each way to split the images."""
    columns = (
        ("pixel_percent", "pixels, %"),
        ("pixel_error", "+-"),
        ("log_score", "log score"),
        ("log_score_error", "+-"),
        ("calibration_error", "calibration error"),
        ("fit_cpu_s", "fit, CPU s"),
        ("image_ms", "image, ms"),
    )
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    for task in result["tasks"]:
        body = [
            [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
            for run in task["runs"]
        ]
        heading = [task["name"], *(heading for _, heading in columns)]
        lines += [*report.table(heading, body), ""]
    return "\n".join(lines)


def main(
    part: Annotated[int | None, typer.Option(help="One of 18 parts, kept in --folder.")] = None,
    folder: Annotated[Path, typer.Option(help="Where parts are kept.")] = HERE / "data/surfaces",
) -> None:
    """Measure one part, or join the parts that are there and write the results."""
    if part is None:
        places = [folder / f"{k}.json" for k in range(N_PARTS)]
        parts = [json.loads(place.read_text()) for place in places if place.exists()]
        run(Options(threads=1, console=Console()), parts)
        return
    folder.mkdir(parents=True, exist_ok=True)
    (found,) = measure(False, 1, [part])
    (folder / f"{part}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    typer.run(main)
