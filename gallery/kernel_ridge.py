"""Kernel ridge regression: the penalty of the least leave-one-out error.  [J 23]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import KernelRidgeRegression, datasets, displays, kernels

OUT = Path(__file__).parent / "out"

data = datasets.sinc(40, noise_variance=0.02)
kernel = kernels.RBF(1.5)
chosen = KernelRidgeRegression(kernel).fit(data.X, data.y)
penalties, errors = chosen.loo_path_
others = {"too small": ("orange", "--", 1e-6), "too large": ("green", "-.", 30.0)}
x = np.linspace(-10.0, 10.0, 600)[:, None]

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    shown = penalties > 1e-9
    left.loglog(penalties[shown], errors[shown], color=displays.COLORS["black"])
    best = f"least error: {chosen.penalty_:.2g}"
    blue = displays.COLORS["blue"]
    left.plot(chosen.penalty_, chosen.noise_variance_, "o", ms=9, color=blue, label=best)
    right.plot(x, chosen.predict(x), color=blue, label="chosen")
    for name, (color, line, penalty) in others.items():
        model = KernelRidgeRegression(kernel, penalty).fit(data.X, data.y)
        there = penalty, model.noise_variance_
        left.plot(*there, "o", ms=9, color=displays.COLORS[color], label=f"{name}: {penalty:g}")
        right.plot(x, model.predict(x), line, color=displays.COLORS[color], label=name)
    right.plot(data.X, data.y, "o", ms=5, color=displays.COLORS["black"], label="data")
    left.set(title="Every penalty, each row left out once", xlabel="penalty")
    left.set_ylabel("mean squared leave-one-out error")
    right.set(title="Three of these functions", xlabel="x", ylabel="y", xlim=(-10, 10))
    right.set_ylim(-0.9, 1.7)
    left.legend(loc="upper center")
    right.legend(loc="upper left", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_ridge.png")
