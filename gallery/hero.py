"""The same points and basis functions, by maximum likelihood and Bayesian.

Orange points are new. Where no row was seen, maximum likelihood is sure and wrong; the Bayesian
band widens, and thin lines are functions that its posterior holds possible.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, LinearRegression, displays, features

OUT = Path(__file__).parent / "out"


def draw(rng, n, low, high):
    x = rng.uniform(low, high, size=n)
    return x[:, None], np.sin(1.6 * x) + 0.35 * x + 0.25 * rng.normal(size=n)


rng = np.random.default_rng(1)
blocks = [draw(rng, 14, -3.5, 0.0), draw(rng, 8, 1.6, 3.5)]
X, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
X_new, y_new = draw(rng, 400, -3.5, 3.5)
bumps = features.Radial(centers=np.linspace(-3.5, 3.5, 11)[:, None], length_scale=0.7)
models = {
    "Maximum likelihood": LinearRegression(features=bumps, predictive="plug_in"),
    "Bayesian": BayesianLinearRegression(features=bumps),
}

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        n_functions = 6 if title == "Bayesian" else 0
        band = displays.PredictiveBandDisplay.from_estimator(
            model, X, y, n_functions=n_functions, random_state=0, margin=0.0
        )
        ax.plot(X_new, y_new, "o", ms=2.5, color=displays.COLORS["orange"], label="new data")
        band.plot(ax)
        lower, upper = model.predict_interval(X_new)
        held = 100 * np.mean((lower <= y_new) & (y_new <= upper))
        ax.set(title=f"{title}: 90 % band holds {held:.0f} %", ylim=(-3.2, 3.7))
    axes[1].set_ylabel("")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, columnspacing=1.4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "hero.png")
