"""Images with known boxes of the shared data, and the scores of boxes found in them."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.cases import Array
from benchmarks.options import Options
from posterity.vision import Detections
from posterity.vision.windows import grouping

FOLDER = Path(__file__).parents[2] / "shared/data/vision"
FACES = FOLDER / "faces_caltech_web.npz"
SCENES = FOLDER / "nonface_scenes.zip"
PHOTOGRAPHS = FOLDER / "mit_cmu_frontal.zip"
WALKERS = FOLDER / "ped_pets09_s2l1.zip"

Pixels = NDArray[np.uint8]
_ORDERS = 50  # in which boxes of equal score are counted
_NEAR = 0.3  # overlap with a walker that does not count, from which on a box does not count


@dataclass(frozen=True, eq=False)
class KnownImage:
    """An image, or a pair of frames, and its objects."""

    name: str
    pixels: Pixels  # (H, W) or (2, H, W)
    boxes: Array  # (n, 4)
    ignored: Array  # (m, 4): objects that need not be found


@dataclass(frozen=True, eq=False)
class FoundBoxes:
    """Boxes of all images: the score of each, and whether it is right."""

    score: Array
    right: NDArray[np.bool_]
    n_objects: int

    def rate_at(self, n_false: float) -> float:
        """Share of objects that are found with at most so many false positives.

        Boxes of equal score have no order, so that this is the mean over random ones.

        Examples
        --------
        >>> import numpy as np
        >>> right = np.array([True, False, True])
        >>> FoundBoxes(np.array([3.0, 2.0, 2.0]), right, 4).rate_at(0)
        0.375
        """
        rng = np.random.default_rng(0)
        ties = len(np.unique(self.score)) < len(self.score)
        rates = []
        for _ in range(_ORDERS if ties else 1):
            order = np.lexsort([rng.random(len(self.score)), -self.score])
            hits, misses = np.cumsum(self.right[order]), np.cumsum(~self.right[order])
            last = np.searchsorted(misses, n_false, side="right")
            rates.append(hits[last - 1] / self.n_objects if last else 0.0)
        return round(float(np.mean(rates)), 4)


def read_faces() -> tuple[Pixels, NDArray[np.int32]]:
    """Faces (N, 36, 36), and the photograph of each."""
    with np.load(FACES) as kept:
        return kept["faces36"], kept["ids"]


def read_scenes() -> list[Pixels]:
    """Scenes without faces."""
    with zipfile.ZipFile(SCENES) as archive:
        names = [name for name in archive.namelist() if name.endswith(".jpg")]
        return [_read_gray(archive, name) for name in names]


def read_photographs() -> list[KnownImage]:
    """The images of MIT and CMU with their faces."""
    nothing = np.empty((0, 4))
    with zipfile.ZipFile(PHOTOGRAPHS) as archive:
        return [
            KnownImage(
                name,
                _read_gray(archive, f"images/{name}"),
                np.array(known["boxes_xyxy"], dtype=np.float64).reshape(-1, 4),
                nothing,
            )
            for name, known in json.loads(archive.read("ground_truth.json")).items()
        ]


def read_walkers() -> list[KnownImage]:
    """Pairs of frames of a street, from frame 2 on, with its walkers."""
    with zipfile.ZipFile(WALKERS) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("gt_boxes.csv").decode())))
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        frames = [_read_gray(archive, name) for name in names]
    boxes: dict[tuple[int, bool], list[list[float]]] = {}
    for row in rows:
        x, y, w, h = (float(row[key]) for key in "xywh")
        key = int(row["frame"]), row["consider"] == "1"
        boxes.setdefault(key, []).append([x, y, x + w, y + h])
    return [
        KnownImage(
            str(number),
            np.stack([frames[number - 2], frames[number - 1]]),
            *(np.array(boxes.get((number, kind), [])).reshape(-1, 4) for kind in (True, False)),
        )
        for number in range(2, len(frames) + 1)
    ]


def match_all(
    found: Sequence[tuple[Array, Array]], known: Sequence[KnownImage], overlap: float
) -> FoundBoxes:
    """Compare boxes and their scores with what is known of each image."""
    scores, rights = [np.empty(0)], [np.empty(0, dtype=bool)]
    for (boxes, score), image in zip(found, known, strict=True):
        right = grouping.match_boxes(boxes, score, image.boxes, overlap)
        near = grouping.compute_overlaps(boxes, image.ignored).max(axis=1, initial=0.0) > _NEAR
        counted = right | ~near
        scores.append(score[counted])
        rights.append(right[counted])
    n_objects = sum(len(image.boxes) for image in known)
    return FoundBoxes(np.concatenate(scores), np.concatenate(rights), n_objects)


def rank_detections(found: Detections) -> tuple[Array, Array]:
    """Boxes and the numbers by which they are ranked."""
    return found.boxes, found.score


def read_runs(name: str, options: Options) -> dict[str, dict[str, Any]]:
    """Rows of the kept results by contender; none if there are no results yet."""
    place = options.results / f"{name}.json"
    if not place.exists():
        return {}
    (task,) = json.loads(place.read_text())["tasks"]
    return {run["contender"]: run for run in task["runs"]}


def _read_gray(archive: zipfile.ZipFile, name: str) -> Pixels:
    with Image.open(io.BytesIO(archive.read(name))) as image:
        return np.asarray(image.convert("L"))
