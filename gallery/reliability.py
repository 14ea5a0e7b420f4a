"""Does a probability of 0.9 come true nine times in ten?

Forty sets of eight columns and a hundred rows each, and the predictions for new rows.
Maximum likelihood is too sure at both ends; probabilities averaged over the posterior come true as
stated.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from posterity import BayesianLogisticRegression, LogisticRegression, displays

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(0)


def draw(w, n):
    X = rng.normal(size=(n, len(w)))
    return X, rng.random(n) < expit(X @ w)


sets = [(draw(w, 100), draw(w, 250)) for w in rng.normal(size=(40, 8)) * 0.8]
happened = np.concatenate([y_new for _, (_, y_new) in sets])
models = {"Maximum likelihood": LogisticRegression(), "Bayesian": BayesianLogisticRegression()}

with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.9), sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        told = [model.fit(*rows).predict_proba(X_new)[:, 1] for rows, (X_new, _) in sets]
        p = np.concatenate(told)
        log_score = np.mean(np.log(np.where(happened, p, 1.0 - p)))
        reliable = displays.ReliabilityDisplay.from_predictions(happened, p, n_bins=12)
        reliable.plot(ax).set_title(f"{title}: log score {log_score:.3f}")
        ax.set(xlabel="probability of the second class", aspect="equal")
    axes[1].set_ylabel("")
    axes[0].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "reliability.png")
