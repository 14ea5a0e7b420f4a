"""Kernels under three length scales: a weight for each row, and a process.  [P9 Fig 9.13]

Titles end with the log evidence. Far from the rows the columns of a kernel die away and leave the
offset; a process returns to what is known before any row.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessClassifier, KernelLogisticRegression, displays, kernels

OUT = Path(__file__).parent / "out"
SHORT, LONG = 0.25, 4.0

rng = np.random.default_rng(2)
angle = rng.uniform(0.0, np.pi, size=60)
arcs = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, -1.0], 30)[:, None]
X = 2.0 * arcs + np.repeat([[-0.7, -0.3], [0.7, 0.3]], 30, axis=0) + 0.55 * rng.normal(size=(60, 2))
y = np.repeat(["upper", "lower"], 30)


def process(kernel):
    return GaussianProcessClassifier(kernels.Scaled(kernel))


rows = {"Kernel logistic": KernelLogisticRegression, "Gaussian process": process}
columns = {
    f"length scale {SHORT}": kernels.RBF(SHORT).fixed(),
    "learned": kernels.RBF(),
    f"length scale {LONG:g}": kernels.RBF(LONG).fixed(),
}
with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(14, 8.4), sharex=True, sharey=True)
    for i, (name, make) in enumerate(rows.items()):
        for j, (setting, kernel) in enumerate(columns.items()):
            model = make(kernel).fit(X, y)
            surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.4)
            title = f"{name}, {setting}: {model.log_evidence_:.1f}"
            surface.plot(axes[i, j]).set(title=title, xlabel="", ylabel="")
    axes[0, 0].legend(loc="upper right", frameon=True)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_logistic_regression.png")
