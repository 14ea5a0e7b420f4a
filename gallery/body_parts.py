"""Parts of the body and joints from depth, of people whom the forest has not seen.  [P9 Fig 9.24]

From left to right: depth, where bright is far; the most probable of 31 parts for each pixel; the
entropy of its distribution, bright at boundaries of parts and at hands before the body;
and joints, with the probability in percent that they are within 10 cm. The people are rendered
from recorded motion of subjects who are not among those that the forest of the package has learned
from. In the first row the right forearm is behind the body, and its elbow has 5 %.
"""

from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import displays, vision
from posterity.vision import bodies

OUT = Path(__file__).parent / "out"
UNSEEN = ("08", "14", "86", "105")  # subjects
CHOSEN = (13, 20, 12)

model = vision.load_packaged("body_parts")
recordings = [one for one in vision.datasets.motions() if one.subject in UNSEEN]
sampler = bodies.FrameSampler(max_turn=50.0, distance=(2.0, 2.6), height=(0.0, 0.2))
frames = list(islice(sampler.draw(recordings, np.random.default_rng(4)), max(CHOSEN) + 1))
names = ("Depth", "Parts", "Entropy", "Joints, probability in %")

with displays.style():
    figure, axes = plt.subplots(len(CHOSEN), 4, figsize=(8.6, 10.5))
    for row, k in zip(axes, CHOSEN, strict=True):
        depth = frames[k].depth
        camera = model.find_camera(depth.shape)
        rows, columns = np.nonzero(depth)
        middle, half = columns.mean(), 64
        centre = 0.5 * (rows.min() + rows.max())
        row[0].imshow(np.ma.masked_equal(depth, 0.0), cmap="gray")
        labels = vision.displays.LabelMapDisplay.from_probabilities(
            model.predict_proba(depth), bodies.PARTS
        )
        labels.plot(row[1], legend=False)
        labels.plot_entropy(row[2], colorbar=False, max_entropy=3.5)
        gray = np.where(depth > 0.0, np.uint8(190), np.uint8(255))
        joints = vision.displays.SkeletonDisplay.from_joints(
            model.find_joints(depth), camera=camera, image=gray
        )
        joints.plot(row[3])
        for ax in row:
            ax.set(xlim=(middle - half, middle + half), xticks=[], yticks=[])
            ax.set_ylim(centre + 108, centre - 108)
            ax.spines[:].set_visible(False)
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name, fontsize=11)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "body_parts.png")
