"""One data set, three processes: what the length scale and the noise explain.  [P8 Fig 8.9]

The data are drawn from the first process. Each of the others is told another length scale, and has
the signal and the noise that go with it.  [G]
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, distributions, kernels

OUT = Path(__file__).parent / "out"
SETTINGS = {  # length scale, standard deviations of signal and noise
    "Length scale 1, as drawn": (1.0, 1.0, 0.1),
    "Length scale 0.3": (0.3, 1.08, 0.00005),
    "Length scale 3": (3.0, 1.16, 0.89),
}

rng = np.random.default_rng(5)
X = (np.linspace(-7.0, 7.0, 20) + rng.uniform(-0.3, 0.3, size=20))[:, None]
covariance = kernels.RBF(1.0)(X) + 0.1**2 * np.eye(20)
y = distributions.MultivariateNormal(np.zeros(20), covariance).sample(rng=rng)

with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), sharey=True)
    for ax, (title, (length, signal, noise)) in zip(axes, SETTINGS.items(), strict=True):
        kernel = (signal**2 * kernels.RBF(length)).fixed()
        model = GaussianProcessRegressor(kernel, noise**2, mean="zero").fit(X, y)
        band = displays.PredictiveBandDisplay.from_estimator(model, X, y, margin=0.05, n_grid=600)
        evidence = f"log evidence {model.log_evidence_:.1f}"
        band.plot(ax).set(title=f"{title}: {evidence}", ylabel="", ylim=(-3.2, 3.2))
    axes[0].set_ylabel("y")
    axes[0].legend(loc="upper right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "length_scales.png")
