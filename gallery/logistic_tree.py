"""Branching logistic regression: a gate says how far to trust each of two experts.  [P9 Fig 9.17]

Lines are where an expert, or the sum of both, holds the classes equally probable.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.special import logit

from posterity import LogisticTreeClassifier, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
X = rng.uniform(-3.0, 3.0, size=(240, 2))
boundary = np.where(X[:, 0] < 0.0, 1.2 * X[:, 0] + 1.6, 1.6 - 1.2 * X[:, 0])
y = np.where(X[:, 1] + 0.4 * rng.normal(size=240) > boundary, "above", "below")
model = LogisticTreeClassifier(depth=1, random_state=0).fit(X, y)

surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.05)
queries = np.stack(np.meshgrid(surface.x0, surface.x1), axis=-1).reshape(-1, 2)
experts = queries @ model.expert_coef_.T + model.expert_intercept_
gate = model.gate_proba(queries)[:, 1]
panels = (
    ("Left expert", experts[:, 0], 0.0),
    ("Right expert", experts[:, 1], 0.0),
    ("Gate: trust in the right", gate, 0.5),
    ("Activation", logit(model.predict_proba(queries)[:, 1]), 0.0),
)
blue, orange, black = (displays.COLORS[name] for name in ("blue", "orange", "black"))
with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True)
    drawn = {"origin": "lower", "aspect": "auto"}
    drawn["extent"] = (*surface.x0[[0, -1]], *surface.x1[[0, -1]])
    sides = LinearSegmentedColormap.from_list("sides", [blue, "white", orange])
    for name, color, marker in (("above", blue, "o"), ("below", orange, "s")):
        mark = {"c": color, "marker": marker, "edgecolors": "w", "label": name}
        axes[0, 0].scatter(*X[y == name].T, s=34, linewidths=0.7, **mark)
    axes[0, 0].set_title("Data")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    for ax, (title, values, middle) in zip(axes.flat[1:], panels, strict=False):
        Z = values.reshape(len(surface.x1), -1)
        colors = {"cmap": "Greys", "vmin": 0.0, "vmax": 1.0}
        if middle == 0.0:
            colors = {"cmap": sides, "vmin": -8.0, "vmax": 8.0}
        figure.colorbar(ax.imshow(Z, **drawn, **colors), ax=ax, shrink=0.85)
        ax.contour(surface.x0, surface.x1, Z, [middle], colors=black, linewidths=1.8)
        ax.set_title(title)
    surface.plot(axes[1, 2]).set(title="Probability")
    for ax in axes.flat:
        ax.set(xlabel="x0", ylabel="x1")
        ax.label_outer()
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "logistic_tree.png")
