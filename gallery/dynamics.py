"""A walk with a gap of a quarter of a second: frames on their own, and a process in time.  [G]

On their own, hidden frames lie in the middle and say nothing. In time, the path goes on through the
gap, and so do the joints.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GPLVM, datasets, displays, kernels

OUT = Path(__file__).parent / "out"

noisy, clean = (datasets.walks(75, noise_variance=v) for v in (9.0, 0.0))
walk, knee, hidden = noisy.groups == 1, 2, slice(39, 47)
X, truth, times = noisy.X[walk], clean.X[walk], noisy.times[walk]
seen = X.copy()
seen[hidden] = np.nan
fits = {
    "Frames on their own": GPLVM(2).fit(seen),
    "Frames in time": GPLVM(2, dynamics=kernels.RBF()).fit(seen, times=times),
}
gaps = np.isnan(seen)
with displays.style():
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.4), height_ratios=(3, 2))
    for (above, below), (title, model) in zip(axes.T, fits.items(), strict=True):
        Z, gap = model.embedding_, np.where(np.isnan(seen[:, 0]), "hidden", "seen")
        shown = displays.LatentMapDisplay.from_estimator(model, y=gap, groups=np.zeros(len(X)))
        shown.plot(above, legend=above is axes[0, 0])
        about, filled = model.inverse_transform_dist(Z), model.complete(seen)
        mean = np.where(gaps, filled.mean(), about.mean())
        off = np.sqrt(np.mean((mean - truth)[hidden] ** 2))
        above.set(title=f"{title}: {off:.1f} degrees off")
        pairs = zip(filled.interval(0.9), about.interval(0.9), strict=True)
        low, high = (np.where(gaps, in_gap, else_)[:, knee] for in_gap, else_ in pairs)
        blue, black = displays.COLORS["blue"], displays.COLORS["black"]
        below.fill_between(times, low, high, color=blue, alpha=0.2, lw=0, label="90 % interval")
        below.plot(times, mean[:, knee], color=blue, label="mean")
        below.plot(times, truth[:, knee], color=black, lw=1.0, label="truth")
        below.plot(times, seen[:, knee], "o", ms=3, color=black, label="seen")
        below.set(xlabel="seconds", ylabel="left knee, degrees", ylim=(-5, 105))
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "dynamics.png")
