"""A forest of normal leaves: bands as wide as the noise, and doubt where there are no rows."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import RandomForestRegressor, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
x = np.sort(np.concatenate([rng.uniform(-4.0, -0.5, 250), rng.uniform(1.5, 4.0, 250)]))
noise = 0.05 + 0.12 * (x + 4.0) * (x < -0.5) + 0.05 * (x > 0.0)
y = np.sin(1.3 * x) + 0.3 * x + noise * rng.normal(size=500)
model = RandomForestRegressor(200, min_leaf=10, random_state=0).fit(x[:, None], y)

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.8), sharex=True)
    band = displays.PredictiveBandDisplay.from_estimator(model, x[:, None], margin=0.1, n_grid=500)
    band.plot(axes[0]).set_title("A forest of 200 trees")
    axes[0].plot(x, y, ".", ms=4, color=displays.COLORS["black"], alpha=0.6, label="data")
    axes[0].legend(loc="upper left")
    told = model.predict_dist(band.x[:, None])
    within, between = told.aleatoric_variance() ** 0.5, told.epistemic_variance() ** 0.5
    grey = displays.COLORS["grey"]
    for part in (x < 0.0, x > 0.0):
        axes[1].plot(x[part], noise[part], "--", color=grey, lw=1.6)
    axes[1].plot([], [], "--", color=grey, lw=1.6, label="noise, in truth")
    axes[1].plot(band.x, within, color=displays.COLORS["orange"], label="within trees")
    axes[1].plot(band.x, between, color=displays.COLORS["blue"], label="between trees")
    axes[1].set(title="Its standard deviation, in two parts", xlabel="x", ylim=(0.0, None))
    axes[1].legend(loc="upper right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "forest_regression.png")
