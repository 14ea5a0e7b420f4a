"""Bayesian linear regression: many lines explain the data, and all of them vote.  [P8 Fig 8.5]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, datasets, displays, distributions

OUT = Path(__file__).parent / "out"


def posterior_of_line(model):
    """The joint posterior of offset and slope: f(0) is the offset, f(1) - f(0) the slope."""
    ends = np.array([[0.0], [1.0]])
    difference = np.array([[1.0, 0.0], [-1.0, 1.0]])
    noise = model.noise_variance_ * np.eye(2)
    covariance = difference @ (model.predict_cov(ends) - noise) @ difference.T
    return distributions.MultivariateNormal(difference @ model.predict(ends), covariance)


data = datasets.line(8, noise_variance=1.0, random_state=4)
model = BayesianLinearRegression().fit(data.X, data.y)
slopes, offsets = model.sample_weights(3, random_state=1)
names = ("orange", "green", "pink")

with displays.style():
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4))

    joint = posterior_of_line(model)
    (b, w), (b_std, w_std) = joint.mean(), joint.standard_deviation()
    B, W = np.meshgrid(b + b_std * np.linspace(-3, 3, 121), w + w_std * np.linspace(-3, 3, 121))
    log_density = joint.log_prob(np.stack([B, W], axis=-1))
    levels = np.arange(0.05, 1.01, 0.1) * np.exp(log_density.max())
    left.contourf(B, W, np.exp(log_density), levels=levels, cmap="Blues", extend="max")
    left.set(title="Posterior of the line", xlabel="offset", ylabel="slope")

    x = np.linspace(-1.0, 5.0, 50)
    for name, offset, slope in zip(names, offsets, slopes[:, 0], strict=True):
        left.plot(offset, slope, "o", ms=8, mec="white", color=displays.COLORS[name])
        middle.plot(x, offset + slope * x, color=displays.COLORS[name])
    middle.plot(data.X, data.y, "o", ms=5, color=displays.COLORS["black"])
    middle.set(title="Three draws, three lines", xlabel="x", ylabel="y", xlim=(-1.0, 5.0))

    band = displays.PredictiveBandDisplay.from_estimator(model, data.X, data.y, margin=0.4)
    band.plot(right).set(title="All lines: wider away from the data", xlim=(-1.0, 5.0))
    right.legend(loc="upper left")
    middle.set_ylim(right.get_ylim())
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_linear_regression.png")
