"""Two rings: a curved component that tells them apart, and rows without their noise.  [G]

On the right, rows that come back from 16 components; thin lines lead to where each was.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets

from posterity import KernelPCA, displays, kernels

OUT = Path(__file__).parent / "out"

X, y = datasets.make_circles(300, noise=0.07, factor=0.4, random_state=0)
ring, radius = np.array(["outer", "inner"])[y], np.array([1.0, 0.4])[y]
model = KernelPCA(16, kernels.RBF(0.25)).fit(X)
clean = model.inverse_transform(model.embedding_)
before, after = (np.sqrt(np.mean((np.hypot(*rows.T) - radius) ** 2)) for rows in (X, clean))
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.0))
    for name, color, marker in (("inner", "blue", "o"), ("outer", "orange", "s")):
        axes[0].plot(*X[ring == name].T, marker, ms=4, color=displays.COLORS[color], label=name)
        axes[2].plot(*clean[ring == name].T, marker, ms=4, color=displays.COLORS[color])
    axes[2].plot(*np.stack([X, clean]).transpose(2, 0, 1), color=displays.COLORS["grey"], lw=0.6)
    curved = displays.LatentMapDisplay.from_estimator(model, y=ring, dimensions=(0, 2))
    curved.plot(axes[1], legend=False).set(title="Two of 16 components")
    axes[1].set(xlabel="first component", ylabel="third component")
    axes[0].set(title=f"Rows: {before:.3f} off their rings")
    axes[2].set(title=f"Cleaned: {after:.3f} off")
    for ax in axes[[0, 2]]:
        ax.set(xlabel="x0", ylabel="x1", aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "kernel_pca.png")
