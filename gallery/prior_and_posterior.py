"""A Gaussian process: functions before any data, and those that are left after some.  [G]

Thin lines are draws. Values without noise tie every function to them; noisy ones leave each some
room, and the band of new values is wider by the noise.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays, kernels

OUT = Path(__file__).parent / "out"

kernel = kernels.RBF(1.0).fixed()
X = np.array([[-4.0], [-3.0], [-1.0], [0.0], [2.0]])
y = np.array([-1.8, -0.4, 1.1, 0.6, -0.9])
ends = np.array([[-5.0], [5.0]])
before = displays.PredictiveBandDisplay.from_kernel(
    kernel, ends, coverage=(0.5, 0.9), n_functions=5, random_state=2
)


def after(noise_variance):
    model = GaussianProcessRegressor(kernel, noise_variance, mean="zero").fit(X, y)
    return displays.PredictiveBandDisplay.from_estimator(
        model, X, y, n_functions=5, random_state=2, margin=0.5
    )


with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True)
    before.plot(axes[0]).set_title("Before any data")
    after(0.0).plot(axes[1]).set_title("Five values without noise")
    after(0.1).plot(axes[2]).set_title("Five values, noise variance 0.1")
    for ax in axes:
        ax.set(xlim=(-5.0, 5.0), ylim=(-3.0, 3.0), ylabel="")
    axes[0].set_ylabel("y")
    handles = axes[2].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "prior_and_posterior.png")
