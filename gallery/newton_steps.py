"""Newton's method: an intercept and a slope, and the sigmoid after each step.  [P9 Fig 9.4]

The likelihood and its logarithm peak at the same weights. Each cross is one step further; the
sigmoids rise from even odds to the best fit in three of them.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning

from posterity import LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3.0, 3.0, size=40))
y = (rng.random(40) < expit(2.0 * x - 0.5)).astype(int)


def after(n_steps):
    """Offset and slope after so many steps from zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it stops early on purpose
        model = LogisticRegression(max_iter=n_steps).fit(x[:, None], y)
    return np.array([model.intercept_[0], model.coef_[0, 0]])


steps = np.array([np.zeros(2), *(after(n) for n in (1, 2, 3))])
w0, w1 = np.meshgrid(np.linspace(-1.4, 1.7, 160), np.linspace(-0.4, 2.9, 160))
a = w0[:, :, None] + w1[:, :, None] * x
log_likelihood = log_expit((2 * y - 1) * a).sum(axis=2)
orange, black, grey = (displays.COLORS[name] for name in ("orange", "black", "grey"))
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
    surfaces = {"Likelihood": np.exp(log_likelihood), "Log likelihood": log_likelihood}
    for ax, (title, values) in zip(axes, surfaces.items(), strict=False):
        depth = min(np.ptp(values), 20.0) * np.linspace(1.0, 0.0, 15) ** 2
        ax.contourf(w0, w1, values, values.max() - depth, cmap="Blues", extend="min")
        ax.plot(*steps.T, "x-", color=orange, lw=1.0, ms=9, mew=2.2)
        ax.set(title=title, xlabel="intercept", ylabel="slope")
    queries = np.linspace(-3.3, 3.3, 200)
    looks = ((":", grey), ("-.", grey), ("--", orange), ("-", black))
    for n, (w, (line, color)) in enumerate(zip(steps, looks, strict=True)):
        name = ("start", "1 step", "2 steps", "3 steps")[n]
        axes[2].plot(queries, expit(w[0] + w[1] * queries), line, color=color, label=name)
    axes[2].plot(x, y, "|", ms=10, color=black)
    axes[2].set(title="The sigmoid of each step", xlabel="x", ylabel="probability")
    axes[2].legend(loc="upper center", ncols=2)
    axes[2].set_ylim(-0.06, 1.42)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "newton_steps.png")
