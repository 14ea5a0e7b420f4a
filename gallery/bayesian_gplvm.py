"""Four walks in six latent dimensions, of which those not needed switch themselves off.  [G]

Two dimensions hold the phase of the stride; a third, of less relevance, tells the people apart.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from posterity import GPLVM, datasets, displays

OUT = Path(__file__).parent / "out"

walking = datasets.walks(40)
model = GPLVM(n_components=6, inference="variational", inducing_points=25).fit(walking.X)
first, second, third = model.effective_components_[:3]
with displays.style():
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.3), width_ratios=(2, 3, 3))
    displays.SpectrumDisplay.from_estimator(model).plot(axes[0])
    axes[0].set(title=f"{len(model.effective_components_)} of 6 are needed")
    for ax, other in zip(axes[1:], (second, third), strict=True):
        seen = displays.LatentMapDisplay.from_estimator(
            model, y=walking.labels, groups=walking.groups, dimensions=(first, other)
        )
        seen.plot(ax, legend=False)
    axes[1].set_title("The first two: the stride")
    axes[2].set_title("First and third: who walks")
    figure.legend(
        *axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, markerscale=1.8
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bayesian_gplvm.png")
