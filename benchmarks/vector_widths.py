"""By which price kernels of relevance vectors are compared: held-out rows of simulated sets.

Vectors are chosen at the length scales of a Gaussian process, shared or one for each column, and at
wider ones; every price takes one of these choices. The scan is the search that a kernel which is
given has. Parts of the sets in ``shared/data`` that are not goals of ``relevance_sets`` follow.

    python -m benchmarks.vector_widths               # all, into benchmarks/results
    python -m benchmarks.vector_widths --draws 1     # a rehearsal
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from scipy import stats

from benchmarks import machine, real_sets, report
from benchmarks.cases import Array, Data
from benchmarks.options import Options
from posterity import RelevanceVectorRegressor, kernels
from posterity.sparse import default_kernel

DRAWS = 3
ROWS, NEW_ROWS, COLUMNS = (60, 120, 240), 1_000, (2, 4, 8, 12)
NOISES = (0.1, 0.3, 0.6)
WAVES = 600
WIDTHS = (1.0, 2.0**0.5, 2.0, 2.0**1.5)
UCI, EVANS = ("energy", "kin8nm", "power", "wine-red"), ("elevators", "bike", "pol")
NOTE = (
    "Means over sets. A price is the nats for each vector, how often the log of the number of "
    "unlike columns is added, and the nats for each length scale but the first. Gains are those "
    "of the log score of held-out rows over the scan, 3 nats at most."
)


class Price(NamedTuple):
    """Nats for a vector, times the log of unlike columns, and nats for a further length scale."""

    vector: float
    unlike: float
    length: float


PRICES = (
    Price(1.0, 1.0, 1.0),
    Price(2.5, 0.0, 1.0),
    Price(2.5, 0.0, 2.5),
    Price(4.0, 0.0, 1.0),
    Price(2.5, 1.0, 1.0),
    Price(1.0, 1.0, 0.0),
    Price(1.0, 1.0, np.inf),
)


class Fit(NamedTuple):
    """Vectors of one kernel, what they are priced by, and how they predict."""

    vectors: int
    log_evidence: float
    log_unlike: float
    lengths: int  # that left the first
    log_score: float
    mse: float  # over that of the mean
    coverage_90: float


def waves(rng: np.random.Generator, X: Array, lengths: Array, rough: bool = False) -> Array:
    """A function drawn from a process, RBF or, where it is rough, nearly without a slope."""
    W = rng.standard_normal((X.shape[1], WAVES)) / lengths[:, None]
    if rough:
        W /= np.sqrt(rng.chisquare(2.0, WAVES) / 2.0)
    phase, weights = rng.uniform(0.0, 2.0 * np.pi, WAVES), rng.standard_normal(WAVES)
    return np.sqrt(2.0 / WAVES) * np.cos(X @ W + phase) @ weights


def function(rng: np.random.Generator, kind: str, X: Array) -> Array:
    """One of several kinds of functions of some of the columns."""
    D = X.shape[1]
    lengths = np.exp(rng.normal(1.0, 0.5, D))
    if kind == "linear":
        return X @ (rng.standard_normal(D) * (rng.random(D) < 0.5))
    if kind == "few columns":
        lengths[1:][rng.random(D - 1) < 0.5] *= 50.0
        return waves(rng, X, lengths)
    if kind == "additive":
        return sum(waves(rng, X[:, [j]], np.ones(1)) for j in range(D // 2))
    if kind == "network":
        W = 1.5 * rng.standard_normal((D, 4)) / np.sqrt(D)
        return np.tanh(X @ W + rng.normal(0.0, 0.5, 4)) @ rng.standard_normal(4)
    if kind == "steps":
        return (X[:, rng.integers(D, size=4)] > rng.normal(0.0, 0.7, 4)) @ rng.standard_normal(4)
    if kind == "noise":
        return np.zeros(len(X))
    return waves(rng, X, np.full(D, np.sqrt(D)), rough=kind == "rough")


KINDS = ("linear", "few columns", "all columns", "rough", "additive", "network", "steps", "noise")


def simulate_data(draw: int) -> Iterator[Data]:
    """One set of each kind."""
    for place, kind in enumerate(KINDS):
        rng = np.random.default_rng([draw, place])
        n, D, noise = rng.choice(ROWS), rng.choice(COLUMNS), rng.choice(NOISES)
        X = rng.standard_normal((n + NEW_ROWS, D))
        f = function(rng, kind, X)
        y = f / (np.std(f) or 1.0) + noise * rng.standard_normal(len(f))
        yield Data(X[:n], y[:n], X[n:], y[n:])


def _load(name: str) -> tuple[Array, Array]:
    if name in UCI:
        data = np.load(real_sets.FOLDER / "uci_regression" / f"{name}.npz", allow_pickle=False)
        return data["X"], data["y"]
    with gzip.open(real_sets.FOLDER / "uci_evans" / f"{name}.data.csv.gz") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def real(draw: int) -> Iterator[Data]:
    """A part of each stored set, without columns that are constant there."""
    for name in (*UCI, *EVANS):
        X, y = _load(name)
        rng = np.random.default_rng(draw)
        n, order = int(rng.choice((100, 250))), rng.permutation(len(y))
        rows, new = order[:n], order[n : n + NEW_ROWS]
        X = X[:, X[rows].std(axis=0) > 0.0]
        yield Data(X[rows], y[rows], X[new], y[new])


def fit(data: Data, kernel: kernels.RBF) -> Fit:
    """Choose the vectors of a kernel, and predict."""
    model = RelevanceVectorRegressor(kernel, hyperparameters="maximise").fit(data.X, data.y)
    K = model.kernel_(data.X, model.relevance_vectors_) if len(model.relevance_) else data.X[:, :0]
    dist, center = model.predict_dist(data.X_test), float(np.mean(data.y))
    low, high = dist.interval(0.9)
    return Fit(
        len(model.relevance_),
        float(model.log_evidence_),
        float(np.sum(np.log(stats.kurtosis(K, axis=0, fisher=False)))) if K.shape[1] else 0.0,
        np.size(kernel.length_scale) - 1 if kernel.length_scale is not None else 0,
        float(np.mean(dist.log_prob(data.y_test))),
        float(np.mean((model.predict(data.X_test) - data.y_test) ** 2))
        / float(np.mean((center - data.y_test) ** 2)),
        float(np.mean((low <= data.y_test) & (data.y_test <= high))),
    )


def fits(data: Data) -> tuple[Fit, list[Fit]]:
    """That of the scan, and those at all widths."""
    center, scale = data.X.mean(axis=0), data.X.std(axis=0)
    unit = Data((data.X - center) / scale, data.y, (data.X_test - center) / scale, data.y_test)
    y = (data.y - data.y.mean()) / data.y.std()
    starts = default_kernel.learn_length_scales(unit.X, y[:, None])
    wider = [k.with_theta(k.theta + np.log(w)).fixed() for k in starts for w in WIDTHS]
    return fit(unit, kernels.RBF()), [fit(unit, kernel) for kernel in wider]


def choose(found: Sequence[Fit], price: Price) -> Fit:
    """The choice of the largest evidence less prices."""
    vector, unlike, length = price

    def criterion(one: Fit) -> float:
        further = length * one.lengths if one.lengths else 0.0
        return one.log_evidence - vector * one.vectors - unlike * one.log_unlike - further

    return max(found, key=criterion)


def summarise(chosen: Sequence[Fit], scan: Sequence[Fit]) -> dict[str, float]:
    """Means over sets, of errors the geometric one."""
    gains = [
        np.clip(a.log_score - b.log_score, -3.0, 3.0) for a, b in zip(chosen, scan, strict=True)
    ]
    ratios = [
        np.log(max(a.mse, 1e-3) / max(b.mse, 1e-3)) for a, b in zip(chosen, scan, strict=True)
    ]
    return {
        "log_score_gain": float(np.mean(gains)),
        "worst_gain": float(np.min(gains)),
        "mse_ratio": float(np.exp(np.mean(ratios))),
        "coverage_90": float(np.mean([one.coverage_90 for one in chosen])),
        "vectors": float(np.mean([one.vectors for one in chosen])),
    }


def compare(sets: Sequence[Data]) -> dict[str, dict[str, float]]:
    """What every price chooses on these sets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [fits(data) for data in sets]
    scan = [one for one, _ in found]
    table = {"scan of one width": summarise(scan, scan)}
    for price in PRICES:
        name = "{:g} + {:g} log unlike, {:g} a length scale".format(*price)
        table[name] = summarise([choose(widths, price) for _, widths in found], scan)
    return table


def run(options: Options, draws: int = DRAWS) -> None:
    """Measure, write and show the tables."""
    tasks = {"simulated": [data for draw in range(draws) for data in simulate_data(draw)]}
    if real_sets.FOLDER.exists():
        tasks["parts of real sets"] = [data for draw in range(draws) for data in real(draw)]
    result = {
        "benchmark": "vector_widths",
        "title": "Prices of vectors and length scales, by held-out rows",
        **machine.describe(),
        "tasks": [
            {"name": name, "sets": len(sets), "prices": compare(sets)}
            for name, sets in tasks.items()
        ],
    }
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "vector_widths.md").write_text(text := page(result))
    options.console.print(text, highlight=False, markup=False, soft_wrap=True)


def page(result: dict[str, Any]) -> str:
    """A table for each kind of sets."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE]
    heading = [
        "",
        "log score gained",
        "at worst",
        "squared error, ratio",
        "coverage 90 %",
        "vectors",
    ]
    for task in result["tasks"]:
        rows = [
            [price, *(report.number(value) for value in numbers.values())]
            for price, numbers in task["prices"].items()
        ]
        lines += ["", f"## {task['name']}, {task['sets']} sets", "", *report.table(heading, rows)]
    return "\n".join([*lines, ""])


def main(draws: Annotated[int, typer.Option(min=1)] = DRAWS) -> None:
    """Compare prices; fewer draws count as a rehearsal."""
    run(Options(quick=draws < DRAWS, threads=1, console=Console()), draws)


if __name__ == "__main__":
    typer.run(main)
