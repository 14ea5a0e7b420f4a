"""A forest of normal leaves: bands as wide as the noise, wider where there are no rows.

On the left of the gap the noise grows, and leaves widen with it. Within the gap trees disagree
about where the function jumps, and that is the larger part of the uncertainty.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import RandomForestRegressor, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
x = np.sort(np.concatenate([rng.uniform(-4.0, -0.5, 250), rng.uniform(1.5, 4.0, 250)]))
noise = 0.05 + 0.12 * (x + 4.0) * (x < -0.5) + 0.05 * (x > 0.0)
y = np.sin(1.3 * x) + 0.3 * x + noise * rng.normal(size=500)
model = RandomForestRegressor(200, min_samples_leaf=10, random_state=0).fit(x[:, None], y)
band = displays.PredictiveBandDisplay.from_estimator(model, x[:, None], margin=0.1, n_grid=500)
told = model.predict_dist(band.x[:, None])
parts = {  # name: standard deviation, line, colour
    "within trees": (told.aleatoric_variance() ** 0.5, "-", "orange"),
    "between trees": (told.epistemic_variance() ** 0.5, "-.", "blue"),
}

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True)
    left.plot(x, y, "o", ms=2, color=displays.COLORS["black"], label="data")
    band.plot(left).set(title="A forest of 200 trees", ylim=(-2.6, 2.8))
    left.legend(loc="upper left", ncols=2)
    grey = displays.COLORS["grey"]
    for part in (x < 0.0, x > 0.0):
        right.plot(x[part], noise[part], "--", color=grey)
    right.plot([], [], "--", color=grey, label="noise, in truth")
    for name, (deviation, line, color) in parts.items():
        right.plot(band.x, deviation, line, lw=1.6, color=displays.COLORS[color], label=name)
    right.set(title="Its deviation, in two parts", xlabel="x", ylim=(0.0, 1.25))
    right.set_ylabel("standard deviation")
    right.legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "forest_regression.png")
