"""One tree, one fern, a forest; and of what a forest is unsure: the rows, or its trees.

Tests in any direction follow the arms better than tests of one column. Entropy within trees is
where classes overlap; entropy between them is where rows are few.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import (
    RandomFernClassifier,
    RandomForestClassifier,
    RandomTreeClassifier,
    displays,
    trees,
)

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
y = np.repeat(["a", "b", "c"], 150)
angle = rng.uniform(0.0, 3.4, size=450) + np.repeat([0.0, 2.0, 4.0], 150) * np.pi / 3.0
radius = 0.5 + 0.75 * (angle - np.repeat([0.0, 2.0, 4.0], 150) * np.pi / 3.0)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
X += 0.25 * rng.normal(size=(450, 2))
forest = RandomForestClassifier(200, min_samples_leaf=8, random_state=0).fit(X, y)
oblique = RandomForestClassifier(
    200, splits=trees.Projections(), min_samples_leaf=8, random_state=0
)
models = {
    "One tree": RandomTreeClassifier(random_state=0).fit(X, y),
    "One fern": RandomFernClassifier(1, 7, max_features=2, bootstrap=False).fit(X, y),
    "A forest of 200 trees": forest,
    "... of tests in any direction": oblique.fit(X, y),
}
with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes.flat, models.items(), strict=False):
        surface = displays.DecisionSurfaceDisplay.from_estimator(model, X, y, margin=0.3)
        surface.plot(ax, sure=()).set(title=title)
        ax.label_outer()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    queries = np.stack(np.meshgrid(surface.x0, surface.x1), axis=-1).reshape(-1, 2)
    told = models["... of tests in any direction"].predict_dist(queries)
    parts = {
        "Entropy within its trees": told.aleatoric_entropy(),
        "Entropy between its trees": told.epistemic_entropy(),
    }
    extent = (*surface.x0[[0, -1]], *surface.x1[[0, -1]])
    most = max(part.max() for part in parts.values())
    for ax, (title, nats) in zip(axes[1, 1:], parts.items(), strict=True):
        drawn = {"origin": "lower", "extent": extent, "aspect": "auto", "cmap": "cividis"}
        image = ax.imshow(nats.reshape(len(surface.x1), -1), vmin=0.0, vmax=most, **drawn)
        ax.plot(*X.T, ".", ms=3, color="white", alpha=0.7)
        ax.set(title=title, xlabel="x0")
    beside = {"location": "right", "shrink": 0.42, "anchor": (0.0, 0.0)}
    figure.colorbar(image, ax=axes[:, 2], label="nats", **beside)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "random_forest.png")
