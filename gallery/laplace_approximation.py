"""The posterior of two weights of a logistic regression, and two normals for it.  [P9 Fig 9.7]

Shades are the densities themselves; ellipses hold 50 % and 90 % of a normal. The posterior leans to
large weights. Laplace's normal has its peak and its curvature there; the nearest normal, which is
what the library takes, has about its mean and covariance.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import log_expit

from posterity import BayesianLogisticRegression, displays

OUT = Path(__file__).parent / "out"
PRIOR_VARIANCE = 4.0

rng = np.random.default_rng(4)
X = rng.normal(size=(8, 2))
y = (X @ [1.5, -1.0] + rng.logistic(size=8) > 0.0).astype(int)
settings = {"prior_variance": PRIOR_VARIANCE, "fit_intercept": False, "standardize": False}
laplace, nearest = (
    BayesianLogisticRegression(inference=inference, **settings).fit(X, y)
    for inference in ("laplace", "auto")
)
w0, w1 = np.meshgrid(np.linspace(-4.6, 5.6, 200), np.linspace(-4.6, 4.6, 200))
W = np.stack([w0, w1], axis=-1)
log_prior = -0.5 * np.sum(W**2, axis=-1) / PRIOR_VARIANCE
log_posterior = log_prior + np.sum(log_expit((2 * y - 1) * (W @ X.T)), axis=-1)
normal = displays.PosteriorDisplay.from_estimator
panels = {
    "Prior": (log_prior, normal(laplace, (0, 1), prior=True)),
    "Posterior of eight rows": (log_posterior, None),
    "Laplace: normal at its mode": (log_posterior, normal(laplace, (0, 1))),
    "Nearest normal": (log_posterior, normal(nearest, (0, 1))),
}
with displays.style():
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharex=True, sharey=True)
    for ax, (title, (log_density, ellipses)) in zip(axes.flat, panels.items(), strict=True):
        density = np.exp(log_density - log_density.max())
        ax.contourf(w0, w1, density, np.linspace(0.02, 1.0, 15), cmap="Greys")
        if ellipses is not None:
            ellipses.plot(ax, color=displays.COLORS["orange"])
        ax.set(title=title, xlabel="weight of x0", ylabel="weight of x1")
        ax.label_outer()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "laplace_approximation.png")
