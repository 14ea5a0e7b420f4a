"""Kernel logistic regression: the best weights, all of them averaged, and a process.  [P9 Fig 9.13]

The same length scale three times. Averaging leaves the boundary about where it was and lowers the
confidence. Far from the rows the columns of a kernel die away, and what is left is the intercept; a
process returns to what is known before any row.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessClassifier, KernelLogisticRegression, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(2)
angle = rng.uniform(0.0, np.pi, size=60)
arcs = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, -1.0], 30)[:, None]
X = 2.0 * arcs + np.repeat([[-0.7, -0.3], [0.7, 0.3]], 30, axis=0) + 0.55 * rng.normal(size=(60, 2))
y = np.repeat(["upper", "lower"], 30)

kernel = kernels.RBF(1.3).fixed()
models = {
    "Best weights": KernelLogisticRegression(kernel, prior_variance=100.0, averaging="none"),
    "Averaged": KernelLogisticRegression(kernel, prior_variance=100.0),
    "Gaussian process": GaussianProcessClassifier(kernels.Scaled(kernel)),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model.fit(X, y), X, y, margin=0.4)
        surface.plot(ax).set(title=title)
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_logistic_regression.png")
