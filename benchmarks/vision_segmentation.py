"""Classes of pixels in photographs: MSRC-21, standard split, all test images at full size.

``python -m benchmarks.vision_segmentation`` trains, measures and writes the results. With
``--model FILE``, the segmenter is saved there, and is not trained again if the file exists. With
``--no-peer``, LightGBM is not trained again, and keeps its row of the last results: its textons
and weights depend on the seed alone. The page then says on which machine its times were measured.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import lightgbm
import numpy as np
import typer
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

import posterity
from benchmarks import machine, report, worker
from benchmarks.cases import Array
from benchmarks.options import Options
from benchmarks.vision_body_parts import find_calibration_error
from posterity.vision import TextonSegmenter, pixel_boosting
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.texton_bank import DescribedPicture, TextonBank
from posterity.vision.texton_rectangles import TextonPixels, TextonRectangles

ARCHIVE = Path(__file__).parents[2] / "shared/data/vision/msrc21.zip"
LEFT_OUT = ("void", "horse", "mountain")  # as is usual: they have too few pixels
SKIPPED = 255
MACHINE = ("blas", "blas_threads", "warnings")
PEER = "LightGBM on 400 shares of textons"
LAST = Path(__file__).parent / "results/vision_segmentation.json"
N_COUNTS = 400  # columns of the peer's table
PEER_PIXELS = 60  # of each image
NOTE = (
    "276 and 59 images to learn from, 256 to test on, 21 classes; horse, mountain and pixels "
    "without label do not count. Parameters were chosen on the 59 images, with training on the "
    "276. Class mean is the mean over classes of the share of their pixels that is right; the "
    "calibration error is that of the most probable class, in ten bins. LightGBM with default "
    "parameters has the shares of textons in 400 rectangles that are drawn once, rows and columns "
    "of pixels among them, of 60 pixels of each image: the same textons and weights. Published: "
    "TextonBoost, 69.6 % of pixels without and 72.2 % with its random field, class mean 58 % [SWR]."
)


@dataclass(frozen=True, eq=False)
class Photographs:
    """Images and labels of a part of the split, read from the archive when asked for."""

    archive: zipfile.ZipFile
    names: Sequence[str]
    folder: str

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> NDArray[np.uint8]:
        suffix = "jpg" if self.folder == "images" else "png"
        data = self.archive.read(f"{self.folder}/{self.names[number]}.{suffix}")
        pixels = np.asarray(Image.open(io.BytesIO(data)))
        return pixels if self.folder == "images" else self._skip(pixels)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self[number] for number in range(len(self)))

    def _skip(self, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        names = json.loads(self.archive.read("classes.json"))
        table = np.arange(256, dtype=np.uint8)
        table[[names.index(name) for name in LEFT_OUT]] = SKIPPED
        return table[labels]


def read_split(*parts: str, every: int = 1) -> tuple[Photographs, Photographs]:
    """Images and labels of parts of the standard split."""
    archive = zipfile.ZipFile(ARCHIVE)
    split = json.loads(archive.read("splits.json"))
    names = [name for part in parts for name in split[part]][::every]
    return Photographs(archive, names, "images"), Photographs(archive, names, "labels")


def fit_segmenter(quick: bool) -> TextonSegmenter:
    """All default parameters."""
    small = {"n_estimators": 20, "cv": 2} if quick else {}
    model = TextonSegmenter(n_jobs=1, random_state=0, **small)
    images, labels = read_split("train", "val", every=12 if quick else 1)
    return model.fit(list(images), list(labels), void=SKIPPED)


class Counts:
    """LightGBM on a table of shares of textons in rectangles that are drawn once."""

    def __init__(self, bank: TextonBank, weak: TextonRectangles) -> None:
        self._bank, self._weak = bank, weak
        self._tests = weak.draw(1, N_COUNTS, np.random.default_rng(1))
        self._model = lightgbm.LGBMClassifier(n_jobs=1, random_state=0, max_bin=63, verbose=-1)

    def fit(self, images: Sequence[Any], labels: Sequence[Any], per_image: int) -> Counts:
        """Fit a table of pixels."""
        pictures = LabelledPictures.check(images, labels, SKIPPED)
        folds = np.zeros(len(pictures), dtype=np.int64)
        rng = np.random.default_rng(0)
        _, rows = pixel_boosting.collect_pixels(self._bank, pictures, folds, per_image, rng)
        self._model.fit(self._count(rows.pixels), rows.classes, sample_weight=rows.weights)
        return self

    def predict_samples(self, described: DescribedPicture) -> Array:
        """Probabilities (h, w, C) at samples."""
        pixels, _, grids = described
        rows, columns, _ = pixels.grids[0]
        p = np.asarray(self._model.predict_proba(self._count(pixels)), dtype=np.float32)
        return grids.spread_cells(p.reshape(rows, columns, -1))

    def _count(self, pixels: TextonPixels) -> Array:
        n = len(pixels)
        places, which = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        return self._weak.respond(pixels, places, self._tests, which).T.astype(np.float32)


@dataclass(eq=False)
class Scores:
    """What a contender says of all test pixels, image by image."""

    classes: NDArray[np.int64]
    right: list[Array]
    top: list[Array]
    log_p: list[Array]
    labels: list[NDArray[Any]]
    seconds: float = 0.0

    @classmethod
    def start(cls, classes: NDArray[np.int64]) -> Scores:
        """Nothing yet."""
        return cls(classes, [], [], [], [])

    def add(self, p: Array, labels: NDArray[np.uint8], seconds: float) -> None:
        """Score the probabilities (H, W, C) of an image, which took so many seconds."""
        self.seconds += seconds
        known = np.isin(labels, self.classes)
        own, y = p[known], np.searchsorted(self.classes, labels[known])
        self.right.append((own.argmax(axis=1) == y).astype(np.float32))
        self.top.append(own.max(axis=1))
        self.log_p.append(np.log(np.maximum(own[np.arange(len(y)), y], 1e-6)))
        self.labels.append(y.astype(np.uint8))

    def summarise(self) -> dict[str, float]:
        """Shares in percent with the standard error over images, log score, calibration."""
        right, y = np.concatenate(self.right), np.concatenate(self.labels)
        return {
            "pixel_percent": 100.0 * float(right.mean(dtype=np.float64)),
            "pixel_percent_error": 100.0 * find_error_of_ratio(self.right),
            "class_percent": 100.0 * float(np.mean([right[y == c].mean() for c in np.unique(y)])),
            "log_score": float(np.concatenate(self.log_p).mean(dtype=np.float64)),
            "log_score_error": find_error_of_ratio(self.log_p),
            "top_class_error": find_calibration_error(np.concatenate(self.top), right),
            "image_s": self.seconds / len(self.right),
        }


def find_error_of_ratio(parts: Sequence[Array]) -> float:
    """The standard error of the mean of all numbers, where those of a part go together.

    Examples
    --------
    >>> import numpy as np
    >>> round(find_error_of_ratio([np.zeros(4), np.ones(4)]), 3)
    0.5
    """
    sums = np.array([float(np.sum(part, dtype=np.float64)) for part in parts])
    sizes = np.array([len(part) for part in parts], dtype=float)
    off = sums - sizes * np.sum(sums) / np.sum(sizes)
    n = len(parts)
    return float(np.sqrt(np.sum(off**2) * n / max(n - 1, 1)) / np.sum(sizes))


def get_segmenter(kept: Path | None, quick: bool) -> tuple[TextonSegmenter, dict[str, float]]:
    """The segmenter with the seconds that its training took, trained or read."""
    if kept is not None and kept.exists():
        return posterity.load(kept), json.loads(kept.with_suffix(".json").read_text())
    start = time.process_time()
    model = fit_segmenter(quick)
    numbers = {"fit_cpu_s": time.process_time() - start}
    if kept is not None:
        posterity.save(model, kept)
        kept.with_suffix(".json").write_text(json.dumps(numbers))
    return model, numbers


def score_all(model: TextonSegmenter, peer: Counts | None, quick: bool) -> list[dict[str, float]]:
    """Scores with and without smoothing, and of the peer; all share textons, which are timed."""
    images, labels = read_split("test", every=32 if quick else 1)
    smooth, alone, other = (Scores.start(model.classes_) for _ in range(3))
    model.predict_proba(images[0])  # compiled
    for image, own in zip(images, labels, strict=True):
        described, first = time_answer(lambda image=image: model.bank_.describe(image))
        log_p, trees = time_answer(lambda d=described: model.predict_samples(model.trees_, d))
        q, smoothing = time_answer(
            lambda d=described, x=log_p: model.random_field_.smooth(x, d.planes)
        )
        answers = [(smooth, q, trees + smoothing), (alone, np.exp(log_p), trees)]
        if peer is not None:
            answers.append((other, *time_answer(lambda d=described: peer.predict_samples(d))))
        for scores, answer, seconds in answers:
            whole, last = time_answer(lambda d=described, x=answer: spread_answer(d, x))
            scores.add(whole, own, first + seconds + last)
    return [scores.summarise() for scores in (smooth, alone, other) if scores.right]


def spread_answer(described: DescribedPicture, p: Array) -> Array:
    """Probabilities at all pixels of an image, as the segmenter gives them."""
    whole = np.maximum(described.grids.spread_samples(p), 1e-7)
    return whole / whole.sum(axis=-1, keepdims=True)


def time_answer(answer: Callable[[], Any]) -> tuple[Any, float]:
    """An answer, and the processor seconds that it took."""
    start = time.process_time()
    found = answer()
    return found, time.process_time() - start


def run(options: Options, kept: Path | None = None, peer: bool = True) -> None:
    """Train both, and score them on all test images."""
    measured = worker.run_after_warm_up(
        int, lambda: measure(kept, options.quick, options.console, peer), options.threads
    )
    runs = [run | {k: measured[k] for k in MACHINE} for run in measured["runs"]]
    if not peer:
        runs.append(read_last_run(PEER))
    task = {"name": "MSRC-21", "parameters": measured["parameters"], "runs": runs}
    title = "Classes of pixels in photographs"
    described = machine.describe()
    result = {"benchmark": "vision_segmentation", "title": title, **described, "tasks": [task]}
    report.publish(result, page(result), options)


def measure(kept: Path | None, quick: bool, console: Console, has_peer: bool) -> dict[str, Any]:
    """Rows of the table, and the parameters of the segmenter."""
    model, numbers = get_segmenter(kept, quick)
    console.print(f"held out: {model.held_out_score_:.4f}, {model.held_out_log_score_:.4f}")
    peer, fitted = fit_peer(model, quick) if has_peer else (None, {})
    scores = score_all(model, peer, quick)
    names = ("posterity", "posterity, smooth=False", PEER)
    runs = [
        {"contender": name, **times, **score}
        for name, times, score in zip(names, (numbers, {}, fitted), scores, strict=False)
    ]
    return {"runs": runs, "parameters": describe_model(model)}


def fit_peer(model: TextonSegmenter, quick: bool) -> tuple[Counts, dict[str, float]]:
    """LightGBM on textons of the segmenter, and the seconds that its training took."""
    start = time.process_time()
    images, labels = read_split("train", "val", every=12 if quick else 1)
    peer = Counts(model.bank_, model.family_).fit(images, labels, 10 if quick else PEER_PIXELS)
    return peer, {"fit_cpu_s": time.process_time() - start}


def read_last_run(contender: str) -> dict[str, Any]:
    """The row of a contender in the last results, with the machine that measured it."""
    last = json.loads(LAST.read_text())
    (task,) = last["tasks"]
    found: dict[str, Any] = next(run for run in task["runs"] if run["contender"] == contender)
    return {"measured_on": f"{last['machine']['cpu']}, {last['date']}", **found}


def describe_model(model: TextonSegmenter) -> dict[str, Any]:
    """Parameters, and what was learned besides trees."""
    return {
        **model.get_params(),
        "trees": model.n_estimators_,
        "held_out_percent": 100.0 * model.held_out_score_,
        "held_out_log_score": model.held_out_log_score_,
        "log_scores_smooth_and_alone": model.smoothing_log_scores_,
        "random_field": {k: v for k, v in vars(model.random_field_).items() if k != "affinities"},
    }


def page(result: dict[str, Any]) -> str:
    """A table of the contenders."""
    columns = (
        ("pixel_percent", "pixels, %"),
        ("pixel_percent_error", "+-"),
        ("class_percent", "class mean, %"),
        ("log_score", "log score"),
        ("log_score_error", "+-"),
        ("top_class_error", "calibration error"),
        ("fit_cpu_s", "fit, CPU s"),
        ("image_s", "an image, CPU s"),
    )
    (task,) = result["tasks"]
    body = [
        [run["contender"], *(report.number(run.get(key)) for key, _ in columns)]
        for run in task["runs"]
    ]
    heading = ["", *(heading for _, heading in columns)]
    kept = [
        f"The row of {run['contender']} was measured in an earlier run ({run['measured_on']}): its "
        "times cannot be compared with the others."
        for run in task["runs"]
        if "measured_on" in run
    ]
    lines = [
        f"# {result['title']}",
        "",
        *report.provenance(result),
        "",
        " ".join([NOTE, *kept]),
        "",
    ]
    return "\n".join([*lines, *report.table(heading, body), ""])


def main(
    model: Annotated[Path | None, typer.Option(help="Where the segmenter is kept.")] = None,
    quick: Annotated[bool, typer.Option(help="A few images and trees: a rehearsal.")] = False,
    peer: Annotated[bool, typer.Option(help="Whether LightGBM is measured again.")] = True,
) -> None:
    """Train, and score on all test images."""
    run(Options(threads=1, quick=quick, console=Console()), kept=model, peer=peer)


if __name__ == "__main__":
    typer.run(main)
