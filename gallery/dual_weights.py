"""Dual weights: the direction of steepest change as a weighted sum of rows.  [P8 Fig 8.12]

Each orange arrow is a row times its dual weight. Put one after the other they end where the weights
of the columns do: across the contours. Two rows span the plane; of more, each gives a little.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import DualLinearRegression, displays, priors

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(43)
X = np.concatenate([[[1.7, -0.5], [-0.3, 1.6]], rng.uniform(-2.0, 2.0, size=(6, 2))])
y = X @ [1.2, 1.0] + 0.3 * rng.normal(size=8)
orange, black = displays.COLORS["orange"], displays.COLORS["black"]


def arrows(ax, steps, **look):
    """Head to tail from the origin, turning one way."""
    turning = steps[np.argsort(np.arctan2(steps[:, 1], steps[:, 0]))]
    tails = np.cumsum(turning, axis=0) - turning
    ax.quiver(*tails.T, *turning.T, angles="xy", scale_units="xy", scale=1.0, zorder=3, **look)


with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), sharex=True, sharey=True)
    for ax, n, name in zip(axes, (2, 8), ("Two", "Eight"), strict=True):
        model = DualLinearRegression(prior=priors.Flat(), fit_intercept=False, predictive="plug_in")
        rows = X[:n]
        a = model.fit(rows, y[:n]).dual_coef_
        surface = displays.MeanSurfaceDisplay.from_estimator(model, X, y)
        surface.plot(ax, colorbar=n == 8).set(title=f"{name} rows", ylabel="", aspect="equal")
        ax.plot(*rows.T, "o", ms=12, mfc="none", color=black, label="rows that are fitted")
        arrows(ax, model.coef_[None], color=black, width=0.02, label="weights of the columns")
        arrows(ax, a[:, None] * rows, color=orange, width=0.01, label="row times its dual weight")
    axes[0].set_ylabel("x1")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "dual_weights.png")
