"""A line with outliers: normal noise follows them, Student's t does not.  [P8 Prob 8.2]

Five rows of fifty were moved. Under normal noise they tilt the line and widen its band everywhere;
under Student-t noise they are unlikely rows, and nothing more.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, RobustRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
X = rng.uniform(0.0, 10.0, size=(50, 1))
y = 2.0 + 0.8 * X[:, 0] + 0.4 * rng.normal(size=50)
struck = np.argsort(X[:, 0])[[-2, -4, -5, -9, 3]]
y[struck] -= [9.0, 11.0, 8.0, 10.0, -6.0]

models = {"Normal noise": BayesianLinearRegression(), "Student-t noise": RobustRegression()}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        band = displays.PredictiveBandDisplay.from_estimator(model.fit(X, y), X, y)
        band.plot(ax).set(title=f"{title}: log evidence {model.log_evidence_:.1f}", ylabel="")
        truth = 2.0 + 0.8 * band.x
        ax.plot(band.x, truth, "--", color=displays.COLORS["orange"], label="truth")
    axes[0].set_ylabel("y")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "robust_regression.png")
