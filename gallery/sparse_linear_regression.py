"""Two inputs of which one matters: a normal prior keeps both, a sparse one does not.  [P8 Fig 8.11]

Colour is the mean of the prediction, and inside each point its target.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, SparseLinearRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(20)
X = rng.uniform(-2.0, 2.0, size=(25, 2))
y = X[:, 0] + 0.6 * rng.normal(size=25)
x = np.linspace(-2.2, 2.2, 100)
queries = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
models = {
    "Bayesian linear regression": BayesianLinearRegression(),
    "Sparse linear regression": SparseLinearRegression(),
}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.6), sharex=True, sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        mean = model.fit(X, y).predict(queries).reshape(100, 100)
        shared = {"cmap": "viridis", "vmin": -2.5, "vmax": 2.5}
        ax.imshow(mean, origin="lower", extent=(x[0], x[-1], x[0], x[-1]), **shared)
        ax.contour(
            x, x, mean, np.arange(-2.0, 2.1, 0.5), colors="w", linewidths=0.8, linestyles="-"
        )
        points = ax.scatter(*X.T, c=y, s=46, edgecolors="k", linewidths=0.8, **shared)
        first, second = model.coef_
        ax.set(title=f"{name}: weights {first:.2f}, {second:.2f}", xlabel="x0")
    axes[0].set_ylabel("x1")
    figure.colorbar(points, ax=axes, label="y", shrink=0.9)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "sparse_linear_regression.png")
