"""Counts over time: a Gaussian process for the log of their rate, under a Poisson likelihood.

Normal noise is as wide at one event a week as at ten, and thinks of fewer than none. The Poisson
band grows with the rate, is made of whole numbers, and stays above zero.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, kernels, likelihoods

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
week = np.arange(0.0, 104.0)
rate = np.exp(1.0 + 1.2 * np.sin(week / 9.0))
counted = (week < 55.0) | (week > 70.0)
X, counts = week[counted, None], rng.poisson(rate)[counted]

kernel = kernels.Scaled(kernels.RBF())
models = {
    "Normal noise": GaussianProcessRegressor(kernel),
    "Poisson": GaussianProcessRegressor(kernel, likelihood=likelihoods.Poisson()),
}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        model.fit(X, counts)
        band = displays.PredictiveBandDisplay.from_estimator(model, X, counts, margin=0.0)
        band.plot(ax).set(title=title, xlabel="week", ylabel="", ylim=(-4.0, 20.0))
        ax.plot(week, rate, "--", lw=1.6, color=displays.COLORS["orange"], label="true rate")
        ax.axhline(0.0, color=displays.COLORS["grey"], lw=1.0)
    axes[0].set_ylabel("events")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, columnspacing=1.4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "counts.png")
