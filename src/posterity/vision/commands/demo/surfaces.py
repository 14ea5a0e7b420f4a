"""Demo of surface layouts: ground, walls and sky of rendered streets."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from posterity import displays, persistence, vision
from posterity.vision.commands.demo.demonstration import Demonstration

_N_LEARNED, _N_NEW, _N_SHOWN = 24, 12, 3


def show_streets(folder: Path) -> Demonstration:
    """Learn the surfaces of streets, and label new ones."""
    data = vision.datasets.streets(_N_LEARNED + _N_NEW, (96, 128), random_state=1)
    model = vision.SurfaceLayout(
        [("felzenszwalb", 50), ("felzenszwalb", 150), ("slic", 80)],
        n_estimators=40,
        max_size=128,
        random_state=0,
    ).fit(data.images[:_N_LEARNED], data.labels[:_N_LEARNED], names=dict(enumerate(data.names)))
    images, known = data.images[_N_LEARNED:], data.labels[_N_LEARNED:]
    p = model.predict_proba(images)
    share, expected = np.mean(p.argmax(axis=3) == known), p.max(axis=3).mean()
    vision.write_image(folder / "street.png", images[0])
    persistence.save(model, folder / "surfaces.posterity")
    with displays.style():
        figure = Figure(figsize=(11, 6.6), layout="constrained")
        axes = figure.subplots(_N_SHOWN, 3)
        for k, row in enumerate(axes):
            labels = vision.displays.LabelMapDisplay.from_probabilities(
                p[k], data.names, image=images[k]
            )
            row[0].imshow(images[k])
            labels.plot(row[1], legend=k == 0)
            labels.plot_entropy(row[2], max_entropy=1.6, colorbar=k == 0)
            for ax in row:
                ax.set(xticks=[], yticks=[])
                ax.spines[:].set_visible(False)
        for ax, name in zip(axes[0], ("Image", "Surfaces", "Entropy"), strict=True):
            ax.set_title(name)
    return Demonstration(
        "surfaces",
        "Surfaces of scenes",
        f"Boosted trees have learned from {_N_LEARNED} rendered streets which segments of an image "
        "are ground, wall or sky.",
        figure,
        f"In {_N_NEW} new streets {100 * share:.1f} % of the pixels have the right surface; "
        f"{100 * expected:.1f} % are expected to. Entropy is bright where the model doubts.",
        (
            *("vision", "surfaces", str(folder / "street.png")),
            *("--model", str(folder / "surfaces.posterity"), "--out", str(folder / "labels.png")),
        ),
    )
