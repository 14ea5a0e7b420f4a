"""Boosted trees of texton rectangles: pixels to learn from, sums by folds, and calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.calibration import ClassCalibration
from posterity.trees.boosting.candidates import FreshRules, boost_fresh_tests
from posterity.trees.boosting.objectives import Objective, class_targets
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.texton_bank import TextonBank
from posterity.vision.texton_rectangles import TextonPixels, TextonRectangles


@dataclass(frozen=True, eq=False)
class PixelRows:
    """Pixels to learn from.

    Attributes
    ----------
    pixels : TextonPixels
        N cells of images.
    classes : ndarray of shape (N,), int64
        Numbers from 0 to C - 1.
    weights : ndarray of shape (N,)
        How many pixels of the image each stands for, over their mean.
    folds : ndarray of shape (N,), int64
        The sum that does not see each pixel; all pixels of an image are in one fold.
    n_classes : int
        Number of classes C.
    """

    pixels: TextonPixels
    classes: NDArray[np.int64]
    weights: Array
    folds: NDArray[np.int64]
    n_classes: int

    def __len__(self) -> int:
        return len(self.classes)


def deal_images(
    n_images: int, groups: ArrayLike | None, n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A fold for each image, (N,), at random and about equally often; groups stay together.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import pixel_boosting
    >>> np.bincount(pixel_boosting.deal_images(7, None, 3, np.random.default_rng(0)))
    array([3, 2, 2])
    """
    own = np.arange(n_images)
    if groups is not None:
        own = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        if len(own) != n_images:
            raise ValueError(f"groups has {len(own):,} entries for {n_images:,} images.")
    n_groups = int(own.max()) + 1
    if n_groups < 2:
        raise ValueError("All images are in one group; a segmenter needs two groups or more.")
    folds = np.arange(n_groups, dtype=np.int64) % min(n_folds, n_groups)
    return rng.permutation(folds)[own]


def collect_pixels(
    bank: TextonBank,
    pictures: LabelledPictures,
    folds: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], PixelRows]:
    """Classes, and labelled cells of all images, at most ``most`` of each."""
    parts, labels, weights, own = [], [], [], []
    every = range(len(pictures))
    for n in progress.track(every, description="filters", unit="images", size=lambda _: 1):
        picture, numbers = pictures.read(n)
        pixels, _, grids = bank.describe(picture)
        at = grids.label_cells(numbers).ravel()
        known = np.flatnonzero(at >= 0)
        chosen = np.sort(rng.choice(known, min(most, len(known)), replace=False))
        if len(chosen):
            parts.append(pixels[chosen])
            labels.append(at[chosen])
            weights.append(np.full(len(chosen), len(known) / len(chosen)))
            own.append(np.full(len(chosen), folds[n]))
    if not parts:
        raise ValueError("All pixels of all images are void: there is nothing to learn.")
    classes, y = np.unique(np.concatenate(labels), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"All pixels have the label {classes[0]}; a segmenter needs two classes.")
    w = np.concatenate(weights)
    joined, fold = TextonPixels.join(parts), np.concatenate(own)
    return classes, PixelRows(joined, y.astype(np.int64), w / np.mean(w), fold, len(classes))


_ROUNDS_AT_ONCE = 20  # between looks at held-out pixels


@dataclass(frozen=True, eq=False)
class BoostedPixels:
    """Sums of trees whose mean is used, and their scores on images that they have not seen."""

    sums: list[BoostedTrees]  # by the fold that each has not seen
    calibration: ClassCalibration
    score: float  # mean log-probability of held-out pixels, calibrated
    accuracy: float  # of held-out pixels


def boost_pixels(
    weak: TextonRectangles,
    rows: PixelRows,
    rules: FreshRules,
    patience: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> BoostedPixels:
    """Train a sum of trees for each fold, and calibrate them by the pixels that they left out.

    Parameters
    ----------
    weak : TextonRectangles
        Tests.
    rows : PixelRows
        Pixels, in the order of images.
    rules : FreshRules
        How; ``n_rounds`` is the most.
    patience : int
        Training of a sum ends when so many rounds have not raised its score on held-out pixels.
    rng : Generator
        Draws rows and tests.
    n_jobs : int, optional
        Threads.
    """
    objective = class_targets(rows.classes, rows.n_classes)
    sums, held_out = [], []
    for fold in np.unique(rows.folds):
        trees, latents = _train_sum(weak, rows, objective, fold, rules, patience, rng, n_jobs)
        sums.append(trees)
        own = np.flatnonzero(rows.folds == fold)
        held_out.append((own, latents, trees.variances(weak, rows.pixels[own]).mean(axis=1)))
    places, latents, variances = (np.concatenate(x) for x in zip(*held_out, strict=True))
    classes, weights = rows.classes[places], rows.weights[places]
    calibration = ClassCalibration.learn(latents, variances, classes, weights)
    moderated = calibration.moderate(latents, variances)
    score = float(np.average(objective.log_prob(moderated, places), weights=weights))
    found = latents.argmax(axis=1) if latents.shape[1] > 1 else (latents[:, 0] > 0.0) * 1
    accuracy = float(np.average(found == classes, weights=weights))
    return BoostedPixels(sums, calibration, score, accuracy)


def _train_sum(
    weak: TextonRectangles,
    rows: PixelRows,
    objective: Objective,
    fold: int,
    rules: FreshRules,
    patience: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[BoostedTrees, Array]:
    """Trees that do not see a fold, and the latents (m, L) of the pixels of the fold.

    Pixels of the fold have no weight: they only follow.
    """
    left_out = np.flatnonzero(rows.folds == fold)
    weights = np.where(rows.folds == fold, 0.0, rows.weights)
    offset = objective.fit_offset(weights)
    latents = np.tile(offset, (len(rows), 1))
    parts: list[BoostedTrees] = []
    best = (_score_latents(objective, latents, left_out, rows.weights), 0, latents[left_out])
    for first in range(0, rules.n_rounds, _ROUNDS_AT_ONCE):
        n = min(_ROUNDS_AT_ONCE, rules.n_rounds - first)
        trees, latents = boost_fresh_tests(
            weak,
            rows.pixels,
            objective.derivatives,
            weights,
            latents,
            replace(rules, n_rounds=n),
            rng,
            n_jobs,
        )
        parts.append(trees)
        score = _score_latents(objective, latents, left_out, rows.weights)
        if score > best[0]:
            best = score, first + n, latents[left_out].copy()
        if first + n - best[1] >= patience:
            break
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.append(part)
    kept = whole.truncate(best[1])
    return replace(kept, offset=kept.offset + offset), best[2]


def _score_latents(
    objective: Objective, latents: Array, places: NDArray[np.int64], weights: Array
) -> float:
    """Mean log-probability of some rows."""
    own = objective.log_prob(latents[places], places)
    return float(np.average(own, weights=weights[places]))
