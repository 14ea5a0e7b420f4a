"""What kernels believe before any data: three functions drawn from each.  [G]"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import displays
from posterity.kernels import RBF, Constant, Linear, Matern, Periodic, Polynomial, RationalQuadratic

OUT = Path(__file__).parent / "out"
KERNELS = (
    RBF(1.0),
    Matern(1.0, smoothness=1.5),
    Matern(1.0, smoothness=0.5),
    RationalQuadratic(1.0, shape=0.2),
    Periodic(2.0, length_scale=1.0),
    Constant(1.0) + Linear(0.2),
    0.02 * Polynomial(2, offset=4.0),
    Linear(0.2) * Periodic(1.5, length_scale=1.0),
    RBF(3.0) * Periodic(1.5, length_scale=1.0),
)
COLORS = ("blue", "orange", "green")

with displays.style():
    figure, axes = plt.subplots(3, 3, figsize=(14, 9), sharex=True, sharey=True)
    for ax, kernel in zip(axes.flat, KERNELS, strict=True):
        prior = displays.PredictiveBandDisplay.from_kernel(
            kernel, [[-4.0], [4.0]], random_state=4, n_grid=400
        )
        ax.fill_between(prior.x, prior.lower[0], prior.upper[0], color="0.92", lw=0)
        for color, values in zip(COLORS, prior.functions, strict=True):
            ax.plot(prior.x, values, lw=1.6, color=displays.COLORS[color])
        ax.set(title=f"{kernel}", xlim=(-4.0, 4.0), ylim=(-4.0, 4.0), xticks=(-3, 0, 3))
    for ax in axes[-1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("f(x)")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernels.png")
