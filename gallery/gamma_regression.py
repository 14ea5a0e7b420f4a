"""Positive targets: a normal band goes below zero, a gamma band grows.  [P8 Prob 8.1]

The log evidence says which of the two the rows speak for.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, GammaRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.uniform(0.0, 3.0, size=(80, 1))
y = rng.gamma(shape=3.0, scale=np.exp(0.2 + X[:, 0]) / 3.0)

models = {
    "Normal, quadratic": BayesianLinearRegression(features=features.Polynomial(2)),
    "Gamma": GammaRegression(),
}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        band = displays.PredictiveBandDisplay.from_estimator(model.fit(X, y), X, y)
        band.plot(ax).set_title(f"{title}: log evidence {model.log_evidence_:.1f}")
        ax.axhline(0.0, color=displays.COLORS["grey"], lw=1.0)
    axes[1].set_ylabel("")
    axes[0].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "gamma_regression.png")
