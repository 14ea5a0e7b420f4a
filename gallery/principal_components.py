"""Handwritten digits: the spectrum, the evidence for each number of components, and two.  [L]

The evidence drops only the last directions, whose variance is next to none. Two of the others part
some of the digits already.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn import datasets

from posterity import PCA, displays

OUT = Path(__file__).parent / "out"

X, y = datasets.load_digits(return_X_y=True)
model = PCA().fit(X)
spectrum = displays.SpectrumDisplay.from_estimator(model)
with displays.style():
    figure = plt.figure(figsize=(11, 7))
    left, right = figure.subfigures(1, 2, width_ratios=(1, 2))
    axes = left.subplots(3, 1, sharex=True)
    for ax, show in zip(axes, ("values", "share", "evidence"), strict=True):
        spectrum.plot(ax, show=show).set_xlabel("")
    axes[0].set_title(f"{spectrum.n_components} of {X.shape[1]} components")
    axes[2].set_xlabel("components")
    ax = right.subplots()
    displays.LatentMapDisplay.from_estimator(
        model, X, y, image_shape=(8, 8), n_images=45, margin=0.05
    ).plot(ax, legend=False)
    share = 100 * spectrum.share[1]
    ax.set(title=f"The first two: {share:.0f} % of the variance")
    ax.set(xlabel="first component", ylabel="second component")
    right.legend(*ax.get_legend_handles_labels(), loc="outside right upper", markerscale=1.5)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "principal_components.png")
