"""The length scale of the largest evidence: neither too smooth nor disjointed.  [P8 Fig 8.9]

Nothing but the length scale differs between the three processes. One that is too long cannot bend
as the rows do; one that is too short forgets each row before it reaches the next.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from posterity import GaussianProcessRegressor, datasets, displays, kernels

OUT = Path(__file__).parent / "out"
NAME = "kernel__kernel__length_scale"

data = datasets.sinc(40, noise_variance=0.01)
model = GaussianProcessRegressor((0.3 * kernels.RBF(1.0)).fixed(), 0.01, mean="zero")
curve = displays.EvidenceDisplay.from_estimator(
    model, data.X, data.y, param_name=NAME, param_range=np.geomspace(0.1, 10.0, 61)
)
shown = {  # title: length scale, colour, marker
    "Too long": (5.0, "green", "s"),
    "Too short": (0.2, "pink", "^"),
    "Largest evidence": (curve.best, "orange", "D"),
}

with displays.style():
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.4))
    curve.plot(axes[0, 0]).set(title="Evidence of the length scale", ylim=(-80, 25))
    axes[0, 0].legend(loc="lower left")
    for ax, (title, (length, color, marker)) in zip(axes.flat[1:], shown.items(), strict=True):
        model.set_params(**{NAME: length}).fit(data.X, data.y)
        ink = displays.COLORS[color]
        axes[0, 0].plot(length, model.log_evidence_, marker, ms=9, color=ink)
        band = displays.PredictiveBandDisplay.from_estimator(
            model, data.X, data.y, margin=0.0, n_grid=600
        )
        band.plot(ax, color=ink).set(title=f"{title}: {length:.2g}", ylim=(-1.2, 1.7))
    axes[1, 1].legend(loc="upper left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "length_scales.png")
