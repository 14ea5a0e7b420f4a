"""Bayesian nonlinear regression: functions disagree where there is no data.  [P8 Fig 8.8]"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import BayesianLinearRegression, datasets, displays, features

OUT = Path(__file__).parent / "out"

data = datasets.sinc(60)
seen = (data.X[:, 0] < 3.0) | (data.X[:, 0] > 9.0)
X, y = data.X[seen], data.y[seen]
basis = features.Radial(centers=[[c] for c in range(-10, 11, 2)], length_scale=2.0)
model = BayesianLinearRegression(features=basis).fit(X, y)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.4))
    weighted = displays.BasisDisplay.from_estimator(model, X, margin=0.0)
    weighted.plot(axes[0], weighted=True).set_title("The mean: weighted functions and their sum")
    axes[0].legend(loc="lower left")
    drawn = displays.PredictiveBandDisplay.from_estimator(
        model, X, y, coverage=(), n_functions=12, random_state=0, margin=0.0
    )
    drawn.plot(axes[1], color=displays.COLORS["green"]).set_title("Twelve draws of the weights")
    band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.0)
    band.plot(axes[2]).set_title("Their average: unsure where unseen")
    axes[2].legend(loc="lower left")
    axes[1].sharey(axes[2])
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_radial_basis.png")
