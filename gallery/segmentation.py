"""Classes of the pixels of drawn scenes, and where there is doubt.  [P9 Fig 9.22]

From left to right: scenes that the segmenter has not seen, their true labels, the most probable
label of each pixel, and the entropy of its distribution. Colours differ from scene to scene, water
has the colours of sky, and a wall those of soil, so that texture and place must tell them apart.
Doubt is along borders, and where a narrow strip of soil is seen behind grass.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

from posterity import displays
from posterity.vision import TextonSegmenter

OUT = Path(__file__).parent / "out"
NAMES = ("sky", "wall", "grass", "water", "soil")
HEIGHT, WIDTH = 96, 128
rng = np.random.default_rng(1)


def draw_scene():
    """A scene of five textures, and its labels."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    labels = np.zeros((HEIGHT, WIDTH), dtype=int)
    horizon = rng.uniform(35, 55) + 4.0 * np.sin(x / rng.uniform(12, 25) + rng.uniform(0, 6))
    below = y > horizon
    labels[below] = rng.choice([2, 4])
    shore = WIDTH * rng.uniform(0.3, 0.7) + 0.4 * (y - 70) * rng.normal()
    labels[below & ((x > shore) == (rng.random() < 0.5)) & (y > horizon + 6)] = rng.choice(
        [2, 3, 4]
    )
    left, top = rng.integers(5, 85), rng.integers(8, 30)
    wall = (x > left) & (x < left + rng.integers(25, 45)) & (y > top) & (y < horizon + 8)
    labels[wall] = 1
    fine, coarse = rng.normal(size=(2, HEIGHT, WIDTH))
    clouds = 60.0 * ndimage.gaussian_filter(coarse, 9.0)
    joints = ((y % 8) < 1.5) | (((x + 8 * (y // 8 % 2)) % 16) < 1.5)
    waves = np.sin(y / 1.3 + 6.0 * ndimage.gaussian_filter(coarse, 6.0))
    blades = ndimage.gaussian_filter(fine, (2.0, 0.6))
    clods = ndimage.gaussian_filter(fine, 1.6)
    light = np.choose(
        labels, [20 * clouds / 10, -45.0 * joints, 110 * blades, 22 * waves, 130 * clods]
    )
    colors = np.array(
        [[140, 175, 215], [165, 110, 85], [80, 135, 60], [130, 160, 195], [150, 115, 85]]
    )
    tint = colors + rng.normal(scale=12.0, size=(5, 3))
    pixels = tint[labels] + light[..., None] + rng.normal(scale=4.0, size=(HEIGHT, WIDTH, 1))
    return np.clip(pixels * rng.uniform(0.8, 1.15), 0, 255).astype(np.uint8), labels


scenes = [draw_scene() for _ in range(43)]
train, test = scenes[:40], scenes[40:]
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
model.fit(*zip(*train, strict=True), names=dict(enumerate(NAMES)))

with displays.style():
    figure, axes = plt.subplots(len(test), 4, figsize=(9.2, 6.0), layout="constrained")
    for row, (image, labels) in zip(axes, test, strict=True):
        found = displays.LabelMapDisplay.from_estimator(model, image)
        right = np.mean(found.labels == labels)
        row[0].imshow(image)
        displays.LabelMapDisplay.from_labels(labels, NAMES).plot(row[1], legend=False)
        found.plot(row[2], opacity=1.0, legend=False)
        found.plot_entropy(row[3], colorbar=False)
        row[2].set_xlabel(f"{right:.0%} right")
        for ax in row:
            ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[0], ("Scene", "Truth", "Labels", "Entropy"), strict=True):
        ax.set_title(name, fontsize=11)
    colors = displays.LabelMapDisplay.from_labels(np.arange(5)[None], NAMES).paint()[0] / 255.0
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors]
    figure.legend(handles, NAMES, loc="outside lower center", ncols=5, frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "segmentation.png")
