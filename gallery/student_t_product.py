"""Why a product of Student-t distributions makes weights zero.  [P8 Fig 8.10]

A normal prior knows no axes. The product of two Student-t of few degrees of freedom has ridges
along them, where one weight is zero and the other anything; a Student-t of both weights together
has long tails too, and no ridges. Contours are a nat apart; both Student-t have 0.01 degrees of
freedom.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from posterity import displays, priors

OUT = Path(__file__).parent / "out"
NU = 0.01

w = np.linspace(-3.0, 3.0, 241)
grid = np.stack(np.meshgrid(w, w), axis=-1)
densities = {
    "Normal": priors.Normal(1.0).log_prob(grid).sum(axis=-1),
    "Product of two Student-t": priors.Sparse(NU).log_prob(grid).sum(axis=-1),
    "Student-t of both together": stats.multivariate_t([0.0, 0.0], df=NU).logpdf(grid),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
    for ax, (title, log_density) in zip(axes, densities.items(), strict=True):
        levels, height = np.arange(-10.0, 1.0), log_density - log_density.max()
        filled = ax.contourf(w, w, height, levels, cmap="Blues")
        ax.contour(w, w, height, levels, colors="w", linewidths=0.5, linestyles="-")
        ax.set(title=title, xlabel="first weight", aspect="equal")
    axes[0].set_ylabel("second weight")
    figure.colorbar(filled, ax=axes, label="log density below its top", ticks=levels[::2])
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "student_t_product.png")
