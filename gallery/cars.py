"""Fuel consumption of 80 cars that the model has not seen, with their 90 % intervals.

The example of the README: 318 other cars with text, dates and missing values, and the model that
the comparison chose. Intervals are sorted by their middle; orange points lie outside.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from vega_datasets import data

import posterity
from posterity import displays

OUT = Path(__file__).parent / "out"
TARGET = "Miles_per_Gallon"
MODELS = ["linear", "process", "forest", "boosted-trees"]

cars = pd.read_json(data.cars.filepath).dropna(subset=TARGET)
new = cars.sample(80, random_state=1)
best = posterity.compare(cars.drop(new.index), TARGET, models=MODELS).best
low, high = best.predict_interval(new, coverage=0.9)
order = np.argsort(low + high)
y = new[TARGET].to_numpy()
inside = (low <= y) & (y <= high)

with displays.style():
    figure, ax = plt.subplots(figsize=(8.0, 3.6))
    at = np.arange(len(order))
    bars = {"color": displays.COLORS["sky"], "lw": 4, "label": "90 % interval"}
    ax.vlines(at, low[order], high[order], **bars)
    for part, color, label in ((inside, "blue", "inside"), (~inside, "orange", "outside")):
        shown = part[order]
        dots = {"color": displays.COLORS[color], "s": 16, "zorder": 3}
        ax.scatter(at[shown], y[order][shown], label=f"observed, {label}", **dots)
    ax.set(xlabel="80 new cars", xticks=[], ylabel="miles per gallon")
    ax.set_title(f"{100 * inside.mean():.0f} % of new cars lie within their 90 % interval")
    ax.legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "cars.png")
