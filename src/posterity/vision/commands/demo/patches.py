"""Demo of classes of patches: drawn faces that smile or frown."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from posterity import displays, persistence, vision
from posterity.vision.commands.demo.demonstration import Demonstration

_SIZE = 32
_N_LEARNED, _N_NEW = 200, 400
_ROWS, _COLUMNS = 3, 10  # of the patches that are shown


def show_faces(folder: Path) -> Demonstration:
    """Learn which drawn faces smile, and classify new ones."""
    rng = np.random.default_rng(3)
    smiles = rng.random(_N_LEARNED + _N_NEW) < 0.5
    patches = np.stack([draw_face(one, rng) for one in smiles])
    names = np.where(smiles, "smile", "frown")
    model = vision.PatchClassifier(
        (_SIZE, _SIZE), features=vision.Gabor((8, 5, 4)), random_state=0
    ).fit(patches[:_N_LEARNED], names[:_N_LEARNED])
    new, truth = patches[_N_LEARNED:], smiles[_N_LEARNED:]
    p = model.predict_proba(new)[:, 1]
    share = np.mean((p > 0.5) == truth)
    expected = np.mean(np.maximum(p, 1.0 - p))
    vision.write_image(folder / "face.png", new[0])
    persistence.save(model, folder / "patches.posterity")
    return Demonstration(
        "patches",
        "Classes of patches",
        f"Smooth steps in Gabor features have learned from {_N_LEARNED} drawn faces which smile.",
        _draw_figure(new, truth, p),
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


def _draw_figure(
    patches: NDArray[np.uint8], truth: NDArray[np.bool_], p: NDArray[np.float64]
) -> Figure:
    """Draw some patches in the order of their probability, and the reliability of all."""
    chosen = np.argsort(-p)[np.linspace(0, len(p) - 1, _ROWS * _COLUMNS).astype(int)]
    rows = [np.hstack(list(patches[some])) for some in chosen.reshape(_ROWS, _COLUMNS)]
    with displays.style():
        figure = Figure(figsize=(11, 3.6), layout="constrained")
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
