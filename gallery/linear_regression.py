"""Linear regression: a normal whose mean moves along a line.  [P8 Fig 8.2]

A normal describes the target at each input. All of them are as wide as one another, and their
means lie on a line.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import LinearRegression, datasets, displays

OUT = Path(__file__).parent / "out"

data = datasets.line(40)
model = LinearRegression(predictive="plug_in").fit(data.X, data.y)
queries = {"orange": 0.5, "green": 2.0, "pink": 3.5}
y = np.linspace(-1.0, 11.0, 600)

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
    displays.PredictiveBandDisplay.from_estimator(model, data.X, data.y).plot(right)
    for name, x in queries.items():
        color, density = displays.COLORS[name], model.predict_dist([[x]]).pdf(y)
        left.plot(y, density, color=color)
        left.text(y[density.argmax()], density.max() + 0.01, f"x = {x:g}", ha="center", va="bottom")
        seen = density > 0.01
        right.plot(x + 0.8 * density[seen], y[seen], color=color)
        right.plot([x, x], y[seen][[0, -1]], color=color, lw=1.0)
    left.set(title="Normals at three inputs", xlabel="y", ylabel="density", ylim=(0.0, 0.85))
    right.set_title("The same three, along the line")
    right.legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "linear_regression.png")
