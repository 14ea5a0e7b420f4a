"""Averaging the sigmoid over a normal latent value: exactly, and in closed form.  [P9 Fig 9.8]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, likelihoods

OUT = Path(__file__).parent / "out"

mean, std = np.meshgrid(np.linspace(-6.0, 6.0, 121), np.linspace(0.0, 6.0, 61))
exact, closed = (
    likelihoods.Bernoulli(averaging).predict(mean, std**2).mean()
    for averaging in ("exact", "approximate")
)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), sharey=True)
    for ax, values, title in zip(axes, (exact, closed), ("Exact", "Closed form"), strict=False):
        lines = ax.contour(
            mean, std, values, [0.1, 0.3, 0.5, 0.7, 0.9], colors=displays.COLORS["blue"]
        )
        ax.clabel(lines, fmt="%.1f")
        ax.set(title=title, xlabel="mean of the latent value")
    error = closed - exact
    limits = np.linspace(-0.025, 0.025, 21)
    filled = axes[2].contourf(mean, std, error, limits, cmap="RdBu_r")
    axes[2].set(title="Closed form minus exact", xlabel="mean of the latent value")
    figure.colorbar(filled, ax=axes[2], ticks=[-0.02, -0.01, 0.0, 0.01, 0.02])
    axes[0].set_ylabel("its standard deviation")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "sigmoid_average.png")
