"""Averages of trees are too cautious; what is out of the bag says by how much.

Handwritten digits, a third of them to learn from: how often the most probable class of the others
was right, beside the probability that it had.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets, ensemble
from sklearn.model_selection import train_test_split

from posterity import RandomForestClassifier, displays

OUT = Path(__file__).parent / "out"

X, y = datasets.load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=600, random_state=0)
models = {
    "posterity, sharpness 1": RandomForestClassifier(100, sharpness=1.0, random_state=0),
    "posterity, sharpness learned": RandomForestClassifier(100, random_state=0),
    "scikit-learn, forest": ensemble.RandomForestClassifier(100, random_state=0),
    "scikit-learn, boosting": ensemble.HistGradientBoostingClassifier(random_state=0),
}
with displays.style():
    figure, axes = plt.subplots(1, 4, figsize=(16, 4.9), sharex=True, sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        P = model.fit(X_train, y_train).predict_proba(X_new)
        own = np.maximum(P[np.arange(len(y_new)), y_new], 1e-15)
        reliable = displays.ReliabilityDisplay.from_estimator(model, X_new, y_new, n_bins=15)
        reliable.plot(ax).set(title=f"{title}:\nlog score {np.log(own).mean():.3f}", aspect="equal")
        ax.set(xlabel="probability of the best class", ylabel="")
    axes[0].set_ylabel("share that was right")
    axes[0].legend(loc="lower right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "forest_reliability.png")
