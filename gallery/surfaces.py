"""Surfaces of streets that the model has not seen, by one kind of cue and by all.  [P9 Fig 9.23]

From left to right: the image with its straight lines and the estimated horizon; labels by place
alone, by colour and texture alone, and by lines alone; labels by all features; and the entropy of
each pixel, bright where the answer is uncertain: at boundaries, and at the far end of the street.
Green is support, orange is vertical, blue is sky. The share of right pixels is above each picture.
The streets are rendered; eight others were learned from.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision
from posterity.vision import SurfaceLayout, segments
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.segments import planes

OUT = Path(__file__).parent / "out"
COLORS = np.array([[0, 158, 115], [213, 94, 0], [0, 114, 178]], dtype=np.uint8)
KINDS = (("felzenszwalb", 60), ("felzenszwalb", 200), ("slic", 60))
CUES = {
    "place": ("place",),
    "colour, texture": ("colour", "texture"),
    "lines": ("lines",),
    "all": tuple(segments.CUES),
}
SIZE, N_SEEN, CHOSEN = 160, 8, (20, 23, 26)

data = vision.datasets.streets(28)
pictures = LabelledPictures.check(data.images[:N_SEEN], data.labels[:N_SEEN], -1)
found = segments.describe_pictures(pictures, KINDS, SIZE)
unseen = [segments.describe_image(data.images[k], KINDS, SIZE) for k in CHOSEN]
answers = {}
for name, cues in CUES.items():
    columns = np.concatenate(
        [np.arange(len(segments.FEATURE_NAMES))[segments.CUES[c]] for c in cues]
    )
    model = SurfaceLayout(n_estimators=60, max_features=None, random_state=0)
    model.fit_segments(found.take_features(columns), data.names)
    answers[name] = [model.merge_segments(image.take_features(columns)) for image in unseen]

with displays.style():
    figure, axes = plt.subplots(len(CHOSEN), 6, figsize=(11.0, 4.6))
    for i, (row, k) in enumerate(zip(axes, CHOSEN, strict=True)):
        light = planes.compute_planes(data.images[k])
        row[0].imshow(data.images[k])
        seen: planes.Lines = light.lines
        for (y, x), angle, length in zip(seen.centre, seen.angle, seen.length, strict=True):
            dy, dx = 0.5 * length * np.sin(angle), 0.5 * length * np.cos(angle)
            row[0].plot(
                [x - dx, x + dx], [y - dy, y + dy], color=displays.COLORS["amber"], linewidth=0.8
            )
        row[0].axhline(
            seen.horizon * data.images.shape[1], color=displays.COLORS["pink"], linewidth=1.0
        )
        for ax, (name, p) in zip(row[1:5], answers.items(), strict=True):
            drawn = vision.displays.LabelMapDisplay.from_probabilities(
                p[i], data.names, image=data.images[k], colors=COLORS
            )
            drawn.plot(ax, legend=False, opacity=0.55)
            right = np.mean(p[i].argmax(axis=-1) == data.labels[k])
            title = f"{name}\n" if i == 0 else ""
            ax.set_title(f"{title}{right:.0%}", fontsize=10)
        drawn.plot_entropy(row[5], colorbar=False)
        row[0].set(xlim=(0, 159), ylim=(119, 0), xticks=[], yticks=[])
        for ax in row:
            ax.spines[:].set_visible(False)
    axes[0, 0].set_title("image, lines\nand horizon", fontsize=10)
    axes[0, 5].set_title("entropy\nby all", fontsize=10)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "surfaces.png")
