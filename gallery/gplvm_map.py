"""Four walks in two dimensions: principal components, a process, and one in time.  [G]

A walk is a circle: one phase that turns. Titles say how far frames are off that come back from two
dimensions. Without time the map loses least, but may tear a circle.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GPLVM, PCA, datasets, displays, kernels

OUT = Path(__file__).parent / "out"

walking = datasets.walks(50)
X, moments = walking.X, {"times": walking.times, "groups": walking.groups}
linear = PCA(n_components=2).fit(X)
curved = GPLVM(2).fit(X)
moving = GPLVM(2, dynamics=kernels.RBF(0.3).fixed()).fit(X, **moments)  # 0.3 seconds
rows = {
    "Principal components": (linear, linear.inverse_transform(linear.transform(X))),
    "GPLVM": (curved, curved.inverse_transform(curved.embedding_)),
    "GPLVM with dynamics": (moving, moving.inverse_transform(moving.embedding_)),
}
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.3))
    for ax, (title, (model, back)) in zip(axes, rows.items(), strict=True):
        seen = displays.LatentMapDisplay.from_estimator(
            model, X if model is linear else None, walking.labels, groups=walking.groups
        )
        off = np.sqrt(np.mean((back - X) ** 2))
        seen.plot(ax, legend=False).set(title=f"{title}: {off:.1f}\N{DEGREE SIGN} off")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=1.8
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "gplvm_map.png")
