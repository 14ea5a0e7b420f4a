"""One data set, three processes: what the length scale and the noise explain.  [G]

The rows are drawn from the process in the middle. The others are told a shorter and a longer length
scale, with the signal and the noise that go with it: the short one goes through every row and knows
nothing between them, the long one calls the function noise. Signal and noise are standard
deviations.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, distributions, kernels

OUT = Path(__file__).parent / "out"
SETTINGS = (  # length scale, standard deviations of signal and noise
    (0.3, 1.08, 0.00005),
    (1.0, 1.0, 0.1),
    (3.0, 1.16, 0.89),
)

rng = np.random.default_rng(5)
X = (np.linspace(-7.0, 7.0, 20) + rng.uniform(-0.3, 0.3, size=20))[:, None]
covariance = kernels.RBF(1.0)(X) + 0.1**2 * np.eye(20)
y = distributions.MultivariateNormal(np.zeros(20), covariance).sample(rng=rng)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.4), sharey=True)
    for ax, (length, signal, noise) in zip(axes, SETTINGS, strict=True):
        kernel = (signal**2 * kernels.RBF(length)).fixed()
        model = GaussianProcessRegressor(kernel, noise**2, mean="zero").fit(X, y)
        band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.05, n_grid=600)
        first = f"Length scale {length:g}, signal {signal:g}"
        second = f"noise {noise:.5f}".rstrip("0") + f": log evidence {model.log_evidence_:.1f}"
        band.plot(ax).set(title=f"{first}\n{second}", ylabel="")
    axes[0].set_ylabel("y")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "length_scale_settings.png")
