"""A few inducing points for many rows: a bound of the evidence that says when they suffice.

Nine points cannot carry the function, and the band between them admits it. With enough of them the
evidence is known from below and from above, and more would change nothing.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.uniform(0.0, 10.0, size=(600, 1))
y = np.sin(2.0 * X[:, 0]) + 0.5 * np.sin(3.3 * X[:, 0]) + 0.3 * rng.normal(size=600)
exact = GaussianProcessRegressor(kernels.Scaled(kernels.RBF())).fit(X, y)


def fit_process(inducing_points):
    """The points are learned; kernel and noise are those of the exact process."""
    kernel, noise = exact.kernel_.fixed(), exact.noise_variance_
    return GaussianProcessRegressor(kernel, noise, inducing_points=inducing_points).fit(X, y)


counts = np.arange(9, 31, 3)
models = {int(m): fit_process(int(m)) for m in counts}
lower = np.array([model.log_evidence_ for model in models.values()])
upper = lower + np.array([model.evidence_gap_ for model in models.values()])

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2))
    blue, orange = displays.COLORS["blue"], displays.COLORS["orange"]
    for ax, m in zip(axes, (9, 15), strict=False):
        ax.plot(X, y, "o", ms=2, color=displays.COLORS["grey"], label="data")
        band = displays.PredictiveBandDisplay.from_estimator(models[m], X, coverage=(0.9,))
        band.plot(ax).set(title=f"{m} inducing points", ylim=(-3.2, 2.8))
        places = models[m].inducing_points_[:, 0]
        ax.plot(places, np.full(m, -2.9), "^", ms=8, color=orange, label="inducing points")
    black = displays.COLORS["black"]
    axes[2].axhline(exact.log_evidence_, color=black, lw=1.4, label="exact")
    axes[2].plot(counts, upper, "v--", color=orange, label="at most")
    axes[2].plot(counts, lower, "^-", color=blue, label="at least")
    axes[2].set(title="What the evidence can be", xlabel="inducing points", ylabel="log evidence")
    axes[2].legend(loc="lower right")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower left", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "inducing_points.png")
