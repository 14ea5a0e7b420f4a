"""Relevance vectors are overconfident far from the data; a column at the query fixes it.  [RQ]

Far from all vectors every kernel function is zero, and so is the uncertainty of its weight. One
more function, centred wherever a prediction is asked for, brings the uncertainty back.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import RelevanceVectorRegressor, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(3)
X = np.sort(np.concatenate([rng.uniform(-6.0, -2.0, 30), rng.uniform(2.0, 6.0, 30)]))[:, None]
y = np.sin(1.3 * X[:, 0]) + 0.1 * rng.normal(size=60)
with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True, sharey=True)
    for ax, query_column in zip(axes, (False, True), strict=True):
        model = RelevanceVectorRegressor(kernels.RBF(0.8).fixed(), query_column=query_column)
        display = displays.PredictiveBandDisplay.from_estimator(model.fit(X, y), X, y, margin=0.5)
        display.plot(ax).set(title=f"query_column={query_column}", ylabel="")
    axes[0].set_ylabel("y")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, columnspacing=1.4)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "query_column.png")
