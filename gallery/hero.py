"""The same points and basis functions, by maximum likelihood and Bayesian.

Orange points are new. In the gap, maximum likelihood is confident and wrong; the Bayesian band
widens, and thin lines are functions drawn from its posterior. The coverage in the titles is the
mean over a hundred data sets drawn in the same way.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, LinearRegression, displays, features

OUT = Path(__file__).parent / "out"


def draw(rng, n, low, high):
    x = rng.uniform(low, high, size=n)
    return x[:, None], np.sin(1.6 * x) + 0.35 * x + 0.25 * rng.normal(size=n)


def draw_set(seed):
    """Rows of two stretches with a gap between them, and new rows from everywhere."""
    rng = np.random.default_rng(seed)
    blocks = [draw(rng, 14, -3.5, 0.0), draw(rng, 8, 1.6, 3.5)]
    X, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return X, y, *draw(rng, 400, -3.5, 3.5)


def coverage(model, X, y, X_new, y_new):
    """The share of new rows within the 90 % interval."""
    lower, upper = model.fit(X, y).predict_interval(X_new, coverage=0.9)
    return np.mean((lower <= y_new) & (y_new <= upper))


bumps = features.Radial(centers=np.linspace(-3.5, 3.5, 11)[:, None], length_scale=0.7)
models = {
    "Maximum likelihood": LinearRegression(features=bumps, predictive="plug_in"),
    "Bayesian": BayesianLinearRegression(features=bumps),
}
covered = {  # of a hundred data sets; one alone tells little
    name: 100 * np.mean([coverage(model, *draw_set(seed)) for seed in range(100)])
    for name, model in models.items()
}
X, y, X_new, y_new = draw_set(1)

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
        ax.set(title=f"{title}: 90 % band covers {covered[title]:.0f} %", ylim=(-3.2, 3.7))
    axes[1].set_ylabel("")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, columnspacing=1.4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "hero.png")
