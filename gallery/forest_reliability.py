"""Averages of trees are too cautious; what is out of the bag says by how much.

Handwritten digits, a third of them to learn from: how often the most probable class of the others
was right, beside the probability that it had. Above the diagonal is too cautious, below it too
sure. Titles end with the mean log score, in nats.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets, ensemble
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from posterity import RandomForestClassifier, displays

OUT = Path(__file__).parent / "out"

X, y = datasets.load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=600, random_state=0)
models = {
    "Average of trees": RandomForestClassifier(100, sharpness=1.0, random_state=0),
    "Sharpness learned": RandomForestClassifier(100, random_state=0),
    "scikit-learn's forest": ensemble.RandomForestClassifier(100, random_state=0),
    "scikit-learn's boosting": ensemble.HistGradientBoostingClassifier(random_state=0),
}
one_thread = threadpool_limits(1)  # on so few rows, the threads of boosting wait for each other
with displays.style(), one_thread:
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
        P = model.fit(X_train, y_train).predict_proba(X_new)
        own = np.maximum(P[np.arange(len(y_new)), y_new], 1e-15)
        reliable = displays.ReliabilityDisplay.from_estimator(model, X_new, y_new, n_bins=15)
        reliable.plot(ax).set(title=f"{title}: {np.log(own).mean():.3f}")
        ax.set(xlabel="probability of the best class", ylabel="share that was right")
        ax.label_outer()
    names = axes[0, 0].get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "forest_reliability.png")
