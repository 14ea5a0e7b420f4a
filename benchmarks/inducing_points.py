"""Is a process through inducing points as sure as it may be where there is little noise, or none?

Waves of one to five columns, with noise from none to a tenth of their standard deviation, are
learned through 50 to 500 points and compared with new rows. More points must not lower the bound.

    python -m benchmarks.inducing_points                  # all, into benchmarks/results
    python -m benchmarks.inducing_points --quick          # few rows, 30 and 80 points
"""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import machine, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import GaussianProcessRegressor

ROWS, POINTS = 3_000, (50, 100, 200, 500)
REHEARSAL_ROWS, REHEARSAL_POINTS = 300, (30, 80)
NEW_ROWS = 2_000
COLUMNS = (1, 2, 3, 5)
NOISES = (0.0, 1e-3, 1e-1)

NOTE = (
    "Rows uniform in [-2, 2], two waves and a slope, seed 0; noise as a standard deviation. The "
    "bound is log_evidence_ and the gap evidence_gap_, in nats; carried: points that were used. "
    "Coverage is that of 90 % intervals at new rows, above 0.90 where what points do not carry "
    "counts as noise. A loss is a bound below that of fewer points."
)
HEADING = ("columns, noise", "points", "carried", "bound", "gap", "noise learned")
HEADING_OF_NEW_ROWS = ("coverage 90 %", "RMSE", "log score", "warned", "fit, CPU s")


def draw_waves(n: int, n_columns: int, noise: float) -> tuple[Array, Array]:
    """Inputs and targets, the same function and inputs for all noises."""
    rng = np.random.default_rng([0, n_columns])
    X, W = rng.uniform(-2.0, 2.0, (n, n_columns)), rng.standard_normal((n_columns, 2))
    f = np.sin(X @ W[:, 0]) + 0.5 * np.cos(1.5 * X @ W[:, 1]) + 0.3 * X[:, 0]
    return X, f + noise * rng.standard_normal(n)


def measure_fit(n_rows: int, n_columns: int, noise: float, points: int) -> dict[str, Any]:
    """Fit to some rows, and score on others."""
    X, y = draw_waves(n_rows + NEW_ROWS, n_columns, noise)
    model = GaussianProcessRegressor(inducing_points=points)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X[:n_rows], y[:n_rows])
    seconds = time.process_time() - start
    dist, new = model.predict_dist(X[n_rows:]), y[n_rows:]
    low, high = dist.interval(0.9)
    return {
        "contender": f"columns {n_columns}, noise {noise:g}, points {points}",
        "columns": n_columns,
        "noise": noise,
        "points": points,
        "carried": len(model.inducing_points_),
        "bound": model.log_evidence_,
        "gap": model.evidence_gap_,
        "learned_noise": float(np.sqrt(model.noise_variance_)),
        "coverage_90": float(np.mean((low <= new) & (new <= high))),
        "rmse": float(np.sqrt(np.mean((dist.mean() - new) ** 2))),
        "log_score": float(np.mean(dist.logpdf(new))),
        "warned": len(told),
        "fit_cpu_s": seconds,
    }


def page(result: dict[str, Any]) -> str:
    """All fits in one table."""
    (task,) = result["tasks"]
    fits = task["runs"]
    body = [
        [
            f"{fit['columns']}, {fit['noise']:g}",
            str(fit["points"]),
            str(fit["carried"]),
            f"{fit['bound']:,.0f}",
            f"{fit['gap']:,.0f}",
            f"{fit['learned_noise']:.2g}",
            f"{fit['coverage_90']:.3f}",
            f"{fit['rmse']:.2g}",
            f"{fit['log_score']:.2f}",
            str(fit["warned"]),
            f"{fit['fit_cpu_s']:.1f}",
        ]
        for fit in fits
    ]
    lines = [f"# {result['title']}", "", *report.provenance(result), "", result["note"], ""]
    losses = f"Losses of bounds: {result['losses']} of {len(fits)} fits."
    heading = (*HEADING, *HEADING_OF_NEW_ROWS)
    return "\n".join([*lines, losses, "", *report.table(heading, body), ""])


def run(options: Options) -> dict[str, Any]:
    """Fit, write and show the table."""
    rows = REHEARSAL_ROWS if options.quick else ROWS
    points = REHEARSAL_POINTS if options.quick else POINTS
    fits = []
    for n_columns, noise, n_points in itertools.product(COLUMNS, NOISES, points):
        fits.append(measure_fit(rows, n_columns, noise, n_points))
        options.console.print(fits[-1])
    result = {
        "benchmark": "inducing_points",
        "title": f"Inducing points where there is little noise, {rows:,} rows",
        **machine.describe(),
        "note": NOTE,
        "losses": count_losses(fits),
        "tasks": [{"name": f"{rows:,} rows", "runs": fits}],
    }
    report.publish(result, page(result), options)
    return result


def count_losses(fits: list[dict[str, Any]]) -> int:
    """How often more points have a bound that is lower, by more than a search leaves undone."""
    pairs = itertools.pairwise(fits)
    same = ((a, b) for a, b in pairs if a["points"] < b["points"])
    return sum(b["bound"] < a["bound"] - 1e-3 * abs(a["bound"]) for a, b in same)


def main(
    quick: Annotated[bool, typer.Option(help="Few rows; benchmarks/results stay.")] = False,
) -> None:
    """Measure all combinations."""
    run(Options(quick=quick, console=Console()))


if __name__ == "__main__":
    typer.run(main)
