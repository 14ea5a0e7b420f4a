"""The posterior of two weights of a logistic regression, and its normal.  [P9 Fig 9.7]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import log_expit

from posterity import BayesianLogisticRegression, displays, distributions

OUT = Path(__file__).parent / "out"
PRIOR_VARIANCE = 9.0

rng = np.random.default_rng(4)
X = rng.normal(size=(14, 2))
y = (X @ [1.5, -1.0] + rng.logistic(size=14) > 0.0).astype(int)

settings = {"prior_variance": PRIOR_VARIANCE, "fit_intercept": False, "standardize": False}
model = BayesianLogisticRegression(**settings).fit(X, y)
draws = model.sample_weights(4000, random_state=0)[0][:, 0]

w0, w1 = np.meshgrid(np.linspace(-2.5, 5.0, 200), np.linspace(-6.5, 2.0, 200))
W = np.stack([w0, w1], axis=-1)
log_prior = -0.5 * np.sum(W**2, axis=-1) / PRIOR_VARIANCE
log_likelihood = np.sum(log_expit((2 * y - 1) * (W @ X.T)), axis=-1)
laplace = distributions.MultivariateNormal(model.coef_[0], np.cov(draws.T))
log_laplace = laplace.log_prob(W.reshape(-1, 2)).reshape(w0.shape)

panels = {
    "Prior": log_prior,
    "Likelihood of 14 rows": log_likelihood,
    "Posterior": log_prior + log_likelihood,
    "Normal at its mode": log_laplace,
}
with displays.style():
    figure, axes = plt.subplots(1, 4, figsize=(15, 4.2), sharex=True, sharey=True)
    line = {"colors": displays.COLORS["black"], "linewidths": 1.0, "linestyles": "solid"}
    levels = np.array([-8.0, -4.6, -2.3, -0.7])  # nats below the peak
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        depth = values - values.max()
        ax.contourf(w0, w1, np.exp(depth), np.linspace(0.01, 1.0, 20), cmap="Blues")
        ax.contour(w0, w1, depth, levels, **line)
        ax.set(title=title, xlabel="weight of the first input")
    for ax in axes[2:]:
        ax.plot(*model.coef_[0], "x", ms=9, mew=2.5, color=displays.COLORS["orange"])
    axes[0].set_ylabel("weight of the second")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "laplace_approximation.png")
