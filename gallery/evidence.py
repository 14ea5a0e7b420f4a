"""The evidence over length scale and noise: two explanations of the same rows.  [P8 8.30]

The rows were looked for: most sets of so few rows have one clear maximum, and these have two. The
process of each is beside it, in its colour, with its log evidence.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, distributions, kernels

OUT = Path(__file__).parent / "out"
EXPLANATIONS = {  # title: the length scales to search, the colour, the marker
    "Wavy, little noise": ((0.3, 3.0), "blue", "o"),
    "Smooth, much noise": ((4.0, 20.0), "orange", "s"),
}

rng = np.random.default_rng(41)
X = rng.uniform(-5.0, 5.0, size=(7, 1))
y = np.sin(1.2 * X[:, 0]) + 0.1 * rng.normal(size=7)


def log_evidence(length_scale, deviation):
    covariance = kernels.RBF(length_scale)(X) + deviation**2 * np.eye(7)
    return distributions.MultivariateNormal(np.zeros(7), covariance).log_prob(y)


lengths, deviations = np.geomspace(0.3, 20.0, 50), np.geomspace(0.03, 3.0, 50)
surface = np.array([[log_evidence(l, s) for l in lengths] for s in deviations])

with displays.style():
    figure, (left, *others) = plt.subplots(1, 3, figsize=(11, 3.9))
    levels = np.arange(-14.0, -4.5, 0.5)
    filled = left.contourf(lengths, deviations, surface, levels, cmap="Blues", extend="min")
    left.set(
        title="Log evidence of seven rows",
        xlabel="length scale",
        ylabel="deviation of the noise",
        xscale="log",
        yscale="log",
    )
    figure.colorbar(filled, ax=left, ticks=levels[::4], format="%.0f")
    for ax, (title, (limits, color, marker)) in zip(others, EXPLANATIONS.items(), strict=True):
        kernel = kernels.RBF().bounded(length_scale=limits)
        model = GaussianProcessRegressor(kernel, mean="zero", n_restarts=0).fit(X, y)
        place = model.kernel_.length_scale, np.sqrt(model.noise_variance_)
        left.plot(*place, marker, ms=10, mec="white", mew=1.5, color=displays.COLORS[color])
        band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.2)
        band.plot(ax, color=displays.COLORS[color]).set_title(f"{title}: {model.log_evidence_:.1f}")
        ax.set_ylim(-2.6, 3.6)
        ax.legend(loc="upper right", ncols=2, columnspacing=1.0, handlelength=1.4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "evidence.png")
