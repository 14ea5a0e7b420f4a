"""Boosted trees of posterity beside others on 33 tables of real data, untuned.

Each dot is a table, the mean of five folds. Left: the share of held-out numbers within their 90 %
intervals; the band is 0.87 to 0.93. Middle and right: how much log score is lost against the best
contender of the table, for numbers and for classes. The numbers are those of `benchmarks/results`,
where the protocol stands; CatBoost and NGBoost predict the normal distribution that they offer,
LightGBM one with the cross-validated spread of its residuals.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays

OUT = Path(__file__).parent / "out"
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
LOOKS = {
    "posterity BoostedTrees": "blue",
    "posterity RandomForest": "sky",
    "CatBoost": "orange",
    "LightGBM": "green",
    "NGBoost": "pink",
    "scikit-learn HistGradientBoosting": "grey",
}
MOST = 3.0  # nats; what is lost beyond is drawn at the edge


def read_scores(name, key):
    """For each contender, its score on every table; NaN where it has none."""
    tasks = json.loads((RESULTS / f"boosted_trees_{name}.json").read_text())["tasks"]
    scores = {label: np.full(len(tasks), np.nan) for label in LOOKS}
    for place, task in enumerate(tasks):
        for contender, measured in task["summary"].items():
            label = next((one for one in LOOKS if contender.startswith(one)), None)
            if label is not None and key in measured:
                scores[label][place] = measured[key]["mean"]
    return {label: values for label, values in scores.items() if np.any(np.isfinite(values))}


def draw(ax, scores):
    """One line of dots for each contender."""
    shift = np.random.default_rng(0).uniform(-0.2, 0.2, 99)
    for place, values in scores.items():
        line = list(LOOKS)[::-1].index(place)
        dots = {"color": displays.COLORS[LOOKS[place]], "s": 22, "alpha": 0.8}
        ax.scatter(values, line + shift[: len(values)], clip_on=False, **dots)
    ax.set(ylim=(-0.6, len(LOOKS) - 0.4), yticks=range(len(LOOKS)))
    ax.tick_params(axis="y", length=0)


def find_losses(scores, sign):
    """How far each contender is behind the best of each table."""
    best = np.nanmax([sign * values for values in scores.values()], axis=0)
    return {label: np.minimum(best - sign * values, MOST) for label, values in scores.items()}


with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.4), sharey=True)
    draw(axes[0], read_scores("numbers", "coverage_90"))
    axes[0].axvspan(0.87, 0.93, color=displays.COLORS["grey"], alpha=0.2, lw=0)
    axes[0].set(title="16 tables of numbers", xlabel="coverage of 90 % intervals")
    draw(axes[1], find_losses(read_scores("numbers", "log_score"), 1.0))
    axes[1].set(title="16 tables of numbers", xlabel="log score lost, nats a row")
    draw(axes[2], find_losses(read_scores("classes", "log_loss"), -1.0))
    axes[2].set(title="17 tables of classes", xlabel="log loss added, nats a row")
    for ax in axes[1:]:
        ax.set_xscale("symlog", linthresh=0.1, linscale=1.5)
        ax.set_xlim(-0.01, MOST)
        ax.set_xticks([0.0, 0.05, 0.1, 0.3, 1.0, 3.0], ["0", "0.05", "0.1", "0.3", "1", "3"])
    axes[0].set_yticklabels(list(LOOKS)[::-1])
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "tables_beside_others.png")
