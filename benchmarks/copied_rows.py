"""Copies and near-copies of rows: what models say of noise and of new rows beside the truth.

``python -m benchmarks.copied_rows`` measures processes on all cases, and forests and relevance
vectors on those without a kernel's help. Rows are drawn from a smooth function of two columns
beside one that does not matter, with normal noise. Some are repeated with the same target, moved
by a share of a length scale; the third column of a repetition may differ.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import posterity
from benchmarks import machine, report
from benchmarks.options import Options
from posterity import copies

NEW_ROWS = 10_000
_COVERED = 0.9

Rows = tuple[np.ndarray, np.ndarray]

MODELS: dict[str, tuple[Callable[[], Any], int]] = {  # and how many seeds
    "process": (posterity.GaussianProcessRegressor, 6),
    "relevance vectors": (posterity.RelevanceVectorRegressor, 30),
    "forest": (lambda: posterity.RandomForestRegressor(random_state=0), 30),
}
HEADING = ("rows, copies, gap, decimals", "noise / true", "coverage 90 %", "log score", "least")
NOTE = (
    "A smooth function of two of three columns with noise of deviation 0.5; 10,000 new rows. "
    "Copies have the target of a row, also where targets are rounded, and lie so many length "
    "scales away from it; where it is said, their third column, which does not matter, is drawn "
    "anew. Medians of seeds (6 of processes, 30 of the others), and the least log density of all."
)


@dataclass(frozen=True)
class Case:
    """A number of rows, of which some are repeated."""

    n_rows: int
    n_pairs: int
    gap: float  # between a row and its repetition, in length scales
    decimals: int | None  # of the targets
    differs: bool  # the column that does not matter, in a repetition
    noise: float = 0.5

    @property
    def is_extreme(self) -> bool:
        """Whether few rows have many copies, or none."""
        few = self.n_rows <= 80 and self.n_pairs in (0, 20, 320)
        return few and self.gap < 1e-3

    @property
    def label(self) -> str:
        """What distinguishes the case."""
        decimals = "" if self.decimals is None else f", {self.decimals} decimals"
        other = ", third column differs" if self.differs else ""
        gap = f", {self.gap:.0e}" if self.n_pairs else ""
        return f"{self.n_rows} rows, {self.n_pairs} copies{gap}{decimals}{other}"

    def draw(self, seed: int) -> tuple[Rows, Rows]:
        """Training rows with repetitions, and new rows."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-3.0, 3.0, (self.n_rows + NEW_ROWS, 3))
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + self.noise * rng.normal(size=len(X))
        y = y if self.decimals is None else np.round(y, self.decimals)
        train, new = slice(self.n_rows), slice(self.n_rows, None)
        again = rng.permutation(self.n_rows)[np.arange(self.n_pairs) % self.n_rows]
        moved = X[again] + self.gap * rng.normal(size=(self.n_pairs, 3))
        if self.differs:
            moved[:, 2] = rng.uniform(-3.0, 3.0, self.n_pairs)
        given = np.vstack([X[train], moved]), np.append(y[train], y[again])
        return given, (X[new], y[new])


CASES = [
    *(
        Case(n, pairs, gap, decimals, differs)
        for n, pairs in ((60, 1), (60, 5), (60, 20), (200, 4), (600, 20))
        for gap, decimals, differs in (
            (1e-6, None, False),
            (1e-2, None, False),
            (1e-4, 3, True),
            (1e-3, 1, False),
        )
    ),
    *(Case(n, 0, 0.0, None, False) for n in (60, 80, 200, 600)),
    Case(80, 320, 0.0, None, False),
]


def measure(model: Any, case: Case, seed: int) -> tuple[float, float, float, float]:
    """Ratio of noise, coverage of new rows, mean and least log density."""
    (X, y), (X_new, y_new) = case.draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", copies.CopiedRowsWarning)
        dist = model.fit(X, y).predict_dist(X_new)
    log_p, outside = dist.log_prob(y_new), 1.0 - 2.0 * np.abs(dist.cdf(y_new) - 0.5)
    noise = getattr(model, "noise_variance_", np.nan) / case.noise**2
    return noise, np.mean(outside >= 1.0 - _COVERED), log_p.mean(), log_p.min()


def page(result: dict[str, Any]) -> str:
    """The page of results."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", result["note"], ""]
    for task in result["tasks"]:
        body = [
            [
                run["contender"],
                f"{run['noise_ratio']:.2g}" if "noise_ratio" in run else "-",
                f"{run['coverage_90']:.3f}",
                f"{run['log_score']:.2f}",
                f"{run['least_log_density']:.1f}",
            ]
            for run in task["runs"]
        ]
        lines += [f"## {task['name']}", "", *report.table(HEADING, body), ""]
    return "\n".join(lines)


def measure_case(make: Callable[[], Any], case: Case, n_seeds: int) -> dict[str, Any]:
    """Medians over seeds, and the least log density of all."""
    found = np.array([measure(make(), case, seed) for seed in range(n_seeds)])
    noise, coverage, mean, _ = np.median(found, axis=0).tolist()
    errors = np.std(found[:, 1], ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
    return {
        "contender": case.label,
        **({} if np.isnan(noise) else {"noise_ratio": noise}),
        "coverage_90": coverage,
        "coverage_error": float(errors),
        "log_score": mean,
        "least_log_density": float(found[:, 3].min()),
    }


def run(options: Options) -> dict[str, Any]:
    """Measure, write and show the tables."""
    tasks = []
    for name, (make, n_seeds) in MODELS.items():
        runs = []
        for case in CASES:
            if case.n_rows <= 60 if options.quick else name == "process" or case.is_extreme:
                runs.append(measure_case(make, case, 2 if options.quick else n_seeds))
                options.console.print(name, runs[-1])
        tasks.append({"name": name, "runs": runs})
    result = {
        "benchmark": "copied_rows",
        "title": "Copies and near-copies of rows",
        **machine.describe(),
        "note": NOTE,
        "tasks": tasks,
    }
    report.publish(result, page(result), options)
    return result


def main(
    quick: Annotated[bool, typer.Option(help="Few cases; benchmarks/results stay.")] = False,
) -> None:
    """Measure all cases."""
    run(Options(quick=quick, console=Console()))


if __name__ == "__main__":
    typer.run(main)
