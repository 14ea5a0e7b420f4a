"""A mixture of two experts: a gate says which of two logistic regressions to ask.  [P9 Fig 9.25]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import MixtureOfExpertsClassifier, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(-4.0, 4.0, size=200))
truth = np.where(x < 0.0, expit(5.0 * (x + 2.0)), expit(-5.0 * (x - 2.0)))
y = (rng.random(200) < truth).astype(int)
model = MixtureOfExpertsClassifier(2, random_state=0).fit(x[:, None], y)

queries = np.linspace(-4.4, 4.4, 400)[:, None]
gates, experts = model.gate_proba(queries), model.expert_proba(queries)[:, :, 1]
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), sharex=True, sharey=True)
    panels = (("Experts", experts, "center right"), ("Gates", gates, "center left"))
    for ax, (title, values, place) in zip(axes, panels, strict=False):
        for k, color in enumerate(("blue", "orange")):
            ax.plot(queries, values[:, k], color=displays.COLORS[color], label=f"expert {k + 1}")
        ax.set(title=title, xlabel="x")
        ax.legend(loc=place)
    axes[0].set_ylabel("probability")
    black, grey = displays.COLORS["black"], displays.COLORS["grey"]
    axes[2].plot(x, truth, "--", color=grey, lw=1.4, label="truth")
    axes[2].plot(queries, model.predict_proba(queries)[:, 1], color=black, label="mixture")
    axes[2].plot(x, y, "|", ms=10, color=grey)
    axes[2].set(title="Experts averaged by their gates", xlabel="x")
    axes[2].legend(loc="lower center")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "mixture_of_experts.png")
