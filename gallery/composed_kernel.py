"""A trend, a season and weather: a sum of kernels fitted at once, then taken apart.  [GPML 5.4.3]

The season goes on as it was. The rise does not: it is a parabola, which the kernel of the trend
does not know, and the months ahead are right or wrong together: over four seeds the band held from
about half of them, the one shown, to all. A forecast is as good as its kernel.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, displays
from posterity.kernels import RBF, Periodic, RationalQuadratic, Scaled

OUT = Path(__file__).parent / "out"
KNOWN = 180  # months that are fitted, of 300


def series(rng, months):
    """A rise that grows, a season that sharpens, weather that lasts, and errors of measurement."""
    t = np.arange(months) / 12.0
    rise = 20.0 + t + 0.015 * t**2
    season = (2.0 + 0.06 * t) * (np.sin(2.0 * np.pi * t) + 0.4 * np.sin(4.0 * np.pi * t + 1.0))
    weather = np.convolve(rng.normal(size=months + 11), np.ones(12), "valid") * 0.12
    return t[:, None], rise + season + weather + 0.2 * rng.normal(size=months)


X, y = series(np.random.default_rng(0), 300)
trend = Scaled(RBF(20.0), 400.0)
season = Scaled(RBF(50.0) * Periodic(1.0, length_scale=1.0).fixed("period"), 4.0)
weather = Scaled(RationalQuadratic(1.0, shape=1.0), 0.2)
# One kernel, not an average over many, has parts that can be drawn.
model = GaussianProcessRegressor(
    trend + season + weather, n_restarts=0, hyperparameters="maximise"
).fit(X[:KNOWN], y[:KNOWN])
sum_of_two, weather = model.kernel_.left, model.kernel_.right
parts = {"Trend": sum_of_two.left, "Season": sum_of_two.right, "Weather": weather}
lower, upper = model.predict_interval(X[KNOWN:])
held = 100 * np.mean((lower <= y[KNOWN:]) & (y[KNOWN:] <= upper))
band = displays.PredictiveBandDisplay.from_estimator(
    model, X, coverage=(0.9,), margin=0.0, n_grid=1000
)

with displays.style():
    layout = [["all", "Trend"], ["all", "Season"], ["all", "Weather"]]
    figure, axes = plt.subplot_mosaic(layout, figsize=(11, 5.6), width_ratios=(2, 1), sharex=True)
    title = f"Ten years ahead: the 90 % band holds {held:.0f} %"
    band.plot(axes["all"]).set(title=title, xlabel="year")
    orange, black = displays.COLORS["orange"], displays.COLORS["black"]
    axes["all"].plot(X[:KNOWN], y[:KNOWN], "o", ms=2.5, color=black, label="months fitted")
    axes["all"].plot(X[KNOWN:], y[KNOWN:], "x", ms=4, color=orange, label="months held out")
    axes["all"].legend(loc="upper left")
    # The mean of a sum is a sum of means, one for each kernel, with the same dual weights.
    weights = model.posterior_.a[:, 0]
    for name, kernel in parts.items():
        mean = kernel(band.x[:, None], model.X_train_) @ weights
        axes[name].plot(band.x, mean, lw=1.4, color=displays.COLORS["blue"])
        axes[name].set(title=name, ylabel="y")
        axes[name].axvspan(X[KNOWN, 0], X[-1, 0], color="0.93", lw=0)
    axes["Weather"].set_xlabel("year")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "composed_kernel.png")
