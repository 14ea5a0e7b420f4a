"""Laplace's approximation: the normal with the mode and the curvature of a density.  [P9 Fig 9.6]

At the mode the two agree to the second derivative of the logarithm; farther away the normal knows
nothing of the longer tail.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, distributions

OUT = Path(__file__).parent / "out"
SHAPE, RATE = 4.0, 1.0

density = distributions.Gamma(SHAPE, RATE)
mode = (SHAPE - 1.0) / RATE
curvature = (SHAPE - 1.0) / mode**2  # the negative second derivative of the log density
normal = distributions.Normal(mode, curvature**-0.5)

x = np.linspace(0.02, 11.0, 400)
blue, orange, grey = (displays.COLORS[name] for name in ("blue", "orange", "grey"))
with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True)
    for ax, change in ((left, np.exp), (right, np.positive)):
        ax.plot(x, change(density.log_prob(x)), color=blue, label="density")
        ax.plot(x, change(normal.log_prob(x)), "--", color=orange, label="normal at its mode")
        ax.axvline(mode, color=grey, lw=1.0, ls=":")
        ax.set_xlabel("x")
    left.set(title="A skewed density", ylabel="density", ylim=(0.0, 0.27))
    right.set(title="Their logarithms", ylabel="log density", ylim=(-9.0, 0.0))
    left.legend(loc="upper right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "laplace_in_one_dimension.png")
