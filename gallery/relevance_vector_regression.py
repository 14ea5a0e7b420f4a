"""Regression on a few kernel functions, centred at rings, each with its weight.  [P8 Fig 8.13]

A Gaussian process needs every row to predict. Relevance vectors are the few rows whose kernel
functions are enough, and give nearly the same band.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, RelevanceVectorRegressor, displays, kernels

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(6)
X = np.sort(rng.uniform(-4.0, 4.0, size=50))[:, None]
y = np.sin(1.6 * X[:, 0]) + 0.35 * X[:, 0] + 0.25 * rng.normal(size=50)
sparse = RelevanceVectorRegressor(kernels.RBF(0.7).fixed(), fit_intercept=False).fit(X, y)
process = GaussianProcessRegressor(kernels.Scaled(kernels.RBF()), mean="zero").fit(X, y)
x = np.linspace(-4.4, 4.4, 300)[:, None]
parts = sparse.kernel_(x, sparse.relevance_vectors_) * sparse.dual_coef_

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), sharex=True, sharey=True)
    band = displays.PredictiveBandDisplay.from_estimator
    band(process, X, y, margin=0.05).plot(axes[0]).set_title("Gaussian process: all 50 points")
    grey = displays.COLORS["grey"]
    axes[1].plot(x, parts, color=grey, lw=1.2)
    band(sparse, X, y, margin=0.05).plot(axes[1])
    axes[1].set(title=f"Relevance vectors: {len(sparse.relevance_)} of 50 points", ylabel="")
    axes[1].plot([], [], color=grey, lw=1.2, label="weighted kernel functions")
    handles = axes[1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "relevance_vector_regression.png")
