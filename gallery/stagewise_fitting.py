"""One bump after another: the most telling come first, and none is moved again.  [P9 Fig 9.15]

The green ring is one length scale about the centre of the last bump. Four bumps classify
most rows; the others sharpen the boundary.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import StagewiseClassifier, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(4)
angle = rng.uniform(0.0, 1.6 * np.pi, size=160)
side = np.repeat([0.0, np.pi], 80)
turned = np.column_stack([np.cos(angle + side), np.sin(angle + side)])
X = (0.6 + 0.45 * angle)[:, None] * turned + 0.22 * rng.normal(size=(160, 2))
y = np.repeat(["first", "second"], 80)
model = StagewiseClassifier(10, units="radial", random_state=0).fit(X, y)

with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True)
    for ax, k in zip(axes.flat, (0, 1, 2, 3, 4, 10), strict=True):
        shorter = model.truncate(k)
        surface = displays.DecisionSurfaceDisplay.from_estimator(shorter, X, y, margin=0.15)
        surface.plot(ax, sure=()).label_outer()
        gained = shorter.log_likelihoods_[-1] / len(y)
        ax.set_title(f"{k} unit{'s' * (k != 1)}: {gained:.2f} nats a row")
        if shorter.units_ is not None:
            places = np.stack(np.meshgrid(surface.x0, surface.x1), axis=-1)
            newest = shorter.units_.transform(places.reshape(-1, 2))[:, -1]
            green = {"colors": displays.COLORS["green"], "linewidths": 2.2}
            Z = newest.reshape(places.shape[:2])
            ax.contour(surface.x0, surface.x1, Z, [np.exp(-0.5)], **green)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "stagewise_fitting.png")
