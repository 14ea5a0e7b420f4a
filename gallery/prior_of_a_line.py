"""The distribution of a line: before any row, after two, and after many.  [P8 Fig 8.4]

Above, intercept and slope together: the region shrinks about the truth, a cross, and tilts, since a
steeper line through the same rows starts lower. Below, lines drawn from it.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLinearRegression, displays

OUT = Path(__file__).parent / "out"
TRUTH = np.array([-0.4, 0.8])  # offset and slope

rng = np.random.default_rng(7)
X = np.column_stack([np.ones(24), rng.uniform(0.2, 3.0, size=24)])
y = X @ TRUTH + 0.5 * rng.normal(size=24)
# Both weights have the same prior, so the offset is the weight of a column of ones.
textbook = BayesianLinearRegression(
    prior_variance=1.0, noise_variance=0.25, fit_intercept=False, standardize=False
)
ends = np.array([[1.0, -1.0], [1.0, 4.0]])

with displays.style():
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex="row", sharey="row")
    for (above, below), n in zip(axes.T, (0, 2, 24), strict=True):
        belief = displays.PosteriorDisplay.from_estimator(
            textbook.fit(X[: max(n, 2)], y[: max(n, 2)]),
            (0, 1),
            prior=n == 0,
            n_draws=12,
            random_state=1,
        )
        belief.plot(above).set(title=f"{n} rows" if n else "No row: the prior", ylabel="")
        above.plot(*TRUTH, "x", ms=10, mew=2.5, color=displays.COLORS["orange"], label="truth")
        above.set(xlabel="intercept", aspect="equal")
        below.plot(ends[:, 1], ends @ belief.draws.T, lw=1.0, color=displays.COLORS["blue"])
        below.plot(X[:n, 1], y[:n], "o", ms=5, color=displays.COLORS["black"])
        below.set(xlabel="x", xlim=(-1.0, 4.0), ylim=(-5.0, 5.0), xticks=range(4))
    axes[0, 0].set_ylabel("slope")
    axes[1, 0].set_ylabel("y")
    axes[0, 2].legend(loc="lower left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "prior_of_a_line.png")
