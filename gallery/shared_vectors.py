"""Three outputs, in units of their own, on one set of relevance vectors.  [P8 8.9]

Each output has its own weights and its own noise; which rows are kept, those with
rings, is decided for all of them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import RelevanceVectorRegressor, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0.0, 10.0, size=80))[:, None]
t = X[:, 0]
Y = np.column_stack([np.sin(t), 1000.0 * np.cos(t) * np.exp(-0.2 * t), 0.01 * np.sin(0.5 * t)])
names = "volts", "pascals", "metres"
Y += rng.normal(size=(80, 3)) * [0.2, 80.0, 0.002]
model = RelevanceVectorRegressor(kernels.RBF(1.2).fixed()).fit(X, Y)
x = np.linspace(-0.5, 10.5, 300)[:, None]
mean, (low, high) = model.predict(x), model.predict_interval(x, coverage=0.9)

with displays.style():
    figure, axes = plt.subplots(3, 1, figsize=(9, 7.6), sharex=True)
    black = displays.COLORS["black"]
    for k, (ax, name, color) in enumerate(zip(axes, names, displays.COLORS.values(), strict=False)):
        ax.fill_between(x[:, 0], low[:, k], high[:, k], color=color, alpha=0.2, lw=0)
        ax.plot(x, mean[:, k], color=color)
        ax.plot(X, Y[:, k], "o", ms=4, color=black)
        at = model.relevance_
        ax.plot(X[at], Y[at, k], "o", ms=11, mfc="none", mew=1.7, color=black)
        for place in X[at, 0]:
            ax.axvline(place, color=displays.COLORS["grey"], lw=0.7, zorder=0)
        ax.set(ylabel=name, xlim=(-0.5, 10.5))
    axes[0].set_title(f"Three outputs, {len(model.relevance_)} vectors of 80 rows: 90 % intervals")
    axes[-1].set_xlabel("x")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "shared_vectors.png")
