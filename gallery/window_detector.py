"""A detector of drawn faces: first features, rejection, and how sure it is.  [P9 Fig 9.20]

Above: the features at the roots of the first trees over the mean face, bright areas less dark ones;
and the share of windows that is left after each tree: most windows without a face cost a few trees.
Below: what it finds in a new scene; and how often boxes of some probability show a face, after
probabilities were learned from sixty other scenes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)


def clutter(height, width):
    """Blots of all sizes, and bright ovals that have no eyes."""
    scene = np.full((height, width), 115.0)
    for cell in (4, 8, 20):
        coarse = rng.normal(size=(height // cell + 1, width // cell + 1))
        scene += 13.0 * np.kron(coarse, np.ones((cell, cell)))[:height, :width]
    y, x = np.mgrid[:height, :width]
    for _ in range(height * width // 6000):
        cy, cx, size = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(8, 20)
        scene[((y - cy) / 1.2) ** 2 + (x - cx) ** 2 < size**2] += rng.choice([-45.0, 50.0])
    return scene + rng.normal(0.0, 7.0, size=scene.shape)


def face(size):
    """A bright oval with two eyes, a nose and a mouth, lit from one side."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    patch, skin = clutter(size, size), rng.uniform(150.0, 200.0)
    eye, mouth = rng.uniform(-0.3, -0.2), rng.uniform(0.45, 0.6)
    patch[(y / 0.98) ** 2 + (x / 0.8) ** 2 < 1.0] = skin
    patch[(y - eye) ** 2 / 0.02 + (np.abs(x) - 0.38) ** 2 / 0.04 < 1.0] = skin - 110.0
    patch[(np.abs(x) < 0.08) & (y > eye) & (y < 0.25)] = skin + 25.0
    patch[((y - mouth) / 0.1) ** 2 + (x / rng.uniform(0.25, 0.4)) ** 2 < 1.0] = skin - 70.0
    return patch + rng.uniform(-25.0, 25.0) * x + rng.normal(0.0, 14.0, size=patch.shape)


def decoy(size):
    """A face upside down, without its eyes, or without its mouth."""
    patch, kind = face(size), rng.integers(3)
    half = patch[: size // 2] if kind == 1 else patch[size // 2 :]
    half[:] = patch[size // 2, size // 2] + rng.normal(0.0, 7.0, size=half.shape)
    return face(size)[::-1] if kind == 0 else patch


def paste(scene, draw, n):
    """Put n patches side by side on a scene, and return their boxes."""
    boxes, pitch = [], scene.shape[1] // 4
    for column in rng.permutation(4)[:n]:
        size = int(rng.integers(24, pitch))
        top = int(rng.integers(0, scene.shape[0] - size))
        left = pitch * column + int(rng.integers(0, pitch - size))
        scene[top : top + size, left : left + size] = draw(size)
        boxes.append((left, top, left + size, top + size))
    return np.array(boxes, dtype=float).reshape(-1, 4)


def as_bytes(values):
    return np.clip(values, 0, 255).astype(np.uint8)


def crowd(n_faces, n_decoys):
    """A scene with faces and decoys, and the boxes of the faces."""
    scene = clutter(180, 240)
    paste(scene, decoy, n_decoys)
    boxes = paste(scene, face, n_faces)
    return as_bytes(scene), boxes


faces = np.stack([as_bytes(face(32)) for _ in range(400)])
scenes = [crowd(0, 4)[0] for _ in range(80)]
detector = vision.WindowDetector(
    (20, 20),
    n_estimators=100,
    max_features=150,
    n_patches=1500,
    n_background=1500,
    n_jobs=1,
    random_state=0,
).fit(faces[:300], scenes[:60])
windows = np.stack([as_bytes(face(20)) for _ in range(100)])
crowds = [crowd(k % 4, 2) for k in range(60)]
detector.calibrate(*zip(*(crowd(k % 4, 2) for k in range(60)), strict=True))
found = [detector.detect(scene) for scene, _ in crowds]
curve = vision.displays.DetectionCurveDisplay.from_detections(found, [boxes for _, boxes in crowds])
reliable = vision.displays.check_detections(found, [boxes for _, boxes in crowds], n_bins=5)

with displays.style():
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.4))
    features = vision.displays.WindowFeaturesDisplay.from_estimator(
        detector, n_features=4, patches=windows
    )
    features.plot(axes[0, 0]).set_title("First features")
    rejected = vision.displays.RejectionDisplay.from_estimator(
        detector, faces[300:], scenes[60:], random_state=0
    )
    rejected.plot(axes[0, 1]).set_title(f"{rejected.trees_per_window:.1f} trees a window")
    axes[0, 1].legend()
    scene, boxes = crowds[3]
    seen = vision.displays.DetectionDisplay.from_estimator(detector, scene, objects=boxes)
    title = f"{100 * curve.rate_at(6):.0f} % of {curve.n_objects} faces, 6 false positives"
    seen.plot(axes[1, 0]).set_title(title)
    reliable.plot(axes[1, 1]).set_title("Boxes of 60 scenes")
    axes[1, 1].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "window_detector.png")
