"""Classes along one input, by the weighted sum of seven arc tangents.  [P9 Fig 9.10]

Each arc tangent is a soft step. Weighted and added they make an activation that rises and falls,
and its sigmoid is the probability.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import BayesianLogisticRegression, displays, features

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(0.0, 10.0, size=160))[:, None]
in_two_places = (X[:, 0] < 2.0) | ((X[:, 0] > 4.5) & (X[:, 0] < 8.0))
truth = np.where(in_two_places, 0.92, 0.06)
y = (rng.random(160) < truth).astype(int)
model = BayesianLogisticRegression(features=features.Arctan(n_offsets=7)).fit(X, y)

display = displays.ProbabilityDisplay.from_estimator(model, X, y, margin=0.02)
queries = display.x[:, None]
steps, latent = model.features_.transform(queries), model.predict_latent(queries)
with displays.style():
    figure, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(9, 7), sharex=True)
    first.plot(queries, steps)
    first.set(title="Seven arc tangents of x", ylabel="value")
    second.plot(queries, steps * model.coef_[0])
    second.set(title="Each times its weight", ylabel="share of the activation")
    lower, upper = latent.interval(0.9)
    blue, grey = displays.COLORS["blue"], displays.COLORS["grey"]
    third.fill_between(display.x, lower, upper, color=blue, alpha=0.18, lw=0)
    third.plot(queries, latent.mean(), color=blue)
    third.axhline(0.0, color=grey, lw=1.0)
    third.set(title="Their sum, and its 90 % interval", xlabel="x", ylabel="activation")
    display.plot(fourth).set(title="The sigmoid of the sum", ylabel="probability of class 1")
    fourth.plot(X, truth, "--", color=displays.COLORS["orange"], lw=1.4, label="truth")
    fourth.set_ylim(-0.06, 1.35)
    fourth.legend(loc="upper center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "arctan_classification.png")
