"""Demo of segmenters: the classes of the pixels of drawn landscapes."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from posterity import displays, persistence, vision
from posterity.vision.commands.demo.demonstration import Demonstration

_N_LEARNED, _N_NEW, _N_SHOWN = 24, 6, 3


def show_landscapes(folder: Path) -> Demonstration:
    """Learn the textures of landscapes, and label new ones."""
    data = vision.datasets.landscapes(_N_LEARNED + _N_NEW, (72, 96), random_state=1)
    model = vision.TextonSegmenter(
        40,
        n_colors=12,
        n_gradients=16,
        n_estimators=40,
        max_features=60,
        pixels_per_image=100,
        reach=30,
        cv=2,
        random_state=0,
    ).fit(data.images[:_N_LEARNED], data.labels[:_N_LEARNED], names=dict(enumerate(data.names)))
    images, known = data.images[_N_LEARNED:], data.labels[_N_LEARNED:]
    p = model.predict_proba(images)
    share, expected = np.mean(p.argmax(axis=3) == known), p.max(axis=3).mean()
    vision.write_image(folder / "landscape.png", images[0])
    persistence.save(model, folder / "landscapes.posterity")
    with displays.style():
        figure = Figure(figsize=(11, 6.6), layout="constrained")
        axes = figure.subplots(_N_SHOWN, 3)
        for k, row in enumerate(axes):
            labels = vision.displays.LabelMapDisplay.from_probabilities(
                p[k], data.names, image=images[k]
            )
            row[0].imshow(images[k])
            labels.plot(row[1], opacity=0.8, legend=k == 0)
            labels.plot_entropy(row[2], colorbar=k == 0)
            for ax in row:
                ax.set(xticks=[], yticks=[])
                ax.spines[:].set_visible(False)
        for ax, name in zip(axes[0], ("Image", "Classes", "Entropy"), strict=True):
            ax.set_title(name)
    out = str(folder / "classes.png")
    return Demonstration(
        "segments",
        "Classes of pixels",
        f"Boosted trees that count textons around each pixel have learned from {_N_LEARNED} drawn "
        f"landscapes what is {', '.join(data.names[:-1])} or {data.names[-1]}.",
        figure,
        f"In {_N_NEW} new landscapes {100 * share:.1f} % of the pixels have the right class; "
        f"{100 * expected:.1f} % are expected to. Entropy is bright where the model doubts.",
        (
            *("vision", "segment", str(folder / "landscape.png")),
            *("--model", str(folder / "landscapes.posterity"), "--out", out),
        ),
    )
