"""Demo of detectors of pairs of frames: walkers between statues and carts."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from posterity import displays, vision
from posterity.vision.commands.demo.demonstration import Demonstration
from posterity.vision.commands.demo.windows import to_bytes
from posterity.vision.integrals import Pixels

Pair = tuple[Pixels, Pixels]

_KINDS = ("walker", "walker", "walker", "statue", "statue", "cart", "cart")
_Y, _X = np.mgrid[:32, :16]
_N_NEW = 30


def show_walkers(folder: Path) -> Demonstration:
    """Train detectors with and without motion, and compare them on new streets."""
    rng = np.random.default_rng(2)
    training = [draw_street(rng) for _ in range(60)]
    new = [draw_street(rng) for _ in range(_N_NEW)]
    pairs, boxes = zip(*new, strict=True)
    moving, still = _train("motion", training), _train("gray", training)
    found = [moving.detect(pair) for pair in pairs]
    curve = vision.displays.DetectionCurveDisplay.from_detections(found, boxes)
    alone = vision.displays.DetectionCurveDisplay.from_detections(
        [still.detect(pair[1]) for pair in pairs], boxes
    )
    with displays.style():
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        seen = vision.displays.DetectionDisplay.from_detections(
            found[0], pairs[0][1], objects=boxes[0]
        )
        seen.plot(left).set_title("The later of two frames")
        curve.plot(right, label="both frames")
        alone.plot(right, color=displays.COLORS["grey"], label="later frame alone")
        right.set(xlim=(-0.5, 30.0), title=f"{_N_NEW} new streets")
        right.legend(loc="lower right")
    return Demonstration(
        "motion",
        "Walkers in pairs of frames",
        "Statues look like walkers but stand still, and carts move but look different: a detector "
        "that sees two frames and their differences distinguishes them.",
        figure,
        f"With ten false boxes in all streets, {100 * curve.rate_at(10):.0f} % of the walkers are "
        f"found in pairs of frames, and {100 * alone.rate_at(10):.0f} % in the later frame alone.",
    )


def draw_street(rng: np.random.Generator) -> tuple[Pair, NDArray[np.float64]]:
    """Draw two frames with walkers, statues and carts; return also the boxes of walkers."""
    ground = 115.0 + 14.0 * np.kron(rng.normal(size=(13, 20)), np.ones((8, 8)))
    ground += 8.0 * rng.normal(size=ground.shape)
    frames, boxes = np.stack([ground, ground]), []
    for kind, column in zip(_KINDS, rng.permutation(8), strict=False):
        top, left = int(rng.integers(2, 70)), int(20 * column + rng.integers(2, 4))
        stride, step = rng.uniform(0.0, 8.0), 0 if kind == "statue" else int(rng.choice([-1, 1]))
        shade = rng.choice([-1.0, 1.0]) * rng.uniform(25.0, 60.0)
        swing = 2.0 if kind == "walker" else 0.0
        shapes = (
            [_cart(), _cart()] if kind == "cart" else [_walker(stride), _walker(stride + swing)]
        )
        for k, shape in enumerate(shapes):
            frames[k, top : top + 32, left + k * step : left + k * step + 16] += shade * shape
        if kind == "walker":
            boxes.append((left + step, top, left + step + 16, top + 32))
    frames += 9.0 * rng.normal(size=frames.shape)
    before, now = to_bytes(frames)
    return (before, now), np.array(boxes, dtype=np.float64)


def _walker(stride: float) -> NDArray[np.bool_]:
    """A head, a body, and two legs that are ``stride`` pixels apart at the feet."""
    shape = (_Y - 5) ** 2 + (_X - 7.5) ** 2 < 8
    shape |= (np.abs(_X - 7.5) < 3) & (_Y > 7) & (_Y < 19)
    for side in (-0.5, 0.5):
        leg = np.abs(_X - 7.5 - side * stride * (_Y - 18) / 12.0) < 1.6
        shape |= leg & (_Y >= 18) & (_Y < 31)
    return shape


def _cart() -> NDArray[np.bool_]:
    """A box on a wheel."""
    box = (np.abs(_X - 7.5) < 5) & (_Y > 8) & (_Y < 26)
    return box | ((_Y - 27) ** 2 + (_X - 7.5) ** 2 < 12)


def _train(channels: str, streets: list[tuple[Pair, NDArray[np.float64]]]) -> vision.WindowDetector:
    detector = vision.WindowDetector(
        (32, 16),
        channels=channels,
        n_estimators=40,
        max_features=60,
        n_patches=500,
        n_background=500,
        random_state=0,
    )
    cut = np.stack(
        [
            np.stack(pair)[:, int(top) : int(top) + 32, int(left) : int(left) + 16]
            for pair, boxes in streets
            for left, top, _, _ in boxes
        ]
    )
    single = channels == "gray"
    scenes = [pair[1] if single else pair for pair, _ in streets]
    known = [boxes for _, boxes in streets]
    return detector.fit(cut[:, 1] if single else cut, scenes, scene_boxes=known)
