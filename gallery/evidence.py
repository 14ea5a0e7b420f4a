"""The evidence over length scale and noise: two ways to explain the same rows.  [P8 8.30]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, kernels

OUT = Path(__file__).parent / "out"


def fitted(length_scale, noise_variance):
    kernel = kernels.RBF(length_scale).fixed()
    return GaussianProcessRegressor(kernel, noise_variance, mean="zero").fit(X, y)


rng = np.random.default_rng(0)
X = rng.uniform(-5.0, 5.0, size=(7, 1))
y = np.sin(1.6 * X[:, 0]) + 0.1 * rng.normal(size=7)
lengths, deviations = np.geomspace(0.15, 30.0, 60), np.geomspace(0.03, 3.0, 60)
surface = np.array([[fitted(l, s**2).log_evidence_ for l in lengths] for s in deviations])

with displays.style():
    figure, ax = plt.subplots(figsize=(7, 5))
    ax.contourf(lengths, deviations, surface)
    figure.savefig(OUT / "evidence.png")
