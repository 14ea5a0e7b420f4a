"""Digits that were not fitted, from fewer and more principal components.  [L]"""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn import datasets

from posterity import PCA, displays

OUT = Path(__file__).parent / "out"

X, y = datasets.load_digits(return_X_y=True)
X_train, X_new = X[:1500], X[1500:]
model = PCA(n_components=48).fit(X_train)
with displays.style():
    figure, ax = plt.subplots(figsize=(9, 4.6))
    strips = displays.ReconstructionDisplay.from_estimator(
        model, X_new[:12], n_components=(0, 2, 6, 12, 24, 48), image_shape=(8, 8)
    )
    strips.plot(ax)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "reconstructions.png", bbox_inches="tight")
