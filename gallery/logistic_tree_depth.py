"""A logistic tree of two levels: the gates, and which leaf is trusted where.  [P9 Fig 9.18]

A row comes in at the root, and each gate shares it between its two branches. Lines are where a gate
trusts both alike; left of gate 0 it is gate 1 that shares rows out, right of it gate 2.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from posterity import LogisticTreeClassifier, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(600, 2))
wave = 2.2 * np.abs(np.abs(X[:, 0]) - 1.5) - 1.6  # a zigzag of four straight pieces
y = np.where(X[:, 1] + 0.2 * rng.normal(size=600) > wave, "above", "below")
model = LogisticTreeClassifier(depth=2, random_state=0).fit(X, y)
surface = displays.DecisionSurfaceDisplay.from_estimator(model, X[:250], y[:250], margin=0.02)
queries = np.stack(np.meshgrid(surface.x0, surface.x1), axis=-1).reshape(-1, 2)
trust = model.gate_proba(queries)
leaves = [displays.COLORS[name] for name in ("sky", "amber", "green", "pink")]
extent = (*surface.x0[[0, -1]], *surface.x1[[0, -1]])

with displays.style():
    figure, axes = plt.subplot_mosaic("TSP", figsize=(11, 4.2))
    places = {0: (0.5, 0.9), 1: (0.26, 0.55), 2: (0.74, 0.55)}
    places |= {3 + k: (0.14 + 0.24 * k, 0.15) for k in range(4)}
    box = {"boxstyle": "round,pad=0.45", "ec": displays.COLORS["black"]}
    for node, place in places.items():
        if node:
            axes["T"].plot(*zip(places[(node - 1) // 2], place, strict=True), color="0.3", zorder=0)
        name = f"gate {node}" if node < 3 else f"leaf {node - 3}"
        box["fc"] = "white" if node < 3 else leaves[node - 3]
        axes["T"].text(*place, name, ha="center", va="center", bbox=box)
    axes["T"].set(title="The tree", xlim=(0, 1), ylim=(0, 1))
    axes["T"].set_axis_off()
    mixed = trust @ np.array([to_rgb(color) for color in leaves])
    axes["S"].imshow(mixed.reshape(150, 150, 3), origin="lower", extent=extent, aspect="auto")
    for node, line in enumerate(("-", "--", ":")):
        a = (queries @ model.gate_coef_[node] + model.gate_intercept_[node]).reshape(150, 150)
        look = {"colors": displays.COLORS["black"], "linestyles": line, "linewidths": 1.8}
        axes["S"].contour(surface.x0, surface.x1, a, [0.0], **look)
        axes["S"].plot([], [], line, color=displays.COLORS["black"], label=f"gate {node}")
    axes["S"].set(title="Which leaf is trusted", xlabel="x0", ylabel="x1")
    surface.plot(axes["P"]).set(title="Probability")
    (gates, g_names), (rows, r_names) = (axes[k].get_legend_handles_labels() for k in "SP")
    figure.legend(gates + rows, g_names + r_names, loc="outside lower center", ncols=5)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "logistic_tree_depth.png")
