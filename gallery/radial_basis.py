"""Nonlinear regression on radial basis functions, by maximum likelihood.  [P8 Fig 8.6]

Six bumps and a constant are enough for a curve that no line follows. The sum is linear in its
weights, so fitting it is still linear regression; the variance is the same everywhere.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import LinearRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 10.0, size=40))[:, None]
y = 1.2 * np.sin(0.9 * X[:, 0]) + 0.25 * X[:, 0] + 0.2 * rng.normal(size=40)
bumps = features.Radial(centers=np.linspace(0.0, 10.0, 6)[:, None], length_scale=1.6)
model = LinearRegression(features=bumps, predictive="plug_in").fit(X, y)
basis = displays.BasisDisplay.from_estimator(model, X, margin=0.0)
band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.0)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
    basis.plot(axes[0]).set(title="Six radial functions of x")
    basis.plot(axes[1], weighted=True).set(title="Each times its weight")
    band.plot(axes[2]).set_title("The prediction")
    axes[1].legend(loc="lower right")
    axes[2].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "radial_basis.png")
