"""Demo of window detectors: discs between bars."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from posterity import displays, persistence, vision
from posterity.vision.commands.demo.demonstration import Demonstration
from posterity.vision.integrals import Pixels

_PATCH = 16  # pixels
_SHAPE = (120, 180)
_N_NEW = 20


def show_discs(folder: Path) -> Demonstration:
    """Train a detector of discs, and search new scenes."""
    rng = np.random.default_rng(0)
    detector = vision.WindowDetector(
        (12, 12),
        inset=(0.125,) * 4,
        n_estimators=150,
        max_features=100,
        n_patches=1000,
        n_background=1000,
        random_state=0,
    ).fit(draw_discs(rng, 200), [draw_scene(rng, 0)[0] for _ in range(60)])
    scenes, boxes = zip(*(draw_scene(rng, 4) for _ in range(_N_NEW)), strict=True)
    found = [detector.detect(scene) for scene in scenes]
    curve = vision.displays.DetectionCurveDisplay.from_detections(
        [one.above(0.5) for one in found], boxes
    )
    vision.write_image(folder / "discs.png", scenes[0])
    persistence.save(detector.set_params(n_jobs=None), folder / "discs.posterity")
    n_right = round(curve.detection_rate[-1] * curve.n_objects)
    return Demonstration(
        "windows",
        "Objects in images",
        "A detector has learned from 200 patches of discs and 60 scenes with bars and halves of "
        f"discs, and searches {_N_NEW} new scenes.",
        _draw(detector, scenes[0], boxes[0], draw_discs(rng, 100)[:, 2:14, 2:14]),
        "Left: what it finds in a new scene, with probabilities. Right: the features that it asks "
        f"first. With a probability of at least 0.5, {n_right} of {curve.n_objects} discs are "
        f"found, and {curve.false_positives[-1]:.0f} other boxes.",
        ("vision", "detect", str(folder / "discs.png"), "--model", str(folder / "discs.posterity")),
    )


def draw_discs(rng: np.random.Generator, n: int) -> Pixels:
    """Draw discs on noise, each filling its patch, (n, 16, 16)."""
    y, x = np.mgrid[:_PATCH, :_PATCH] - 7.5
    noise = rng.normal(110.0, 22.0, size=(n, _PATCH, _PATCH))
    light, size = rng.uniform(40.0, 90.0, size=(n, 1, 1)), rng.uniform(22.0, 36.0, size=(n, 1, 1))
    return to_bytes(noise + light * (x**2 + y**2 < size))


def draw_scene(rng: np.random.Generator, n_discs: int) -> tuple[Pixels, NDArray[np.float64]]:
    """Draw bars, halves of discs and discs on noise; return also the boxes of the discs."""
    high, wide = _SHAPE
    scene = rng.normal(110.0, 22.0, size=_SHAPE)
    y, x = np.mgrid[:high, :wide]
    for _ in range(22):
        h, w = rng.permutation([rng.integers(3, 7), rng.integers(14, 40)])
        top, left = rng.integers(high - h), rng.integers(wide - w)
        scene[top : top + h, left : left + w] += rng.choice([-60.0, 70.0])
    for _ in range(8):
        cy, cx = rng.uniform(10, high - 10), rng.uniform(10, wide - 10)
        scene[((y - cy) ** 2 + (x - cx) ** 2 < rng.uniform(16, 80)) & (y < cy)] += 70.0
    image, boxes = to_bytes(scene), []
    for k in range(n_discs):
        top = int(rng.integers(2, high - _PATCH - 2))
        left = int(k * wide / n_discs + rng.integers(2, wide // n_discs - _PATCH - 2))
        image[top : top + _PATCH, left : left + _PATCH] = draw_discs(rng, 1)[0]
        boxes.append((left, top, left + _PATCH, top + _PATCH))
    return image, np.array(boxes, dtype=np.float64).reshape(-1, 4)


def to_bytes(values: NDArray[np.float64]) -> Pixels:
    """Return gray values from 0 to 255."""
    return np.clip(values, 0, 255).astype(np.uint8)


def _draw(
    detector: vision.WindowDetector,
    scene: Pixels,
    boxes: NDArray[np.float64],
    patches: Pixels,
) -> Figure:
    with displays.style():
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        seen = vision.displays.DetectionDisplay.from_estimator(detector, scene, objects=boxes)
        seen.plot(left).set_title("A new scene")
        asked = vision.displays.WindowFeaturesDisplay.from_estimator(
            detector, n_features=4, patches=patches
        )
        asked.plot(right).set_title("First features")
    return figure
