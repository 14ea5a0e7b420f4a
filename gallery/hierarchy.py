"""Two people who walk in step: a space for each, one above both, and one from the other.  [G]

Two seconds of both are fitted. After that only the first person is seen, and tells where the
second one's knee is.
"""

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
    figure, axes = plt.subplot_mosaic("ABC;KKK", figsize=(11, 7))
    for ax, (title, Z) in zip((axes[key] for key in "ABC"), spaces.items(), strict=True):
        ax.plot(*Z.T, "o-", ms=4, lw=1.0, color=blue)
        ax.set(title=f"Space of {'the ' * (title != 'both')}{title}", xlabel="latent 0")
        ax.set_ylabel("latent 1")
    ax, new = axes["K"], times[~fitted]
    low, high = (ends[:, knee] for ends in told.interval(0.9))
    ax.fill_between(new, low, high, color=blue, alpha=0.2, lw=0, label="90 % interval")
    ax.plot(new, told.mean()[:, knee], color=blue, label="from the first person")
    ax.plot(times, truth[:, knee], color=black, lw=1.0, label="truth")
    ax.plot(times[fitted], X[fitted, knee], "o", ms=4, color=black, label="seen")
    ax.set(title=f"The second person's left knee: {off:.1f} degrees off", ylim=(0, 110))
    ax.set(xlabel="seconds", ylabel="degrees")
    ax.legend(loc="upper center", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "hierarchy.png")
