"""Logistic regression in three steps: a line, its sigmoid, and a coin for each input.  [P9 Fig 9.2]

The activation is linear in the input and may take any value. The sigmoid brings it between zero and
one, and that is the probability of the second class at this input.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(3)
X = rng.uniform(0.0, 10.0, size=(80, 1))
y = (rng.random(80) < expit(1.1 * (X[:, 0] - 5.0))).astype(int)
model = LogisticRegression().fit(X, y)


def activation(rows):
    return model.intercept_[0] + rows @ model.coef_[0]


def probability(rows):
    return model.predict_proba(rows)[:, 1]


queries = np.linspace(0.0, 10.0, 200)[:, None]
three = np.array([[3.0], [5.5], [8.0]])
marks = list(zip(("blue", "orange", "green"), "os^", strict=True))
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
    panels = (
        ("Activation: a line", activation(queries), activation(three), "activation"),
        ("Its sigmoid", probability(queries), probability(three), "probability"),
    )
    for ax, (title, curve, at, name) in zip(axes, panels, strict=False):
        ax.plot(queries, curve, color=displays.COLORS["black"])
        for x, value, (color, marker) in zip(three[:, 0], at, marks, strict=True):
            ax.plot(x, value, marker, ms=9, color=displays.COLORS[color])
        ax.set(title=title, xlabel="x", ylabel=name)
    for k, (x, p, (color, _)) in enumerate(zip(three[:, 0], panels[1][2], marks, strict=True)):
        bars = {"width": 0.25, "color": displays.COLORS[color], "label": f"x = {x:g}"}
        axes[2].bar(np.array([0.0, 1.0]) + 0.27 * (k - 1), [1.0 - p, p], **bars)
    axes[2].set(title="Bernoulli at three inputs", xlabel="class", ylabel="probability")
    axes[2].set(xticks=[0, 1], ylim=(0.0, 1.3), yticks=[0.0, 0.5, 1.0])
    axes[2].legend(loc="upper center", ncols=3, handlelength=0.8, columnspacing=1.0)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "sigmoid.png")
