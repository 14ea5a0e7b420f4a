"""Two inputs of which one matters: a normal prior keeps both, a sparse one does not.  [P8 Fig 8.11]

Colour is the mean of the prediction, and inside each point its target. The sparse fit has found
that the second input explains nothing, and its contours are vertical.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, SparseLinearRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(20)
X = rng.uniform(-2.0, 2.0, size=(25, 2))
y = X[:, 0] + 0.6 * rng.normal(size=25)
models = {"Bayesian": BayesianLinearRegression(), "Sparse": SparseLinearRegression()}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        surface = displays.MeanSurfaceDisplay.from_estimator(model.fit(X, y), X, y)
        surface.plot(ax, colorbar=name == "Sparse")
        first, second = model.coef_
        ax.set(title=f"{name}: weights {first:.2f}, {second:.2f}", ylabel="")
    axes[0].set_ylabel("x1")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "sparse_linear_regression.png")
