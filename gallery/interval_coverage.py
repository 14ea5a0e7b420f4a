"""Does a 90 % interval hold nine targets of ten?

Sixty sets of thirty rows and ten columns, and a hundred new rows of each. Maximum likelihood,
plugged in, takes its weights for the truth and what is left over for the noise: its intervals are
too narrow. With the uncertainty of both they hold nearly what they promise.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from posterity import BayesianLinearRegression, LinearRegression, displays, distributions

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)


def draw(w, n):
    X = rng.normal(size=(n, len(w)))
    return X, X @ w + 2.0 * rng.normal(size=n)


def places(model):
    """Where each new target lies in its prediction, as a value of a standard normal."""
    told = [model.fit(*rows).predict_dist(X_new).cdf(y_new) for rows, (X_new, y_new) in sets]
    return stats.norm.ppf(np.concatenate(told))


sets = [(draw(w, 30), draw(w, 100)) for w in rng.normal(size=(60, 10))]
models = {
    "Plugged in": LinearRegression(predictive="plug_in"),
    "Flat prior": LinearRegression(),
    "Normal prior": BayesianLinearRegression(),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        z = places(model)
        held = 100 * np.mean(np.abs(z) <= stats.norm.ppf(0.95))
        right = distributions.Normal(np.zeros(len(z)), 1.0)
        displays.ReliabilityDisplay.from_distribution(right, z).plot(ax)
        ax.set(title=f"{title}: 90 % holds {held:.0f} %", aspect="equal", ylabel="")
    axes[0].set_ylabel("share of rows")
    axes[0].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "interval_coverage.png")
