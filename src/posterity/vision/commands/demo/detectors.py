"""Demo of objects found and followed: discs between bars, walkers, and a ball behind a bar."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from posterity import displays, persistence, vision
from posterity.vision.commands import results
from posterity.vision.commands.results import Demonstration
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
    with results.start_figure(11, 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        seen = vision.displays.DetectionDisplay.from_estimator(detector, scene, objects=boxes)
        seen.plot(left).set_title("A new scene")
        asked = vision.displays.WindowFeaturesDisplay.from_estimator(
            detector, n_features=4, patches=patches
        )
        asked.plot(right).set_title("First features")
    return figure


Pair = tuple[Pixels, Pixels]

_KINDS = ("walker", "walker", "walker", "statue", "statue", "cart", "cart")
_Y, _X = np.mgrid[:32, :16]
_N_STREETS = 30


def show_walkers(folder: Path) -> Demonstration:
    """Train detectors with and without motion, and compare them on new streets."""
    rng = np.random.default_rng(2)
    training = [draw_street(rng) for _ in range(60)]
    new = [draw_street(rng) for _ in range(_N_STREETS)]
    pairs, boxes = zip(*new, strict=True)
    moving, still = _train("motion", training), _train("gray", training)
    found = [moving.detect(pair) for pair in pairs]
    curve = vision.displays.DetectionCurveDisplay.from_detections(found, boxes)
    alone = vision.displays.DetectionCurveDisplay.from_detections(
        [still.detect(pair[1]) for pair in pairs], boxes
    )
    with results.start_figure(11, 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        seen = vision.displays.DetectionDisplay.from_detections(
            found[0], pairs[0][1], objects=boxes[0]
        )
        seen.plot(left).set_title("The later of two frames")
        curve.plot(right, label="both frames")
        alone.plot(right, color=displays.COLORS["grey"], label="later frame alone")
        right.set(xlim=(-0.5, 30.0), title=f"{_N_STREETS} new streets")
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


_HIDDEN = (30, 58)
_CLOSE = 20.0  # pixels


def show_ball(folder: Path) -> Demonstration:
    """Follow a ball from its first frame, behind a bar and out again."""
    scene = vision.datasets.moving_object(90, hidden=(_HIDDEN,), turning=0.15, random_state=3)
    tracker = vision.DisplacementTracker().start(scene.frames[0], scene.boxes[0])
    found = [tracker.get_box(), *tracker.track(scene.frames[1:])]
    middles = np.array([(one.box[:2] + one.box[2:]) / 2.0 for one in found])
    truth = (np.asarray(scene.boxes)[:, :2] + np.asarray(scene.boxes)[:, 2:]) / 2.0
    near = np.mean(np.linalg.norm(middles - truth, axis=1) < _CLOSE)
    place = folder / "ball"
    place.mkdir(exist_ok=True)
    for k, frame in enumerate(scene.frames):
        vision.write_image(place / f"{k:03d}.png", frame)
    with displays.style():
        figure = vision.displays.TrackDisplay.from_track(
            [*scene.frames], found, objects=scene.boxes
        ).plot([0, 28, 44, 80])
    left, top, right, bottom = (round(float(number)) for number in scene.boxes[0])
    return Demonstration(
        "tracks",
        "Tracks",
        "Displacement experts learn from the first frame how a shifted window looks, and move the "
        "box; a verifier switches them off while a bar hides the ball.",
        figure,
        f"In {100 * near:.0f} % of {len(found)} frames the middle is within {_CLOSE:.0f} pixels of "
        "the true one (dashed box). The ellipse, which holds the middle with 90 %, grows while the "
        "ball is hidden.",
        (
            *("vision", "track", str(place)),
            *("--box", f"{left},{top},{right - left},{bottom - top}"),
        ),
    )
