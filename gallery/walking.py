"""A walk is a circle: pose and silhouette share one latent space.  [G]

Left: three walks of one person, of which poses and silhouettes were fitted, in the plane of their
mean cycle, with the pose at eight moments. Right: silhouettes of a walk that was left out, and the
poses that were inferred from them alone, in blue, over the true ones, in orange.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision

OUT = Path(__file__).parent / "out"

walk = vision.datasets.walkers(4)
seen, new = walk.groups < 3, walk.groups == 3
model = vision.WalkingModel().fit(
    walk.masks[seen], walk.poses[seen], groups=walk.groups[seen], times=walk.times[seen]
)
masks, truth = walk.masks[new], walk.poses[new]
found = model.predict_modes(masks, times=walk.times[new])
error = 100.0 * np.linalg.norm(found.mean() - truth, axis=2).mean()
low, high = found.interval(0.9)
moving = walk.poses.std(axis=0) > 1e-6
coverage = 100.0 * np.mean(((low <= truth) & (truth <= high))[:, moving])
print(f"{error:.1f} cm, {coverage:.0f} % within 90 % intervals")

with displays.style():
    figure = plt.figure(figsize=(11.4, 5.9))
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 0.95))
    ax = left.subplots()
    vision.displays.LatentCycleDisplay.from_estimator(model, walk.bones).plot(ax)
    ax.set_title("Latent cycle of three walks")
    axes = right.subplots(2, 4)
    for k, (above, below) in zip((4, 8, 12, 16), axes.T, strict=True):
        above.imshow(masks[k][15:105, 15:75], cmap="gray_r", vmin=0, vmax=1.6)
        for pose, color in ((truth[k], "orange"), (found.mean()[k], "blue")):
            for a, b in walk.bones:
                below.plot(*pose[[a, b], :2].T, color=displays.COLORS[color], lw=2)
        below.set(xlim=(-0.62, 0.62), ylim=(1.06, -0.88), aspect="equal")
    for ax in axes.ravel():
        ax.set_axis_off()
    right.suptitle(
        f"Silhouettes of a walk left out, and poses inferred: {error:.1f} cm from the truth",
        x=0.02,
        ha="left",
        fontsize=13,
        wrap=True,
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "walking.png")
