"""Whitening twice: along the principal axes, and with the least change of the columns."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import Whitening, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.multivariate_normal([4.0, 2.0], [[1.2, 1.9], [1.9, 4.0]], size=500)
centred = X - X.mean(axis=0)
panels = {
    "Rows": (centred, ("x0", "x1")),
    "Principal axes": (Whitening(method="pca").fit_transform(X), ("whitened 0", "whitened 1")),
    "Nearest to the columns": (Whitening(method="zca").fit_transform(X), ("x0", "x1")),
}
angle = np.arctan2(centred[:, 1], centred[:, 0])
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.8))
    for ax, (title, (Z, names)) in zip(axes, panels.items(), strict=True):
        ax.scatter(*Z.T, c=angle, cmap="hsv", s=16, linewidths=0)
        circle = np.linspace(0.0, 2.0 * np.pi, 200)
        L = np.linalg.cholesky(np.cov(Z, rowvar=False))
        ax.plot(*(2.0 * L @ [np.cos(circle), np.sin(circle)]), color=displays.COLORS["black"])
        moved = np.mean((Z - centred) ** 2)
        ax.set(title=title if title == "Rows" else f"{title}: moved by {moved:.2f}")
        ax.set(xlabel=names[0], ylabel=names[1], aspect="equal", xlim=(-6, 6), ylim=(-6, 6))
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "whitening.png")
