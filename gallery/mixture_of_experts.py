"""A mixture of two experts: a gate says which of two logistic regressions to ask.  [P9 Fig 9.25]

One expert knows where the second class begins, the other where it ends, and the gates hand over
between them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import MixtureOfExpertsClassifier, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(2)
X = np.sort(rng.uniform(-4.0, 4.0, size=200))[:, None]
truth = np.where(X[:, 0] < 0.0, expit(5.0 * (X[:, 0] + 2.0)), expit(-5.0 * (X[:, 0] - 2.0)))
y = (rng.random(200) < truth).astype(int)
model = MixtureOfExpertsClassifier(2, random_state=0).fit(X, y)

display = displays.ProbabilityDisplay.from_estimator(model, X, y, margin=0.05)
queries = display.x[:, None]
gates, experts = model.gate_proba(queries), model.expert_proba(queries)[:, :, 1]
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharex=True, sharey=True)
    for ax, title, values in zip(axes, ("Experts", "Gates"), (experts, gates), strict=False):
        for k, (color, line) in enumerate((("sky", "-"), ("orange", "--"))):
            name = f"expert {k + 1}"
            ax.plot(queries, values[:, k], line, color=displays.COLORS[color], label=name)
        ax.set(title=title, xlabel="x")
    axes[0].set_ylabel("probability of class 1")
    axes[1].set_ylabel("trust in the expert")
    axes[2].plot(X, truth, "--", color=displays.COLORS["grey"], lw=1.4, label="truth")
    display.plot(axes[2]).set(title="Experts averaged by gates", ylabel="probability of class 1")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower right", ncols=3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "mixture_of_experts.png")
