"""The same few rows by maximum likelihood and Bayesian: lines that fan out.  [P9 Fig 9.9]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLogisticRegression, LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 2)) + np.repeat([[-1.0, -0.6], [1.0, 0.6]], 12, axis=0)
y = np.repeat(["left", "right"], 12)
models = {
    "Maximum likelihood, plugged in": LogisticRegression(),
    "Bayesian, averaged": BayesianLogisticRegression(),
}

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model.fit(X, y), X, y, margin=0.8)
        surface.plot(ax).set_title(title)
    coef, intercept = models["Bayesian, averaged"].sample_weights(12, random_state=1)
    for w, b in zip(coef[:, 0], intercept[:, 0], strict=True):
        along = np.array(axes[1].get_ylim())
        across = -(b + w[1] * along) / w[0]
        axes[1].plot(across, along, color=displays.COLORS["grey"], lw=0.7)
    axes[1].set(ylabel="")
    axes[0].legend(loc="upper left", frameon=True)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_logistic_regression.png")
