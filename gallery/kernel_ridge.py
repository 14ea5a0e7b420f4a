"""Kernel ridge regression: the penalty of the least leave-one-out error.  [J 23]

One decomposition gives the error of every penalty, each row predicted from all others. Too small a
penalty follows the noise, too large a one forgets the function.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import KernelRidgeRegression, datasets, displays, kernels

OUT = Path(__file__).parent / "out"

data = datasets.sinc(40, noise_variance=0.02)
kernel = kernels.RBF(1.5)
chosen = KernelRidgeRegression(kernel).fit(data.X, data.y)
shown = {  # name: colour, line, marker, penalty
    "least error": ("blue", "-", "o", chosen.alpha_),
    "too small": ("orange", "--", "s", 1e-6),
    "too large": ("green", "-.", "^", 30.0),
}
x = np.linspace(-10.0, 10.0, 600)[:, None]

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
    penalties, errors = (values[chosen.loo_path_[0] > 1e-9] for values in chosen.loo_path_)
    left.loglog(penalties, errors, color=displays.COLORS["black"])
    for name, (color, line, marker, penalty) in shown.items():
        model = KernelRidgeRegression(kernel, penalty).fit(data.X, data.y)
        place, ink = (penalty, model.noise_variance_), displays.COLORS[color]
        left.plot(*place, marker, ms=9, color=ink, label=f"{name}: {penalty:.2g}")
        right.plot(x, model.predict(x), line, color=ink, label=name)
    right.plot(data.X, data.y, "o", ms=5, color=displays.COLORS["black"], label="data")
    left.set(title="Every penalty at once", xlabel="penalty", ylabel="leave-one-out error")
    right.set(title="Three of these functions", xlabel="x", ylabel="y", xlim=(-10, 10))
    right.set_ylim(-0.7, 1.9)
    left.legend(loc="upper right")
    right.legend(loc="upper left", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_ridge.png")
