"""Two people who walk in step: a space for each, one above both, and one person from the other."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import HierarchicalGPLVM, datasets, displays

OUT = Path(__file__).parent / "out"

noisy, clean = (datasets.walks(90, noise_variance=v) for v in (4.0, 0.0))
X, truth = (np.hstack([w.X[w.groups == 0], w.X[w.groups == 2]]) for w in (noisy, clean))
times = noisy.times[noisy.groups == 0]
fitted, knee = times < 2.0, 12
parts = {"first person": list(range(10)), "second person": list(range(10, 20))}
model = HierarchicalGPLVM(parts).fit(X[fitted])
half = X[~fitted].copy()
half[:, 10:] = np.nan
told = model.complete(half)
off = np.sqrt(np.mean((told.mean() - truth[~fitted])[:, 10:] ** 2))
spaces = {**model.part_embeddings_, "both": model.embedding_}
blue, black = displays.COLORS["blue"], displays.COLORS["black"]
with displays.style():
    figure, axes = plt.subplots(1, 4, figsize=(17, 4.4), width_ratios=(1, 1, 1, 1.5))
    for ax, (title, Z) in zip(axes, spaces.items(), strict=False):
        ax.plot(*Z.T, "o-", ms=4, lw=1.0, color=blue)
        ax.set(title=title.capitalize(), xlabel="latent 0")
    axes[0].set_ylabel("latent 1")
    low, high = (ends[:, knee] for ends in told.interval(0.9))
    axes[3].fill_between(times[~fitted], low, high, color=blue, alpha=0.2, lw=0, label="90 %")
    axes[3].plot(times[~fitted], told.mean()[:, knee], color=blue, label="from the first person")
    axes[3].plot(times, truth[:, knee], color=black, lw=1.0, label="truth")
    axes[3].plot(times[fitted], X[fitted, knee], "o", ms=3, color=black, label="seen")
    axes[3].set(title=f"Second person's knee: {off:.1f} degrees off", xlabel="seconds")
    axes[3].set(ylim=(0, 100))
    axes[3].legend(loc="upper left", ncols=2, fontsize=10)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "hierarchy.png")
