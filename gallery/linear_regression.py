"""Linear regression: a normal whose mean moves along a line.  [P8 Fig 8.2]"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import LinearRegression, datasets, displays

OUT = Path(__file__).parent / "out"

data = datasets.line(40)
model = LinearRegression(predictive="plug_in").fit(data.X, data.y)
queries = np.array([[0.5], [2.0], [3.5]])
names = ("blue", "orange", "green")

with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    y = np.linspace(-1.0, 11.0, 400)
    for name, query in zip(names, queries, strict=True):
        density = model.predict_dist(query[None]).pdf(y)
        left.plot(y, density, color=displays.COLORS[name], label=f"x = {query[0]:g}")
    left.set(title="The prediction at three inputs", xlabel="y", ylabel="density", ylim=(0.0, 0.9))
    left.legend(loc="upper left", ncols=3)
    displays.PredictiveBandDisplay.from_estimator(model, data.X, data.y).plot(right)
    colors = [displays.COLORS[name] for name in names]
    right.vlines(queries[:, 0], *model.predict_interval(queries), colors=colors, lw=4)
    right.set_title("One line, one variance")
    right.legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "linear_regression.png")
