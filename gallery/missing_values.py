"""Values that are missing by chance, and values whose absence tells something.

A column with missing values has two tests, in which these are the largest or the smallest;
scikit-learn learns a side for them at each split. Filling in the mean does well where gaps are by
chance, and loses what they tell where they are not.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets, ensemble
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from posterity import RandomForestClassifier, displays

OUT = Path(__file__).parent / "out"

X, y = datasets.load_breast_cancer(return_X_y=True)
ours = RandomForestClassifier(40, random_state=0)
theirs = ensemble.RandomForestClassifier(40, random_state=0)
models = {
    "two tests": (ours, "blue", "o-"),
    "filled with the mean": (make_pipeline(SimpleImputer(), ours), "orange", "s--"),
    "scikit-learn: a side for NaN": (theirs, "green", "^:"),
}
shares = np.array([0.0, 0.25, 0.5, 0.75])
chance = np.random.default_rng(0).random(X.shape)
ranks = X.argsort(axis=0).argsort(axis=0) / len(X)
holes = {"Missing by chance": chance, "Missing where small": 0.5 * chance + 0.5 * ranks}
split = StratifiedKFold(2, shuffle=True, random_state=0)


def brier(model, rows):
    p = cross_val_predict(model, rows, y, cv=split, method="predict_proba")[:, 1]
    return np.mean((p - y) ** 2)


with displays.style():
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True, sharey=True)
    for ax, (title, order) in zip(axes, holes.items(), strict=True):
        cut = np.quantile(order, shares, axis=0)
        tables = [np.where(order < at, np.nan, X) for at in cut]
        for name, (model, color, line) in models.items():
            scores = [brier(model, table) for table in tables]
            ax.plot(shares, scores, line, color=displays.COLORS[color], label=name)
        ax.set(title=title, xlabel="share of values that are missing", ylim=(0.0, None))
    axes[0].set_ylabel("Brier score of rows not seen")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "missing_values.png")
