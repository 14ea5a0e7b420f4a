"""Bayesian nonlinear regression: functions disagree where there is no data.  [P8 Fig 8.8]

On the right, between 3 and 9, nothing was seen. Draws of the weights agree at the rows and part
there, and the band is the noise and their disagreement together.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import BayesianLinearRegression, datasets, displays, features

OUT = Path(__file__).parent / "out"

data = datasets.sinc(60)
seen = (data.X[:, 0] < 3.0) | (data.X[:, 0] > 9.0)
X, y = data.X[seen], data.y[seen]
bumps = features.Radial(centers=[[c] for c in range(-10, 11, 2)], length_scale=2.0)
model = BayesianLinearRegression(features=bumps).fit(X, y)
basis = displays.BasisDisplay.from_estimator(model, X, margin=0.0)
band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.0)
drawn = displays.PredictiveBandDisplay.from_estimator(
    model, X, y, coverage=(), n_functions=12, random_state=0, margin=0.0
)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True)
    basis.plot(axes[0], weighted=True).set(title="Weighted functions, and sum", ylabel="y")
    drawn.plot(axes[1], color=displays.COLORS["green"])
    axes[1].set(title="Twelve draws of the weights", ylabel="")
    band.plot(axes[2]).set(title="All of them together", ylabel="")
    for ax in axes:
        ax.legend(loc="lower left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_radial_basis.png")
