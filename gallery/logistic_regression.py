"""Logistic regression: the sigmoid of a linear function, of one input and of two.  [P9 Fig 9.3]

Across the plane the probability is a sigmoid too; along the other direction it does not change.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(3)
x = rng.uniform(0.0, 10.0, size=(80, 1))
seen = np.where(rng.random(80) < expit(1.5 * (x[:, 0] - 5.5)), "present", "absent")
line = LogisticRegression().fit(x, seen)

X = rng.normal(size=(120, 2)) @ [[1.4, 0.6], [0.0, 1.0]]
y = np.where(rng.random(120) < expit(2.0 * X[:, 0] - 2.5 * X[:, 1] + 0.5), "present", "absent")
plane = LogisticRegression().fit(X, y)

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4))
    displays.ProbabilityDisplay.from_estimator(line, x, seen).plot(left)
    even = -line.intercept_[0] / line.coef_[0, 0]
    left.plot([even, even], [0.0, 0.5], ":", color=displays.COLORS["grey"])
    left.set(title="One input")
    displays.DecisionSurfaceDisplay.from_estimator(plane, X, y).plot(right)
    right.set_title("Two: even odds, and 90 %")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "logistic_regression.png")
