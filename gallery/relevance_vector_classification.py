"""Forty points, of which a few carry the classifier: rings.  [P9 Fig 9.14]

Beside it the same kernel with a weight for each point.
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
    "Kernel logistic regression: 40 points": KernelLogisticRegression(kernel).fit(X, y),
    f"Relevance vectors: {len(sparse.relevance_)} of 40 points": sparse,
}
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.2)
        surface.plot(ax).set(title=title, xlabel="", ylabel="")
    axes[1].legend(loc="upper right", frameon=True)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "relevance_vector_classification.png")
