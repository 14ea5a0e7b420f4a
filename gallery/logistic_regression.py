"""Logistic regression: the sigmoid of a linear function, of one input and of two.  [P9 Fig 9.3]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import LogisticRegression, displays

OUT = Path(__file__).parent / "out"
TWO_CLASSES = (("absent", "blue", 0.0), ("present", "orange", 1.0))

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0.0, 10.0, size=80))
seen = np.where(rng.random(80) < expit(1.5 * (x - 5.5)), "present", "absent")
line = LogisticRegression().fit(x[:, None], seen)

X = rng.normal(size=(120, 2)) @ [[1.4, 0.6], [0.0, 1.0]]
y = np.where(rng.random(120) < expit(2.0 * X[:, 0] - 2.5 * X[:, 1] + 0.5), "present", "absent")
plane = LogisticRegression().fit(X, y)

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    queries = np.linspace(-0.5, 10.5, 300)
    left.plot(queries, line.predict_proba(queries[:, None])[:, 1], color=displays.COLORS["black"])
    for name, color, height in TWO_CLASSES:
        rows = x[seen == name]
        style = {"color": displays.COLORS[color], "ms": 5, "alpha": 0.6, "label": name}
        left.plot(rows, np.full(len(rows), height), "o", **style)
    even = -line.intercept_[0] / line.coef_[0, 0]
    left.plot([even, even], [0.0, 0.5], ":", color=displays.COLORS["grey"])
    left.set(title="One input", xlabel="x", ylabel="probability of presence")
    left.legend(loc="center right")
    surface = displays.DecisionSurfaceDisplay.from_estimator(plane, X, y)
    surface.plot(right).set_title("Two: even odds, and 90 % either way")
    right.legend(loc="upper left", ncols=2, frameon=True)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "logistic_regression.png")
