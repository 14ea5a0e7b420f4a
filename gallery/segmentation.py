"""Semantic segmentation of drawn scenes, and its entropy.  [P9 Fig 9.22]

From left to right: scenes that the segmenter has not seen, their true labels, the most probable
label of each pixel, and the entropy of its distribution. Colours differ from scene to scene, water
has the colours of sky, and a wall those of soil, so that texture and place must tell them apart.
Entropy is high along boundaries, and where a narrow strip of soil is seen behind grass.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision
from posterity.vision import TextonSegmenter

OUT = Path(__file__).parent / "out"
N_LEARNED, N_SHOWN = 40, 3

data = vision.datasets.landscapes(N_LEARNED + N_SHOWN, random_state=1)
model = TextonSegmenter(
    60,
    n_colors=16,
    n_gradients=32,
    n_estimators=60,
    max_features=80,
    reach=40,
    cv=3,
    random_state=0,
)
model.fit(data.images[:N_LEARNED], data.labels[:N_LEARNED], names=dict(enumerate(data.names)))

with displays.style():
    figure, axes = plt.subplots(N_SHOWN, 4, figsize=(9.2, 6.0), layout="constrained")
    shown = zip(axes, data.images[N_LEARNED:], data.labels[N_LEARNED:], strict=True)
    for row, image, labels in shown:
        found = vision.displays.LabelMapDisplay.from_estimator(model, image)
        right = np.mean(found.labels == labels)
        row[0].imshow(image)
        vision.displays.LabelMapDisplay.from_labels(labels, data.names).plot(row[1], legend=False)
        found.plot(row[2], opacity=1.0, legend=False)
        found.plot_entropy(row[3], colorbar=False)
        row[2].set_xlabel(f"{right:.0%} right")
        for ax in row:
            ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[0], ("Scene", "Truth", "Labels", "Entropy"), strict=True):
        ax.set_title(name, fontsize=11)
    colors = (
        vision.displays.LabelMapDisplay.from_labels(np.arange(5)[None], data.names).paint()[0]
        / 255.0
    )
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors]
    figure.legend(handles, data.names, loc="outside lower center", ncols=5, frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "segmentation.png")
