"""Poses from silhouettes of a walk, of a person whom the model has not seen.  [P8 Fig 8.14]

Rows: silhouettes; the most probable poses of each frame by itself with their probabilities, the
second fainter; the pose that the whole video gives, in blue, over the true one, in grey. By itself
a frame often cannot tell which leg is in front; where the video cannot, either, as in the middle,
its mean lies between the two.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision
from posterity.displays import COLORS
from posterity.vision import bodies

OUT = Path(__file__).parent / "out"
SHOWN = (3, 7, 11, 15, 19)

unseen = next(one for one in vision.datasets.motions() if one.subject == "08")
sampler = bodies.VideoSampler(turn=(55.0, 65.0))
walk = sampler.render(unseen, np.random.default_rng(0))
model = vision.load_packaged("pose")
alone, together = model.predict_modes(walk.masks), model.predict(walk.masks, video=True)
off = 100.0 * np.linalg.norm(together - walk.joints, axis=2).mean()


def draw(ax, pose, color, alpha=1.0):
    """Draw a skeleton as the camera sees it: left limbs are dashed."""
    for a, b in bodies.BONES:
        left = bodies.JOINTS[b].endswith("left")
        ax.plot(*pose[[a, b], :2].T, color=color, lw=2, alpha=alpha, ls=":" if left else "-")
    ax.set(xlim=(-0.62, 0.62), ylim=(1.06, -0.88), aspect="equal")


with displays.style():
    figure, axes = plt.subplots(3, len(SHOWN), figsize=(9, 8))
    for column, k in zip(axes.T, SHOWN, strict=True):
        column[0].imshow(walk.masks[k], cmap="gray_r", vmin=0, vmax=1.6)
        column[0].set(xlim=(30, 130), ylim=(130, 30))
        probability, poses = alone.list_probable(k)
        for j in reversed(range(min(2, len(poses)))):
            draw(column[1], poses[j], COLORS["orange"], alpha=(1.0, 0.35)[j])
        shares = ", ".join(f"{100 * p:.0f} %" for p in probability[:2])
        column[1].set_title(shares, fontsize=10)
        draw(column[2], walk.joints[k], COLORS["grey"])
        draw(column[2], together[k], COLORS["blue"])
    for ax in axes.ravel():
        ax.set_axis_off()
    figure.suptitle(
        "Silhouettes of a person not seen before; poses frame by frame, with probabilities;\n"
        f"poses of the video, {off:.1f} cm from the truth (grey). Left limbs are dotted.",
        x=0.02,
        ha="left",
        fontsize=13,
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "silhouette_poses.png")
