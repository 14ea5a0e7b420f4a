"""Fuel consumption of cars, explained in three ways.

Boosted trees of 235 cars, explained on 157 others. Left: how much the log score of these falls when
a column is shuffled, with 95 % intervals. Middle: the mean prediction when all cars have one
weight, in a band of twice the average standard deviation of the mean, and the 90 % intervals of
single cars, averaged. Right: what the weight of each car adds to its prediction; its Shapley value.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from vega_datasets import data

from posterity import BoostedTreesRegressor, comparison, displays, tables

OUT = Path(__file__).parent / "out"
TARGET, WEIGHT = "Miles_per_Gallon", "Weight_in_lbs"
COLUMNS = ["Cylinders", "Displacement", "Horsepower", WEIGHT, "Acceleration", "Built"]

cars = pd.read_json(data.cars.filepath).dropna()
cars["Built"] = pd.to_datetime(cars["Year"]).dt.year - 1970
cars = cars[[*COLUMNS, TARGET]].astype(float)
known, new = train_test_split(cars, test_size=0.4, random_state=0)
model = BoostedTreesRegressor(random_state=0).fit(known[COLUMNS], known[TARGET])
table = tables.TableModel(BoostedTreesRegressor(random_state=0), tables.infer(known, TARGET))
found = comparison.importance(table.fit(known), new)[::-1]
values, base = model.shap_values(new[COLUMNS])

weights = np.linspace(*new[WEIGHT].quantile([0.01, 0.99]), 60)
moved = [new[COLUMNS].assign(**{WEIGHT: weight}) for weight in weights]
means = [model.predict_latent(rows) for rows in moved]
effect = np.array([mean.mean().mean() for mean in means])
band = 2.0 * np.array([mean.standard_deviation().mean() for mean in means])
cars_at = np.array([np.mean(model.predict_interval(rows, coverage=0.9), axis=1) for rows in moved])

with displays.style():
    blue, sky, grey = (displays.COLORS[name] for name in ("blue", "sky", "grey"))
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11.4, 3.9))
    drops = [one.drop for one in found]
    reach = [[one.drop - one.low, one.high - one.drop] for one in found]
    left.errorbar(drops, range(len(found)), xerr=np.transpose(reach), fmt="o", color=blue)
    left.axvline(0.0, color=grey, lw=1.0)
    left.set_yticks(range(len(found)), [one.name for one in found])
    left.set(title="Importance", xlabel="decrease of the log score, in nats")
    middle.fill_between(weights, *cars_at.T, color=sky, alpha=0.3, lw=0, label="single cars, 90 %")
    middle.fill_between(weights, effect - band, effect + band, color=blue, alpha=0.5, lw=0)
    middle.plot(weights, effect, color=blue, label="mean")
    middle.set(title="Partial dependence", xlabel=WEIGHT, ylabel="miles per gallon")
    middle.set_ylim(15.0, 36.0)
    middle.legend(loc="upper right")
    shown = right.scatter(
        new[WEIGHT], values[:, COLUMNS.index(WEIGHT)], c=new["Built"] + 1970, s=16, cmap="viridis"
    )
    right.axhline(0.0, color=grey, lw=1.0)
    right.set(title="Shapley values of the weight", xlabel=WEIGHT, ylabel="miles per gallon")
    figure.colorbar(shown, ax=right, label="built in")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "explained_cars.png")
