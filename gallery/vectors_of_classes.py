"""Three classes by the softmax: vectors that all classes share, and vectors for each.

Rings are vectors; on the right each has the colours of the classes that use it. Far fewer weights
do nearly the same.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import RelevanceVectorClassifier, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(5)
turn = np.tile(np.arange(3), 40)
radius = rng.uniform(0.3, 3.0, size=120)
angle = 2.1 * turn + 0.7 * radius + 0.6 * rng.normal(size=120)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.array(["first arm", "second", "third"])[turn]
kernel = kernels.RBF(1.5).fixed()
shared, own = (
    RelevanceVectorClassifier(kernel, vectors=vectors).fit(X, y)
    for vectors in ("shared", "per_class")
)
colors = [displays.COLORS[name] for name in ("blue", "orange", "green")]

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True, sharey=True)
    surface = displays.DecisionSurfaceDisplay.from_estimator
    surface(shared, X, y, n_grid=100).plot(axes[0])
    surface(own, X, y, n_grid=100, vectors=False).plot(axes[1])
    for c, color in enumerate(colors):
        used = own.relevance_vectors_[np.isfinite(own.precision_[:, c])]
        axes[1].scatter(*used.T, s=130 + 110 * c, facecolors="none", edgecolors=color, linewidths=2)
    n_shared, n_pairs = len(shared.relevance_), np.isfinite(own.precision_).sum()
    axes[0].set_title(f"Shared: {n_shared} vectors, {3 * n_shared} weights")
    axes[1].set_title(f"For each class: {len(own.relevance_)} vectors, {n_pairs} weights")
    for ax in axes:
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "vectors_of_classes.png")
