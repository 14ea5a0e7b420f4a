"""Learn a sum of trees from patches of objects and scenes without them.

Trees are added in rounds. After each round they become a sum with bounds that lose few objects; it
searches the scenes, and what it takes for objects joins the windows from which it goes on learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, progress, validation
from posterity.arrays import Array
from posterity.vision.haar import HaarFeatures, WindowRows
from posterity.vision.integrals import Pixels
from posterity.vision.windows import boosting, inputs, pyramid, samples
from posterity.vision.windows.boosting import BoostedWindows, WindowTrees
from posterity.vision.windows.pyramid import Inset
from posterity.vision.windows.samples import Background, BackgroundWindows, Variations
from posterity.vision.windows.window_sum import WindowSum

_MARGIN = 1e-4  # sums in another order
_FIRST_TREES = 30.0  # trees within which most of the losses on the way are allowed


def find_bounds(partial: NDArray[np.float32] | Array, kept: float) -> Array:
    """Bounds on partial sums that lose a given share of the objects, and reject early.

    Half of the objects that may be lost are those of the lowest whole sums. The others are lost on
    the way, where they save most time: after tree t, the share 1 - exp(-t / 30) of them, each time
    the objects of the lowest partial sums. All other objects pass every bound.

    Parameters
    ----------
    partial : array (T, N)
        Sums of held-out objects after each tree.
    kept : float
        Share of the objects that must pass.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.windows import training
    >>> sums = np.array([[-1.0, 1.0, 2.0], [-3.0, 0.5, 3.0]])
    >>> training.find_bounds(sums, 2 / 3).round(3)
    array([1. , 0.5])
    """
    n_trees, n = partial.shape
    n_lost = min(n - 1, int(np.floor(n * (1.0 - kept) + 1e-9)))
    n_early = n_lost // 2
    left = np.argsort(partial[-1], kind="stable")[n_lost - n_early :]
    shares = -np.expm1(-np.arange(1, n_trees + 1) / _FIRST_TREES)
    allowed = np.floor(n_early * shares / shares[-1] + 1e-9).astype(np.int64)
    bounds, lost = np.empty(n_trees), 0
    for t in range(n_trees):
        sums = partial[t, left]
        bounds[t] = np.partition(sums, allowed[t] - lost)[allowed[t] - lost]
        passing = sums >= bounds[t]
        left, lost = left[passing], lost + int(np.sum(~passing))
    return bounds - _MARGIN


def build_sum(
    trees: WindowTrees,
    shape: tuple[int, int, int],
    offset: float,
    bounds: Array,
    least_contrast: float,
) -> WindowSum:
    """The sum of trees, with bounds (T,)."""
    sizes = np.array([len(asked) for asked in trees.rectangles], dtype=np.int32)
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    first_leaf = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]]).astype(np.int32)
    children = [
        [[-1 - leaf, -2 - leaf]]
        if size == 1
        else [[root + 1, root + 2], [-1 - leaf, -2 - leaf], [-3 - leaf, -4 - leaf]]
        for size, root, leaf in zip(sizes, roots, first_leaf, strict=True)
    ]
    rectangles = np.concatenate(trees.rectangles)
    return WindowSum(
        shape=shape,
        inset=0,
        least_contrast=least_contrast,
        rectangles=rectangles,
        tilted=np.zeros(len(rectangles), dtype=np.bool_),
        roots=roots,
        features=np.arange(len(rectangles), dtype=np.int32),
        thresholds=np.concatenate(trees.thresholds),
        children=np.concatenate(children).astype(np.int32),
        leaves=np.concatenate(trees.values),
        offset=offset,
        bounds=bounds,
        restarts=np.zeros(len(trees), dtype=np.bool_),
        skips=False,
    )


_FIRST_ROUND, _GROWTH = 30, 1.35  # trees of the first round, and of a sum over those before
_EARLY = 150  # trees up to which more objects are kept, and scenes are searched in strides
_KEPT_EARLY = 0.995
_HELD_OUT = 4000  # windows of held-out objects that set the bounds
_MOST_PER_SCENE = 80
_LEAST_CONTRAST = 6.0  # standard deviation of gray values: flatter windows show nothing
_ENOUGH = 50  # windows of a search below which the scenes are used up


@dataclass(frozen=True)
class TrainingOptions:
    """Settings of :func:`train_sum`."""

    window: tuple[int, int]
    channels: str
    inset: Inset
    variations: Variations
    n_trees: int
    n_objects: int
    n_background: int  # windows of each search
    kept: float
    least_contrast: float
    rules: boosting.Rules

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any]) -> Self:
        """Check the parameters of a detector."""
        for name in ("n_estimators", "max_features", "n_patches", "n_background", "stride"):
            validation.check_count(given[name], name)
        if given["max_depth"] not in (1, 2):
            raise ValueError(f"max_depth={given['max_depth']!r} must be 1 or 2.")
        for name in ("kept", "validation_fraction"):
            if not 0.0 < given[name] < 1.0:
                raise ValueError(f"{name}={given[name]!r} must lie between 0 and 1.")
        return cls(
            window=inputs.check_window(given["window"]),
            channels=inputs.check_channels(given["channels"]),
            inset=Inset(*given["inset"]),
            variations=Variations(mirror=given["mirror"]),
            n_trees=given["n_estimators"],
            n_objects=given["n_patches"],
            n_background=given["n_background"],
            kept=given["kept"],
            least_contrast=_LEAST_CONTRAST,
            rules=boosting.Rules(
                n_tests=given["max_features"],
                depth=given["max_depth"],
                learning_rate=validation.check_positive(given["learning_rate"], "learning_rate"),
                n_jobs=linalg.threads.count_threads(given["n_jobs"]),
            ),
        )


@dataclass(frozen=True, eq=False)
class Round:
    """Numbers of one round."""

    n_trees: int
    n_background: int
    log_loss: float
    pass_rate: float  # of windows of scenes, before the round


@dataclass(frozen=True, eq=False)
class WindowTraining:
    """State of a training: :func:`train_sum` goes on from it, and returns it."""

    cascade: WindowSum
    rounds: list[Round]
    found: Pixels  # (n, P, h, w), windows that searches have found

    @classmethod
    def resume(
        cls,
        cascade: WindowSum,
        rounds: Sequence[Round],
        found: Pixels | None,
        options: TrainingOptions,
    ) -> WindowTraining:
        """Go on from trees that are there."""
        shape = (pyramid.count_planes(options.channels), *options.window)
        if cascade.skips or cascade.shape != shape:
            raise ValueError(
                "warm_start goes on from trees that were learned with the same window and "
                "channels; these were not."
            )
        none = np.empty((0, *shape), dtype=np.uint8)
        return cls(cascade, list(rounds), none if found is None else found)


def train_sum(
    patches: Pixels,
    held_out: Pixels,
    background: Background,
    options: TrainingOptions,
    seed: int,
    *,
    start: WindowTraining | None = None,
    on_round: Callable[[WindowTraining], None] | None = None,
) -> WindowTraining:
    """Learn a sum of trees with bounds.

    Each round has random numbers of its own, so that a training that goes on from an earlier one
    ends as if it had not been interrupted.

    Parameters
    ----------
    patches, held_out : arrays (N, F, H, W) of uint8
        Objects to learn from, and others that set the bounds.
    background : Background
        Scenes.
    options : TrainingOptions
        Sizes and rates.
    seed : int
        Of random numbers.
    start : WindowTraining, optional
        A training to go on from.
    on_round : callable, optional
        Called after each round.
    """
    rng = np.random.default_rng([seed, 0])
    shape = (pyramid.count_planes(options.channels), *options.window)
    found = np.empty((0, *shape), dtype=np.uint8) if start is None else start.found
    boosted = _start(patches, found, background, options, rng)
    held = WindowRows.from_pixels(_cut_objects(held_out, options, _HELD_OUT, rng))
    trees = WindowTrees() if start is None else WindowTrees.from_sum(start.cascade)
    done = start
    remaining = [end for end in list_round_ends(options.n_trees) if end > len(trees)]
    for end in progress.track(remaining, description="training", unit="rounds", size=lambda _: 1):
        rng = np.random.default_rng([seed, end])
        pass_rate = 1.0
        if done is not None:
            new = _search(background, done.cascade, len(trees), options, rng)
            if len(new) < _ENOUGH and len(trees) > _EARLY:
                break
            boosted.append_background(new.pixels)
            found, pass_rate = np.concatenate([found, new.pixels]), new.pass_rate
        boosted.activation = boosting.evaluate_trees(trees, boosted.rows)
        trees.extend(boosted.boost(end - len(trees), options.rules, rng))
        kept = _KEPT_EARLY if end <= _EARLY else options.kept
        bounds = find_bounds(boosting.sum_partially(trees, held), kept)
        cascade = build_sum(trees, shape, 0.0, bounds, options.least_contrast)
        about = Round(len(trees), int(np.sum(~boosted.is_object)), boosted.log_loss(), pass_rate)
        done = WindowTraining(cascade, [*([] if done is None else done.rounds), about], found)
        if on_round is not None:
            on_round(done)
    if done is None:
        raise ValueError("There are no trees to learn.")
    return done


def list_round_ends(n_trees: int) -> list[int]:
    """Numbers of trees after each round.

    Examples
    --------
    >>> from posterity.vision.windows import training
    >>> training.list_round_ends(100)
    [30, 60, 100]
    """
    ends = [min(_FIRST_ROUND, n_trees)]
    while ends[-1] < n_trees:
        step = max(_FIRST_ROUND, int(ends[-1] * (_GROWTH - 1.0)))
        ends.append(n_trees if ends[-1] + 1.5 * step >= n_trees else ends[-1] + step)
    return ends


def _start(
    patches: Pixels,
    found: Pixels,
    background: Background,
    options: TrainingOptions,
    rng: np.random.Generator,
) -> BoostedWindows:
    """Varied objects, random windows, and those that were found before."""
    shape = (pyramid.count_planes(options.channels), *options.window)
    features = HaarFeatures(shape, first_plane=int(options.channels == "differences"))
    others = background.draw(options.n_background, options.least_contrast, rng)
    if len(others) == 0:
        raise ValueError(
            "The scenes have no window of enough contrast; they must be larger than the window of "
            f"{options.window[0]} x {options.window[1]} pixels, and not plain."
        )
    objects = WindowRows.from_pixels(_cut_objects(patches, options, options.n_objects, rng))
    rows = objects.append(WindowRows.from_pixels(others))
    is_object: NDArray[np.bool_] = np.arange(len(rows)) < len(objects)
    boosted = BoostedWindows(features, rows, is_object, np.zeros(len(rows)))
    boosted.append_background(found)
    return boosted


def _search(
    background: Background,
    cascade: WindowSum,
    n_trees: int,
    options: TrainingOptions,
    rng: np.random.Generator,
) -> BackgroundWindows:
    stride = 2 if n_trees <= _EARLY else 1
    return background.search(
        cascade, options.n_background, _MOST_PER_SCENE, stride, rng, options.rules.n_jobs
    )


def _cut_objects(
    patches: Pixels, options: TrainingOptions, n: int, rng: np.random.Generator
) -> Pixels:
    """Varied windows of patches, with their planes."""
    if options.channels == "gray":
        return samples.cut_windows(
            patches, options.window, options.inset, n, options.variations, rng
        )
    # A pixel more on each side, so that shifted frames have neighbours.
    height, width = options.window
    down, across = options.inset.height / height, options.inset.width / width
    inset = Inset(
        options.inset.top - down,
        options.inset.left - across,
        options.inset.bottom - down,
        options.inset.right - across,
    )
    frames = samples.cut_windows(
        patches, (height + 2, width + 2), inset, n, options.variations, rng
    )
    return pyramid.compute_planes(frames, options.channels)[..., 1:-1, 1:-1]
