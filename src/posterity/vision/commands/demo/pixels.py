"""Demo of classes: of drawn faces, of the pixels of landscapes, and surfaces of streets."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from posterity import displays, persistence, vision
from posterity.vision.commands import results
from posterity.vision.commands.results import Demonstration, hide_axes

_SIZE = 32
_N_FACES, _N_NEW = 200, 400
_ROWS, _COLUMNS = 3, 10  # of the patches that are shown


def show_faces(folder: Path) -> Demonstration:
    """Learn which drawn faces smile, and classify new ones."""
    rng = np.random.default_rng(3)
    smiles = rng.random(_N_FACES + _N_NEW) < 0.5
    patches = np.stack([draw_face(one, rng) for one in smiles])
    names = np.where(smiles, "smile", "frown")
    model = vision.PatchClassifier(
        (_SIZE, _SIZE), features=vision.Gabor((8, 5, 4)), random_state=0
    ).fit(patches[:_N_FACES], names[:_N_FACES])
    new, truth = patches[_N_FACES:], smiles[_N_FACES:]
    p = model.predict_proba(new)[:, 1]
    share = np.mean((p > 0.5) == truth)
    expected = np.mean(np.maximum(p, 1.0 - p))
    vision.write_image(folder / "face.png", new[0])
    persistence.save(model, folder / "patches.posterity")
    return Demonstration(
        "patches",
        "Classes of patches",
        f"Smooth steps in Gabor features have learned from {_N_FACES} drawn faces which smile.",
        _draw_faces(new, truth, p),
        f"Of {_N_NEW} new faces {100 * share:.1f} % have the right class; {100 * expected:.1f} % "
        "are expected to. Numbers are the probability of a smile, from the surest smile to the "
        "surest frown; red ones are wrong.",
        (
            *("vision", "classify-patches", str(folder / "face.png")),
            *("--model", str(folder / "patches.posterity")),
        ),
    )


def draw_face(smiles: bool, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw a bright oval with two eyes and a bent mouth, lit from one side, under noise."""
    y, x = np.mgrid[-1 : 1 : _SIZE * 1j, -1 : 1 : _SIZE * 1j]
    y, x = y + rng.normal(0.0, 0.05), x + rng.normal(0.0, 0.05)
    patch = np.full((_SIZE, _SIZE), rng.uniform(60.0, 120.0))
    skin, bend = rng.uniform(150.0, 200.0), rng.uniform(0.0, 0.3) * (1.0 if smiles else -1.0)
    patch[(y / 0.95) ** 2 + (x / 0.8) ** 2 < 1.0] = skin
    patch[(y + 0.25) ** 2 / 0.02 + (np.abs(x) - 0.35) ** 2 / 0.03 < 1.0] = skin - 90.0
    mouth = 0.5 + bend * (0.5 - (x / 0.4) ** 2)
    patch[(np.abs(y - mouth) < 0.08) & (np.abs(x) < 0.45)] = skin - 70.0
    patch += rng.uniform(-30.0, 30.0) * x + rng.normal(0.0, 18.0, size=patch.shape)
    return patch.clip(0, 255).astype(np.uint8)


def _draw_faces(
    patches: NDArray[np.uint8], truth: NDArray[np.bool_], p: NDArray[np.float64]
) -> Figure:
    """Draw some patches in the order of their probability, and the reliability of all."""
    chosen = np.argsort(-p)[np.linspace(0, len(p) - 1, _ROWS * _COLUMNS).astype(int)]
    rows = [np.hstack(list(patches[some])) for some in chosen.reshape(_ROWS, _COLUMNS)]
    with results.start_figure(11, 3.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(2.2, 1.0))
        left.imshow(np.vstack(rows), cmap="gray", vmin=0, vmax=255)
        for k, i in enumerate(chosen):
            left.text(
                _SIZE * (k % _COLUMNS) + 1,
                _SIZE * (k // _COLUMNS) + 2,
                f"{p[i]:.2f}",
                color="white" if (p[i] > 0.5) == truth[i] else "tab:red",
                fontsize=7,
                va="top",
                bbox={"color": "black", "alpha": 0.6, "pad": 0.8},
            )
        left.set(title="Probability of a smile", xticks=[], yticks=[])
        displays.ReliabilityDisplay.from_predictions(truth, p, n_bins=8).plot(right)
        right.set_title("Reliability")
    return figure


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
        _draw_labels(data, p, "Classes", opacity=0.8),
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
        _draw_labels(data, p, "Surfaces", max_entropy=1.6),
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


def _draw_labels(
    data: Any, p: Any, title: str, *, opacity: float = 0.6, max_entropy: float | None = None
) -> Figure:
    """Draw images, their labels and their entropy."""
    with results.start_figure(11, 6.6) as figure:
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
