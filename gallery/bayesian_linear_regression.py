"""Bayesian linear regression: many lines explain the data, and all of them vote.  [P8 Fig 8.5]

Three draws of intercept and slope are three lines. The prediction is the average of all of them,
and widens on either side of the rows, where they part.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, datasets, displays

OUT = Path(__file__).parent / "out"
INKS = {"orange": ("o", "-"), "green": ("s", "--"), "pink": ("^", "-.")}  # marker and line

data = datasets.line(8, noise_variance=1.0, random_state=4)
model = BayesianLinearRegression().fit(data.X, data.y)
line = displays.PosteriorDisplay.from_estimator(model, coverage=(0.25, 0.5, 0.75, 0.95))
slopes, offsets = model.sample_weights(3, random_state=0)
band = displays.PredictiveBandDisplay.from_estimator(model, data.X, data.y, margin=0.4)
x = np.array([-1.0, 5.0])

with displays.style():
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.9))
    line.plot(left).set(title="Posterior of the line", ylabel="slope")
    for (name, (marker, dash)), b, w in zip(INKS.items(), offsets, slopes[:, 0], strict=True):
        color = displays.COLORS[name]
        left.plot(b, w, marker, ms=9, mec="white", color=color)
        middle.plot(x, b + w * x, dash, color=color)
    middle.plot(data.X, data.y, "o", ms=5, color=displays.COLORS["black"])
    band.plot(right).set(title="All lines together", xlim=x)
    middle.set(title="Three draws, three lines", xlabel="x", ylabel="y", xlim=x)
    middle.sharey(right)
    right.legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_linear_regression.png")
