"""Kernel logistic regression under three length scales, the best weights plugged in.  [P9 Fig 9.12]

Too short, and each row speaks for its own spot; too long, and certainty reaches where no row is.
The weights are the most probable ones under a prior so wide that it hardly holds them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import KernelLogisticRegression, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(2)
angle = rng.uniform(0.0, np.pi, size=60)
arcs = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, -1.0], 30)[:, None]
X = 2.0 * arcs + np.repeat([[-0.7, -0.3], [0.7, 0.3]], 30, axis=0) + 0.55 * rng.normal(size=(60, 2))
y = np.repeat(["upper", "lower"], 30)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharex=True, sharey=True)
    for ax, length_scale in zip(axes, (0.3, 1.3, 5.0), strict=True):
        kernel = kernels.RBF(length_scale).fixed()
        model = KernelLogisticRegression(kernel, prior_variance=100.0, averaging="none").fit(X, y)
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.4)
        surface.plot(ax).set(title=f"Length scale {length_scale:g}")
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_length_scales.png")
