"""What kernels believe before any data: three functions drawn from each.  [G]

Grey holds 90 % of the values at each input. Smooth, rough, repeating and straight functions come
from single kernels; sums and products of kernels make what lies between.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import displays
from posterity.kernels import RBF, Constant, Linear, Matern, Periodic, Polynomial, RationalQuadratic

OUT = Path(__file__).parent / "out"
KERNELS = {
    "RBF": RBF(1.0),
    "Matern, smoothness 3/2": Matern(1.0, smoothness=1.5),
    "Matern, smoothness 1/2": Matern(1.0, smoothness=0.5),
    "RationalQuadratic, shape 0.2": RationalQuadratic(1.0, shape=0.2),
    "Periodic": Periodic(2.0, length_scale=1.0),
    "Constant + Linear": Constant(1.0) + Linear(0.2),
    "Polynomial, degree 2": 0.02 * Polynomial(2, offset=4.0),
    "Linear * Periodic": Linear(0.2) * Periodic(1.5, length_scale=1.0),
    "RBF * Periodic": RBF(3.0) * Periodic(1.5, length_scale=1.0),
}
INKS = {"blue": "-", "orange": "--", "green": "-."}

with displays.style():
    figure, axes = plt.subplots(3, 3, figsize=(11, 8), sharex=True, sharey=True)
    for ax, (name, kernel) in zip(axes.flat, KERNELS.items(), strict=True):
        prior = displays.PredictiveBandDisplay.from_kernel(
            kernel, [[-4.0], [4.0]], random_state=4, n_grid=400
        )
        ax.fill_between(prior.x, prior.lower[0], prior.upper[0], color="0.92", lw=0)
        for (color, line), values in zip(INKS.items(), prior.functions, strict=True):
            ax.plot(prior.x, values, line, lw=1.6, color=displays.COLORS[color])
        ax.set(title=name, xlim=(-4.0, 4.0), ylim=(-4.0, 4.0), xticks=(-3, 0, 3))
    for ax in axes[-1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("f(x)")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernels.png")
