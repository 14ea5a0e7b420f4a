"""Nonlinear regression on arc tangents, by maximum likelihood.  [P8 Fig 8.7]

The rows of the radial basis again, and another basis: seven smooth steps. Each share is unlike the
curve, and their sum is nearly the same prediction.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import LinearRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 10.0, size=40))[:, None]
y = 1.2 * np.sin(0.9 * X[:, 0]) + 0.25 * X[:, 0] + 0.2 * rng.normal(size=40)
steps = features.Arctan(offsets=np.linspace(0.0, 10.0, 7), slope=1.0)
model = LinearRegression(features=steps, predictive="plug_in").fit(X, y)
basis = displays.BasisDisplay.from_estimator(model, X, margin=0.0)
band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.0)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
    basis.plot(axes[0]).set(title="Seven arc tangents of x")
    basis.plot(axes[1], weighted=True).set(title="Each times its weight")
    axes[1].set_ylim(top=4.3)
    band.plot(axes[2]).set_title("The prediction")
    axes[1].legend(loc="upper left")
    axes[2].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "arctan_basis.png")
