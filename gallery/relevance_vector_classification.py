"""Forty points, of which a few carry the classifier.  [P9 Fig 9.14]

On the left each point has a weight; on the right only those with a ring, which part the classes
nearly as well.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import KernelLogisticRegression, RelevanceVectorClassifier, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(9)
angle = rng.uniform(0.0, np.pi, size=40)
arcs = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, -1.0], 20)[:, None]
X = 2.0 * arcs + np.repeat([[-0.9, -0.5], [0.9, 0.5]], 20, axis=0) + 0.4 * rng.normal(size=(40, 2))
y = np.repeat(["upper", "lower"], 20)
kernel = kernels.RBF(1.2).fixed()
sparse = RelevanceVectorClassifier(kernel).fit(X, y)
models = {
    "A weight for each of 40 points": KernelLogisticRegression(kernel).fit(X, y),
    f"Relevance vectors: {len(sparse.relevance_)} of 40 points": sparse,
}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.2)
        surface.plot(ax).set(title=title)
        ax.label_outer()
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "relevance_vector_classification.png")
