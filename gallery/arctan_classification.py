"""Classes along one input, by the sum of a few arc tangents.  [P9 Fig 9.10]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLogisticRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0.0, 10.0, size=160))
truth = np.where((x < 2.0) | ((x > 4.5) & (x < 8.0)), 0.92, 0.06)
y = (rng.random(160) < truth).astype(int)
model = BayesianLogisticRegression(features.Arctan(n_offsets=9)).fit(x[:, None], y)

queries = np.linspace(-0.5, 10.5, 300)[:, None]
steps = model.features_.transform(queries)
latent = model.predict_latent(queries)
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), sharex=True)
    axes[0].plot(queries, steps, lw=1.4)
    axes[0].set(title="Nine arc tangents of x", xlabel="x")
    lower, upper = latent.interval(0.9)
    blue, black = displays.COLORS["blue"], displays.COLORS["black"]
    axes[1].plot(queries, steps * model.coef_[0], lw=1.0, alpha=0.7)
    axes[1].fill_between(queries[:, 0], lower, upper, color=blue, alpha=0.2, lw=0)
    axes[1].plot(queries, latent.mean(), color=black)
    axes[1].set(title="Each times its weight, and the latent value", xlabel="x")
    axes[2].plot(x, truth, "--", color=displays.COLORS["grey"], lw=1.4, label="truth")
    axes[2].plot(queries, model.predict_proba(queries)[:, 1], color=blue, label="averaged")
    axes[2].plot(x, y, "|", ms=9, color=displays.COLORS["grey"])
    axes[2].set(title="Its sigmoid", xlabel="x", ylabel="probability", ylim=(-0.05, 1.25))
    axes[2].legend(loc="upper right", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "arctan_classification.png")
