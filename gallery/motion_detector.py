"""A detector of pedestrians in pairs of frames: the frame, differences, and both.  [P9 Fig 9.21]

Above: a window of the later frame, and its differences from the earlier one, as it is and shifted
by a pixel in four directions. Left: statues look like pedestrians but stand still, carts move but
do not look like pedestrians. Right: three detectors, which learn from the frame alone, from
differences alone, and from both.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision
from posterity.vision.windows import pyramid

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(2)
y, x = np.mgrid[:32, :16]


def walker(stride):
    """A head, a body, and two legs that are ``stride`` pixels apart at the feet."""
    shape = (y - 5) ** 2 + (x - 7.5) ** 2 < 8
    shape |= (np.abs(x - 7.5) < 3) & (y > 7) & (y < 19)
    for side in (-0.5, 0.5):
        shape |= (np.abs(x - 7.5 - side * stride * (y - 18) / 12.0) < 1.6) & (y >= 18) & (y < 31)
    return shape


def cart(height):
    """A box on a wheel."""
    return (np.abs(x - 7.5) < 5) & (y > 28 - height) & (y < 26) | (
        (y - 27) ** 2 + (x - 7.5) ** 2 < 12
    )


def street():
    """Two frames of a street with walkers, statues and carts, and the boxes of walkers."""
    ground = 115.0 + 14.0 * np.kron(rng.normal(size=(13, 20)), np.ones((8, 8)))
    ground += 8.0 * rng.normal(size=ground.shape)
    frames, boxes = np.stack([ground, ground]), []
    kinds = ("walker", "walker", "walker", "statue", "statue", "cart", "cart")
    for kind, column in zip(kinds, rng.permutation(8), strict=False):
        top, left = int(rng.integers(2, 70)), int(20 * column + rng.integers(2, 4))
        stride, step = rng.uniform(0.0, 8.0), 0 if kind == "statue" else int(rng.choice([-1, 1]))
        swing, shade = 2.0 * (kind == "walker"), rng.choice([-1.0, 1.0]) * rng.uniform(25.0, 60.0)
        shapes = [walker(stride), walker(stride + swing)] if kind != "cart" else [cart(20)] * 2
        for k, shape in enumerate(shapes):
            frames[k, top : top + 32, left + k * step : left + k * step + 16] += shade * shape
        if kind == "walker":
            boxes.append((left + step, top, left + step + 16, top + 32))
    frames += 9.0 * rng.normal(size=frames.shape)
    return tuple(np.clip(frames, 0, 255).astype(np.uint8)), np.array(boxes, dtype=float)


training, new = ([street() for _ in range(n)] for n in (120, 80))
cut = [
    np.stack(pair)[:, int(top) : int(top) + 32, int(left) : int(left) + 16]
    for pair, boxes in training
    for left, top, _, _ in boxes
]
curves, found = {}, {}
for channels in ("gray", "differences", "motion"):
    single = channels == "gray"
    detector = vision.WindowDetector(
        (32, 16),
        channels=channels,
        n_estimators=60,
        max_features=120,
        n_patches=1000,
        n_background=1000,
        n_jobs=1,
        random_state=0,
    ).fit(
        np.stack(cut)[:, 1] if single else np.stack(cut),
        [pair[1] if single else pair for pair, _ in training],
        scene_boxes=[boxes for _, boxes in training],
    )
    found[channels] = [detector.detect(pair[1] if single else pair) for pair, _ in new]
    curves[channels] = vision.displays.DetectionCurveDisplay.from_detections(
        found[channels], [boxes for _, boxes in new]
    )

with displays.style():
    figure = plt.figure(figsize=(10, 6.6))
    above, below = figure.subfigures(2, 1, height_ratios=[1, 2])
    names = ("frame", "no shift", "up", "down", "left", "right")
    clearest = max(cut, key=lambda pair: np.abs(np.diff(pair.astype(float), axis=0)).mean())
    planes = pyramid.compute_planes(clearest, "motion")
    for ax, plane, name in zip(above.subplots(1, 6), planes, names, strict=True):
        ax.imshow(plane, cmap="gray")
        ax.set(title=name, xticks=[], yticks=[])
    left, right = below.subplots(1, 2)
    pair, boxes = new[0]
    seen = vision.displays.DetectionDisplay.from_detections(
        found["motion"][0], pair[1], objects=boxes
    )
    seen.plot(left).set_title("Frame and differences")
    labels = {"gray": "frame alone", "differences": "differences alone", "motion": "both"}
    colors = [displays.COLORS[name] for name in ("grey", "orange", "blue")]
    for (channels, curve), color in zip(curves.items(), colors, strict=True):
        curve.plot(right, color=color, label=labels[channels], per_image=True)
    right.set_xlim(-0.02, 2.0)
    right.legend(loc="lower right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "motion_detector.png")
