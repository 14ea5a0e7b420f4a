"""Nonlinear regression on arc tangents, by maximum likelihood.  [P8 Fig 8.7]"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import LinearRegression, datasets, displays, features

OUT = Path(__file__).parent / "out"

data = datasets.sinc(40)
model = LinearRegression(features=features.Arctan(n_offsets=8), predictive="plug_in")
model.fit(data.X, data.y)
basis = displays.BasisDisplay.from_estimator(model, data.X, margin=0.0)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.4))
    basis.plot(axes[0]).set_title("Eight arc tangents of x")
    basis.plot(axes[1], weighted=True).set_title("Each times its weight, and their sum")
    axes[1].legend(loc="upper right")
    band = displays.PredictiveBandDisplay.from_estimator(model, data.X, data.y, margin=0.0)
    band.plot(axes[2]).set_title("The same data, another basis")
    axes[2].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "arctan_basis.png")
