"""Draw what the model in the package makes of real depth images, which have no labels.

They are looked at, not scored: ``python -m benchmarks.vision_real_depth``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from scipy import ndimage

from benchmarks.vision_motions import ARCHIVE
from posterity import displays, vision
from posterity.vision import bodies
from posterity.vision.commands import body_parts

REAL = ARCHIVE.with_name("kinect_depth_real17.npz")
PLACE = Path(__file__).parent / "data" / "vision_body_parts" / "real_frames.png"
LEAST = 0.5  # probability of a joint that is drawn
# Files hold the low byte of disparities of 11 bits. A man at 1.1 to 2.4 m is in one turn of it, and
# the sofa before him, in the turn below, begins at one row.
TURN, NEAREST, FURTHEST, SOFA = 768, 20, 180, 392
SLOPE, OFFSET = -0.0030711016, 3.3309495161  # of inverse metres in disparity: usual for Kinect


def draw_frames(place: Path, console: Console) -> None:
    """Parts, entropy and joints of each image, three columns each."""
    if not REAL.exists():
        return
    frames = read_frames()
    model = vision.load_packaged("body_parts")
    n = len(frames)
    rows = -(-n // 3)
    with displays.style():
        figure, axes = plt.subplots(rows, 9, figsize=(22, 2.6 * rows))
        for ax in axes.flat:
            ax.set_axis_off()
        for k, depth in enumerate(frames):
            draw_frame(axes[k // 3, 3 * (k % 3) : 3 * (k % 3) + 3], model, depth, k)
        place.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(place, dpi=60)
        plt.close(figure)
    console.print(f"vision_body_parts: real images are drawn to {place.name}")


def read_frames() -> np.ndarray:
    """Depth in metres (17, 480, 640) of the man alone; 0 elsewhere."""
    with np.load(REAL, allow_pickle=False) as stored:
        low = stored["depth8"]
    depth = (1.0 / (OFFSET + SLOPE * (low.astype(np.float64) + TURN))).astype(np.float32)
    is_near = (low >= NEAREST) & (low <= FURTHEST)
    is_near[:, SOFA:] = False
    for k, mask in enumerate(is_near):
        pieces, _ = ndimage.label(mask)
        largest = np.argmax(np.bincount(pieces[mask])) if mask.any() else 0
        depth[k, ~mask | (pieces != largest)] = 0.0
    return depth


def draw_frame(axes: np.ndarray, model: object, depth: np.ndarray, number: int) -> None:
    """One image: parts, entropy, joints."""
    p, joints = model.predict_proba(depth), model.find_joints(depth)  # type: ignore[attr-defined]
    labels = vision.displays.LabelMapDisplay.from_probabilities(p, bodies.PARTS)
    labels.plot(axes[0], legend=False).set_title(f"{number}")
    labels.plot_entropy(axes[1], colorbar=False, max_entropy=4.0)
    camera = model.find_camera(depth.shape)  # type: ignore[attr-defined]
    gray = body_parts.shade(depth)
    shown = vision.displays.SkeletonDisplay.from_joints(
        joints, camera=camera, image=gray, min_probability=LEAST
    )
    shown.plot(axes[2])
    for ax in axes:
        ax.set(**body_parts.find_frame(depth))


if __name__ == "__main__":
    draw_frames(PLACE, Console())
