"""Three classes by the softmax: linear, cubic, and of processes.  [P9 Fig 9.19]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import (
    BayesianLogisticRegression,
    GaussianProcessClassifier,
    displays,
    features,
    kernels,
)

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(5)
turn = np.tile(np.arange(3), 40)
radius = rng.uniform(0.3, 3.0, size=120)
angle = 2.1 * turn + 0.7 * radius + 0.4 * rng.normal(size=120)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.array(["first arm", "second", "third"])[turn]

models = {
    "Linear": BayesianLogisticRegression(),
    "Cubic": BayesianLogisticRegression(features.Polynomial(3)),
    "Gaussian processes": GaussianProcessClassifier(kernels.Scaled(kernels.RBF())),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model.fit(X, y), X, y, n_grid=100)
        surface.plot(ax).set(title=title, xlabel="", ylabel="")
    axes[0].legend(loc="upper right", frameon=True)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "three_classes.png")
