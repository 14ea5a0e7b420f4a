"""LogitBoost on oriented splits, 20 angles with 40 split values each.  [P9 Fig 9.16]

The green line is the step that was added last. A sum of steps fits the rows ever better, but its
surface is a patchwork: it does not pass smoothly from one class to the other.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import LogitBoostClassifier, displays, trees

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(4)
angle = rng.uniform(0.0, 2.0 * np.pi, size=160)
radius = np.repeat([0.9, 2.3], 80) + 0.5 * rng.normal(size=160)
X = radius[:, None] * np.column_stack([1.3 * np.cos(angle), np.sin(angle)])
y = np.repeat(["inside", "outside"], 80)
tests = trees.Orientations(n_angles=20)
model = LogitBoostClassifier(splits=tests, n_estimators=20, n_thresholds=40, learning_rate=1.0).fit(
    X, y
)

with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True)
    for ax, k in zip(axes.flat, (0, 1, 2, 3, 4, 20), strict=True):
        shorter = model.truncate(k)
        surface = displays.DecisionSurfaceDisplay.from_estimator(shorter, X, y, n_grid=400)
        surface.plot(ax, sure=()).label_outer()
        gained = shorter.log_likelihoods_[-1] / len(y)
        ax.set_title(f"{k} step{'s' * (k != 1)}: {gained:.2f} nats a row")
        if 0 < k < 20:
            i, j, w_i, w_j = shorter.steps_.tests[-1]
            inputs = np.meshgrid(surface.x0, surface.x1)
            answers = w_i * inputs[int(i)] + w_j * inputs[int(j)]
            green = {"colors": displays.COLORS["green"], "linewidths": 2.2, "linestyles": "solid"}
            ax.contour(surface.x0, surface.x1, answers, shorter.steps_.thresholds[-1:], **green)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "boosting.png")
