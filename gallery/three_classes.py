"""Three classes by the softmax: an activation each, and their shares of one.  [P9 Fig 9.19]

Above, one input: linear activations, of which only the differences count, and the probabilities.
Below, two inputs: linear, cubic, and processes as activations.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import (
    BayesianLogisticRegression,
    GaussianProcessClassifier,
    LogisticRegression,
    displays,
    features,
    kernels,
)

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(5)
turn = np.tile(np.arange(3), 40)
radius = rng.uniform(0.3, 3.0, size=120)
angle = 2.1 * turn + 0.7 * radius + 0.4 * rng.normal(size=120)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.array(["first", "second", "third"])[turn]
x = 2.5 * (turn - 1)[:, None] + rng.normal(size=(120, 1))
line = LogisticRegression().fit(x, y)
models = {
    "Linear": BayesianLogisticRegression(),
    "Cubic": BayesianLogisticRegression(features=features.Polynomial(3)),
    "Gaussian processes": GaussianProcessClassifier(kernels.Scaled(kernels.RBF())),
}
with displays.style():
    figure, axes = plt.subplot_mosaic("AAASSS;LLCCGG", figsize=(11, 7.4))
    shares = displays.ProbabilityDisplay.from_estimator(line, x, y)
    for w, b, dashes in zip(line.coef_[:, 0], line.intercept_, ("-", "--", "-."), strict=True):
        axes["A"].plot(shares.x, b + w * shares.x, dashes)
    axes["A"].set(title="One activation for each class", xlabel="x", ylabel="activation")
    axes["A"].set_xlim(shares.x[0], shares.x[-1])
    shares.plot(axes["S"]).set_title("Their softmax")
    for key, (title, model) in zip("LCG", models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model.fit(X, y), X, y, n_grid=80)
        surface.plot(axes[key]).set_title(title)
    curves, rows = (axes[key].get_legend_handles_labels() for key in "SL")
    handles = list(zip(curves[0], rows[0], strict=True))
    figure.legend(handles, rows[1], loc="outside lower center", ncols=3, handlelength=3.0)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "three_classes.png")
