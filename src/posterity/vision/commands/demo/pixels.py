"""Demo of models of pixels: classes of drawn landscapes, and surfaces of rendered streets."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from posterity import displays, persistence, vision
from posterity.vision.commands.demo.demonstration import Demonstration, hide_axes

_N_LEARNED, _N_SHOWN = 24, 3


def show_landscapes(folder: Path) -> Demonstration:
    """Learn the textures of landscapes, and label new ones."""
    data = vision.datasets.landscapes(_N_LEARNED + 6, (72, 96), random_state=1)
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
    )
    p, right = _label_new(model, data, folder, ("landscape.png", "landscapes.posterity"))
    return Demonstration(
        "segments",
        "Classes of pixels",
        f"Boosted trees that count textons around each pixel have learned from {_N_LEARNED} drawn "
        f"landscapes what is {', '.join(data.names[:-1])} or {data.names[-1]}.",
        _draw(data, p, "Classes", opacity=0.8),
        f"In {len(p)} new landscapes {right} of the pixels have the right class; "
        f"{100 * p.max(axis=3).mean():.1f} % are expected to. Entropy is bright where the model "
        "doubts.",
        (
            *("vision", "segment", str(folder / "landscape.png")),
            *("--model", str(folder / "landscapes.posterity")),
            *("--out", str(folder / "classes.png")),
        ),
    )


def show_streets(folder: Path) -> Demonstration:
    """Learn the surfaces of streets, and label new ones."""
    data = vision.datasets.streets(_N_LEARNED + 12, (96, 128), random_state=1)
    model = vision.SurfaceLayout(
        [("felzenszwalb", 50), ("felzenszwalb", 150), ("slic", 80)],
        n_estimators=40,
        max_size=128,
        random_state=0,
    )
    p, right = _label_new(model, data, folder, ("street.png", "surfaces.posterity"))
    return Demonstration(
        "surfaces",
        "Surfaces of scenes",
        f"Boosted trees have learned from {_N_LEARNED} rendered streets which segments of an image "
        "are ground, wall or sky.",
        _draw(data, p, "Surfaces", max_entropy=1.6),
        f"In {len(p)} new streets {right} of the pixels have the right surface; "
        f"{100 * p.max(axis=3).mean():.1f} % are expected to. Entropy is bright where the model "
        "doubts.",
        (
            *("vision", "surfaces", str(folder / "street.png")),
            *("--model", str(folder / "surfaces.posterity")),
            *("--out", str(folder / "labels.png")),
        ),
    )


def _label_new(model: Any, data: Any, folder: Path, names: tuple[str, str]) -> tuple[Any, str]:
    """Learn from the first images, label the others, and leave one and the model to try."""
    known = dict(enumerate(data.names))
    model.fit(data.images[:_N_LEARNED], data.labels[:_N_LEARNED], names=known)
    new, labels = data.images[_N_LEARNED:], data.labels[_N_LEARNED:]
    p = model.predict_proba(new)
    vision.write_image(folder / names[0], new[0])
    persistence.save(model, folder / names[1])
    return p, f"{100 * np.mean(p.argmax(axis=3) == labels):.1f} %"


def _draw(
    data: Any, p: Any, title: str, *, opacity: float = 0.6, max_entropy: float | None = None
) -> Figure:
    """Draw images, their labels and their entropy."""
    with displays.style():
        figure = Figure(figsize=(11, 6.6), layout="constrained")
        axes = figure.subplots(_N_SHOWN, 3)
        for k, row in enumerate(axes):
            image = data.images[_N_LEARNED + k]
            labels = vision.displays.LabelMapDisplay.from_probabilities(
                p[k], data.names, image=image
            )
            row[0].imshow(image)
            labels.plot(row[1], opacity=opacity, legend=k == 0)
            labels.plot_entropy(row[2], colorbar=k == 0, max_entropy=max_entropy)
        hide_axes(axes.flat)
        for ax, name in zip(axes[0], ("Image", title, "Entropy"), strict=True):
            ax.set_title(name)
    return figure
