"""Three motions, one map each: a walk, a jump and a throw.  [G]

Ten joint angles of each frame become a place in two dimensions. A walk goes round and round; a jump
and a throw leave the standing pose and come back to it. The figures are not rows: they come back
from the numbered places.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import PchipInterpolator

from posterity import GPLVM, datasets, displays, kernels

OUT = Path(__file__).parent / "out"

# Degrees of hip, knee, ankle, shoulder and elbow, left before right.
stand = [5, 5, 8, 8, 0, 0, 0, 0, 20, 20]
crouch = [80, 80, 105, 105, 20, 20, -50, -50, 20, 20]
stretch = [0, 0, 0, 0, -30, -30, 165, 165, 10, 10]
land = [50, 50, 75, 75, 15, 15, 60, 60, 40, 40]
lift = [80, 0, 95, 12, 0, 0, 75, 40, 60, 110]
cock = [35, -15, 15, 25, 0, 5, 75, 190, 20, 75]
release = [30, -20, 30, 20, 5, -20, 10, 95, 40, 5]
moments, numbered = np.linspace(0.0, 1.0, 48), [0, 12, 24, 35]


def frames(*poses):
    """A smooth way from pose to pose, with a degree of noise."""
    angles = PchipInterpolator(np.linspace(0.0, 1.0, len(poses)), poses)(moments)
    return angles + np.random.default_rng(0).normal(size=angles.shape)


def draw_limb(ax, start, degrees, length, color):
    """Two segments from a joint, at angles from straight down; forward is positive."""
    a = np.radians(degrees)
    ends = start + length * np.cumsum(np.column_stack([np.sin(a), -np.cos(a)]), axis=0)
    ax.plot(*np.vstack([start, ends]).T, color=color, lw=2.5)


def draw_figure(ax, x, angles):
    """A person from the side: the left limbs blue, the right ones orange."""
    hip, neck = np.array([x, 0.0]), np.array([x, 1.4])
    ax.plot([x, x], [0.0, 1.4], color=displays.COLORS["black"], lw=2.5)
    ax.plot(x, 1.85, "o", ms=11, color=displays.COLORS["black"])
    for side, color in enumerate(("blue", "orange")):
        thigh, knee, _, arm, elbow = angles[side::2]
        draw_limb(ax, hip, [thigh, thigh - knee], 0.95, displays.COLORS[color])
        draw_limb(ax, neck, [arm, arm + elbow], 0.7, displays.COLORS[color])


walking = datasets.walks(48)
motions = {
    "walk": walking.X[walking.groups == 0],
    "jump": frames(stand, crouch, stretch, land, stand),
    "throw": frames(stand, lift, cock, release, stand),
}
with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), height_ratios=(3, 2))
    for (above, below), (name, X) in zip(axes.T, motions.items(), strict=True):
        model = GPLVM(2, dynamics=kernels.RBF(0.1).fixed()).fit(X, times=moments)
        seen = displays.LatentMapDisplay.from_estimator(model, groups=np.zeros(48))
        seen.plot(above).set(title=f"A {name}")
        places = model.embedding_[numbered]
        above.plot(*places.T, "o", ms=16, color=displays.COLORS["black"], zorder=5)
        for k, angles in enumerate(model.inverse_transform(places)):
            center = {"ha": "center", "va": "center", "zorder": 6}
            above.text(*places[k], k + 1, color="white", **center)
            draw_figure(below, 2.4 * k, angles)
            below.text(2.4 * k, -2.6, k + 1, **center)
        below.set(aspect="equal", xlim=(-1.3, 9.0), ylim=(-2.9, 3.0))
        below.set_axis_off()
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "motions.png")
