"""Demo of walking: poses from silhouettes through a latent space."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from posterity import displays, vision
from posterity.vision.commands.demo.demonstration import Demonstration, hide_axes

_N_SHOWN = 5


def show_walk(folder: Path) -> Demonstration:
    """Learn how a person walks, and infer the poses of another walk from silhouettes."""
    walks = vision.datasets.walkers(3)
    learned, new = walks.groups < 2, walks.groups == 2
    model = vision.WalkingModel(3, mask_components=12, max_iter=200).fit(
        walks.masks[learned],
        walks.poses[learned],
        groups=walks.groups[learned],
        times=walks.times[learned],
    )
    poses, masks = walks.poses[new], walks.masks[new]
    found = model.predict_modes(masks, times=walks.times[new])
    off = np.linalg.norm(found.best() - poses, axis=-1).mean()
    low, high = found.interval(0.9)
    inside = np.mean((low <= poses) & (poses <= high))
    frames = np.linspace(0, len(poses) - 1, _N_SHOWN).astype(int)
    with displays.style():
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        above, below = figure.subplots(2, _N_SHOWN)
        for k, frame in enumerate(frames):
            above[k].imshow(~masks[frame], cmap="gray")
            sure = np.einsum("jd,de->jde", found.standard_deviation()[frame] ** 2, np.eye(3))
            for positions, color, around in (
                (poses[frame], displays.COLORS["grey"], None),
                (found.best()[frame], displays.COLORS["blue"], sure),
            ):
                skeleton = vision.displays.SkeletonDisplay.from_positions(
                    positions, walks.bones, covariance=around
                )
                skeleton.plot(below[k], color=color)
            below[k].set(xlim=(-0.75, 0.75), ylim=(1.15, -0.8))
            hide_axes((above[k], below[k]))
        above[0].set_title("Silhouettes of a walk")
        below[0].set_title("Poses: true (grey), inferred")
    return Demonstration(
        "walking",
        "Walking from silhouettes",
        "A latent space has learned from two walks of a person how poses follow each other and "
        "look from the side; a third walk is seen only in silhouettes.",
        figure,
        f"Joints are {100 * off:.1f} cm off on average, and {100 * inside:.0f} % of their "
        "coordinates are in the 90 % intervals. Ellipses are of 90 %.",
    )
