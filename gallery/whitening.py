"""Whitening twice: along the principal axes, and with the least change of the columns.  [L]

Rows keep their colours. The principal axes turn the cloud; the other way leaves each row as near to
where it was as any whitening can. Titles say how far rows moved, squared and averaged.
"""

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
    "Least change": (Whitening(method="zca").fit_transform(X), ("whitened x0", "whitened x1")),
}
sectors = {
    "both large": ("blue", "o"),
    "x0 large": ("amber", "D"),
    "x1 large": ("green", "^"),
    "both small": ("orange", "s"),
}
above = centred > 0.0
sector = np.select([above.all(axis=1), above[:, 0], above[:, 1]], [0, 1, 2], 3)
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.3))
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    for ax, (title, (Z, names)) in zip(axes, panels.items(), strict=True):
        for s, (label, (color, marker)) in enumerate(sectors.items()):
            mark = {"c": displays.COLORS[color], "marker": marker, "label": label}
            ax.scatter(*Z[sector == s].T, s=14, linewidths=0, **mark)
        L = np.linalg.cholesky(np.cov(Z, rowvar=False))
        ax.plot(*(2.0 * L @ [np.cos(circle), np.sin(circle)]), color=displays.COLORS["black"])
        moved = np.mean((Z - centred) ** 2)
        ax.set(title=title if title == "Rows" else f"{title}: moved by {moved:.2f}")
        ax.set(xlabel=names[0], ylabel=names[1], aspect="equal", xlim=(-6, 6), ylim=(-6, 6))
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=1.8
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "whitening.png")
