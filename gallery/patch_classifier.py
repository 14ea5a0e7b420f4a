"""Drawn faces that smile or frown: features, units and probabilities.  [P9 Fig 9.19]

Above: even Gabor filters of four lengths and four directions, as a patch sees them at its middle;
and the log loss of held-out patches after each unit, which falls while units are added.
Below: held-out patches from the surest smile to the surest frown, with the probability of a smile,
in red if the more probable class is wrong; and how often patches of some probability smile.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from posterity import displays, vision

OUT = Path(__file__).parent / "out"
SIZE = 40

rng = np.random.default_rng(0)


def face(smiles):
    """A bright oval with two eyes and a bent mouth, lit from one side, under noise."""
    y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    y, x = y + rng.normal(0.0, 0.06), x + rng.normal(0.0, 0.06)
    patch = np.full((SIZE, SIZE), rng.uniform(60.0, 120.0))
    skin, bend = rng.uniform(150.0, 200.0), rng.uniform(0.0, 0.22) * (1 if smiles else -1)
    patch[(y / 0.95) ** 2 + (x / 0.8) ** 2 < 1.0] = skin
    patch[(y + 0.25) ** 2 / 0.02 + (np.abs(x) - 0.35) ** 2 / 0.03 < 1.0] = skin - 90.0
    mouth = 0.5 + bend * (0.5 - (x / 0.4) ** 2)
    patch[(np.abs(y - mouth) < 0.07) & (np.abs(x) < 0.45)] = skin - 70.0
    patch += rng.uniform(-30.0, 30.0) * x + rng.normal(0.0, 30.0, size=patch.shape)
    return patch.clip(0, 255).astype(np.uint8)


labels = rng.random(900) < 0.5
patches = np.stack([face(smiles) for smiles in labels])
gabor = vision.Gabor((10, 8, 5, 4))
model = vision.PatchClassifier((SIZE, SIZE), features=gabor, random_state=0)
model.fit(patches[:400], labels[:400])
new, truth = patches[400:], labels[400:]
p = model.predict_proba(new)[:, 1]

with displays.style():
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.0), constrained_layout=True)
    bank = np.zeros((4 * SIZE, 4 * SIZE))
    for i, grid in enumerate(gabor.grids):
        single = vision.Gabor((grid,)).fit(new[:1])
        even = single.build_filters()[0].reshape(SIZE, SIZE, 4, grid, grid)
        for k in range(4):
            one = even[:, :, k, grid // 2, grid // 2]
            bank[SIZE * i : SIZE * (i + 1), SIZE * k : SIZE * (k + 1)] = one / np.abs(one).max()
    axes[0, 0].imshow(bank, cmap="gray")
    axes[0, 0].set(title="even filters", xticks=[], yticks=[])

    columns = model.features_.transform(new)
    losses = [log_loss(truth, q) for q in model.classifier_.staged_predict_proba(columns)]
    axes[0, 1].plot(np.arange(1, len(losses) + 1), losses)
    axes[0, 1].set(title="held-out patches", xlabel="units", ylabel="log loss", ylim=(0.0, None))

    chosen = np.argsort(-p)[np.linspace(0, len(p) - 1, 15).astype(int)]
    rows = [np.hstack(list(new[some])) for some in chosen.reshape(3, 5)]
    axes[1, 0].imshow(np.vstack(rows), cmap="gray", vmin=0, vmax=255)
    for k, i in enumerate(chosen):
        color = "white" if (p[i] > 0.5) == truth[i] else "#d55e00"
        place = SIZE * (k % 5) + 2, SIZE * (k // 5) + 3
        axes[1, 0].text(
            *place,
            f"{p[i]:.2f}",
            color=color,
            fontsize=9,
            va="top",
            bbox={"color": "black", "alpha": 0.6, "pad": 0.8},
        )
    axes[1, 0].set(title="probability of a smile", xticks=[], yticks=[])

    displays.ReliabilityDisplay.from_predictions(truth, p, n_bins=8).plot(axes[1, 1])
    axes[1, 1].set_title("reliability")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "patch_classifier.png")
