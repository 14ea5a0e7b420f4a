"""Nonlinear logistic regression: steps along the columns, and units that move.  [P9 Fig 9.11]

Sums of steps along single columns cannot follow a slanted band. Units whose places are learned with
the weights can: green lines are the middles of arc tangents, and one length scale about bumps.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLogisticRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(7)
X = rng.uniform(-3.0, 3.0, size=(200, 2))
across = X @ [0.8, 0.6]  # a band across the corner, and a disk beside it
inside = (np.abs(across - 1.6) < 0.8) | (np.hypot(X[:, 0] + 1.3, X[:, 1] + 1.0) < 1.1)
y = np.where(inside ^ (rng.random(200) < 0.03), "in", "out")

spaces = {
    "Steps along each column": features.Arctan(n_offsets=8),
    "Four arc tangents, learned": features.LearnedArctan(4, n_restarts=8, random_state=0),
    "Six radial units, learned": features.LearnedRadial(6, n_restarts=8, random_state=0),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharex=True, sharey=True)
    for ax, (title, space) in zip(axes, spaces.items(), strict=True):
        model = BayesianLogisticRegression(features=space).fit(X, y)
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.05)
        surface.plot(ax).set(title=title)
        ax.label_outer()
        if isinstance(model.features_, features.LearnedFeatures):
            places = np.stack(np.meshgrid(surface.x0, surface.x1), axis=-1)
            middle = 0.0 if isinstance(space, features.LearnedArctan) else np.exp(-0.5)
            for unit in model.features_.transform(places.reshape(-1, 2)).T:
                Z = unit.reshape(places.shape[:2])
                ax.contour(surface.x0, surface.x1, Z, [middle], colors=displays.COLORS["green"])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "nonlinear_logistic_regression.png")
