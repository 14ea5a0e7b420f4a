"""A few rows by maximum likelihood and Bayesian: who has seen little says less.  [P9 Fig 9.9]

Thin lines are drawn from the posterior. Averaged, they keep the probabilities moderate, the more so
the farther from the rows: even odds lie on a line, the dashed contours of 90 % are curved.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLogisticRegression, LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 2)) + np.repeat([[-1.0, -0.6], [1.0, 0.6]], 12, axis=0)
y = np.repeat(["left", "right"], 12)
few = slice(2, None, 4)  # three rows of each class, and their second input
x = X[few, 1:]
models = {"Maximum likelihood": LogisticRegression, "Bayesian": BayesianLogisticRegression}
black, grey = displays.COLORS["black"], displays.COLORS["grey"]

with displays.style():
    figure, (line, *planes) = plt.subplots(1, 3, figsize=(11, 4.2))
    along_x1 = displays.ProbabilityDisplay.from_estimator
    plug_in = along_x1(LogisticRegression().fit(x, y[few]), x, margin=0.8)
    fan = {"n_functions": 12, "random_state": 1}
    average = along_x1(BayesianLogisticRegression().fit(x, y[few]), x, y[few], margin=0.8, **fan)
    average.plot(line).set(title="One input, six rows", xlabel="x1")
    line.plot(plug_in.x, plug_in.probabilities[:, 1], "--", color=black, label="maximum likelihood")
    for ax, (title, make) in zip(planes, models.items(), strict=True):
        model = make().fit(X, y)
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.8)
        surface.plot(ax).set_title(title)
    coef, intercept = model.sample_weights(12, random_state=1)
    for w, b in zip(coef[:, 0], intercept[:, 0], strict=True):
        along = np.array(planes[1].get_ylim())
        planes[1].plot(-(b + w[1] * along) / w[0], along, color=grey, lw=0.7)
    figure.legend(*line.get_legend_handles_labels(), loc="outside lower left", ncols=4)
    figure.legend(*planes[0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_logistic_regression.png")
