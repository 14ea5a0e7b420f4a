"""Averaging the sigmoid over a normal latent value: exactly, and in closed form.  [P9 Fig 9.8]

The two surfaces look the same: where they differ most, far out and unsure, it is by two hundredths.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from posterity import displays, likelihoods

OUT = Path(__file__).parent / "out"

mean, deviation = np.meshgrid(np.linspace(-6.0, 6.0, 121), np.linspace(0.0, 6.0, 61))
exact, closed = (
    likelihoods.Bernoulli(averaging).predict(mean, deviation**2).mean()
    for averaging in ("exact", "approximate")
)
panels = {"Exact": exact, "Closed form": closed, "Closed form less exact": closed - exact}
blue, orange, black = (displays.COLORS[name] for name in ("blue", "orange", "black"))
signed = LinearSegmentedColormap.from_list("signed", [blue, "white", orange])
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        levels, at = np.linspace(0.0, 1.0, 21), [0.0, 0.5, 1.0]
        if values.min() < 0.0:
            levels, at = np.linspace(-0.025, 0.025, 21), [-0.02, 0.0, 0.02]
        filled = ax.contourf(mean, deviation, values, levels, cmap=signed)
        figure.colorbar(filled, ax=ax, location="bottom", ticks=at, label="probability")
        ax.set(title=title, xlabel="mean of the latent value", ylabel="its standard deviation")
        ax.label_outer()
    for ax, values in zip(axes, (exact, closed), strict=False):
        lines = ax.contour(mean, deviation, values, [0.1, 0.3, 0.5, 0.7, 0.9], colors=black)
        ax.clabel(lines, fmt="%.1f")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "sigmoid_average.png")
