"""How long the peers take: their seconds over posterity's, for every task that was measured.

A dot is a task, of some number of rows and columns. Right of the line posterity is faster, left of
it the peer is: support vectors solve an easier problem, boosted trees predict a mean only, and
pickle checks nothing. The numbers are those of `benchmarks/results`.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

from posterity import displays

OUT = Path(__file__).parent / "out"
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
FAMILIES = {
    "linear": ["linear", "bayesian_linear", "logistic"],
    "processes": ["gaussian_process*", "kernel_ridge*"],
    "sparse": ["relevance_vectors*"],
    "trees": ["forests", "boosting*", "regression_forests"],
    "latent": ["principal*", "latent_variables*"],
    "files": ["saving"],
}
SECONDS = ("whole_wall_s", "evaluation_wall_s", "fit_wall_s", "save_wall_s")
LOOKS = {
    **{"scikit-learn": ("blue", "o"), "NumPy": ("grey", "v"), "GPy": ("orange", "s")},
    **{"GPyTorch": ("green", "^"), "tinygp": ("amber", "D"), "fastrvm": ("pink", "P")},
    **{"sklearn-rvm": ("amber", "X"), "LightGBM": ("green", "<"), "pickle": ("black", "d")},
    **{"joblib": ("sky", "p"), "skops": ("orange", "h")},
}


def times_posterity(patterns):
    """For each peer, its time over posterity's in every task."""
    dots = {}
    for path in sorted(path for pattern in patterns for path in RESULTS.glob(f"{pattern}.json")):
        for task in json.loads(path.read_text())["tasks"]:
            for contender, measured in task["summary"].items():
                seconds = next(key for key in SECONDS if key in measured)
                peer = contender.split()[0].rstrip(",")
                dots.setdefault(peer, []).append(measured[seconds]["ratio"])
    return {peer: dots[peer] for peer in LOOKS if peer in dots}


with displays.style():
    figure, ax = plt.subplots(figsize=(9.0, 7.4))
    lines, y = {}, 0.0
    for family, patterns in FAMILIES.items():
        top = y
        for peer, dots in times_posterity(patterns).items():
            color, marker = LOOKS[peer]
            look = {"s": 46, "alpha": 0.75, "linewidths": 0.5, "edgecolors": "w"}
            ax.scatter(dots, [y] * len(dots), color=displays.COLORS[color], marker=marker, **look)
            lines[y] = peer
            y -= 1.0
        ax.text(1.01, (top + y + 1.0) / 2, family, transform=ax.get_yaxis_transform(), va="center")
        ax.axhspan(top + 0.5, y + 0.5, color=displays.COLORS["grey"], alpha=0.08, lw=0)
        y -= 0.7
    ax.axvline(1.0, color=displays.COLORS["black"], lw=1.4)
    ax.set(xscale="log", yticks=list(lines), yticklabels=list(lines.values()))
    ax.set(xlabel="the peer's time / posterity's", ylim=(y + 1.0, 0.9))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.set_title("the peer is faster")
    ax.set_title("posterity is faster", loc="right")
    ax.tick_params(axis="y", length=0)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "measured.png")
