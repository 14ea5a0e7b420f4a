"""A fit of rows that memory never holds: ten million, read from Parquet files block by block.

Each step has a process, and so a memory, of its own. One writes the files; then, in turns, one only
reads them and one fits, so that a machine that slows down does so for both. The last fits a sample
of the rows streamed and in memory, and tells how far apart the models are.
``python -m benchmarks.out_of_core --rows 1000000`` does it with fewer rows.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks import harness, machine, report
from benchmarks.options import Options
from benchmarks.worker import peak_mib
from posterity.designs import Chunks
from posterity.linear import BayesianLinearRegression

TITLE = "Rows that never sit in memory at once"
ROWS, COLUMNS, ROWS_OF_A_FILE = 10_000_000, 50, 500_000
SAMPLE, QUERIES, SEED, NOISE_VARIANCE = 100_000, 1_000, 0, 0.25
MEASURES = {
    "wall_s": "wall, s",
    "cpu_s": "CPU, s",
    "peak_mib": "whole process, MiB",
    "added_mib": "added, MiB",
}


def run(options: Options, rows: int | None = None) -> dict[str, Any]:
    """Write, read and fit; write and show what it took."""
    n = rows or (ROWS // 10 if options.quick else ROWS)
    result: dict[str, Any] = {"benchmark": "out_of_core", "title": TITLE}
    result |= machine.describe() | {"rows": n, "columns": COLUMNS, "seed": SEED, "tasks": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result["write"] = harness.in_new_process(write, folder, n)
        result["runs"] = [
            {"contender": name, "repeat": repeat}
            | harness.in_new_process(step, folder, options.threads)
            for repeat in range(options.repeats)
            for name, step in STEPS.items()
        ]
        result["summary"] = report.summarise(result["runs"])
        result["agreement"] = harness.in_new_process(compare, folder)
    report.publish(result, page(result), options)
    return result


def truth() -> tuple[np.ndarray, float]:
    """The weights and the offset that the targets are made with."""
    return np.random.default_rng(SEED).standard_normal(COLUMNS), 3.0


def write(folder: Path, rows: int) -> dict[str, float]:
    """Files of a linear model with normal noise, one at a time, each from a seed of its own."""
    weights, offset = truth()
    start = time.perf_counter()
    for k, first in enumerate(range(0, rows, ROWS_OF_A_FILE)):
        rng = np.random.default_rng([SEED, 1 + k])
        X = rng.standard_normal((min(ROWS_OF_A_FILE, rows - first), COLUMNS))
        X += np.linspace(-5.0, 5.0, COLUMNS)
        y = X @ weights + offset + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(len(X))
        frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(COLUMNS)])
        frame.with_columns(y=pl.Series(y)).write_parquet(folder / f"part-{k:04d}.parquet")
    size = sum(file.stat().st_size for file in folder.glob("part-*.parquet"))
    return {"wall_s": time.perf_counter() - start, "file_mib": size / 2**20}


def read(folder: Path, threads: int | None) -> dict[str, float]:
    """One pass that does nothing with the rows but check them; it has no use for BLAS threads."""
    return measure_work(lambda: sum(len(block) for block in _chunks(folder)))[1]


def fit(folder: Path, threads: int | None) -> dict[str, float]:
    """The fit, and how far it is from the weights that made the targets."""
    with threadpool_limits(limits=threads):
        model, numbers = measure_work(lambda: BayesianLinearRegression().fit(_chunks(folder)))
    weights, _ = truth()
    return numbers | {
        "largest_weight_error": float(np.abs(model.coef_ - weights).max()),
        "noise_variance": float(model.noise_variance_),
    }


STEPS = {"read and check": read, "BayesianLinearRegression.fit": fit}


def compare(folder: Path) -> dict[str, float]:
    """The same sample of rows streamed from a file and fitted in memory: relative differences."""
    chunks = _chunks(folder)
    rng = np.random.default_rng(SEED)
    sample, others = chunks.sample(SAMPLE, rng), chunks.sample(QUERIES, rng)
    rows, queries = (pl.DataFrame(b.X, schema=chunks.feature_names) for b in (sample, others))
    file = folder / "sample.parquet"
    rows.with_columns(y=pl.Series(sample.y)).write_parquet(file)
    streamed = BayesianLinearRegression().fit(Chunks.from_parquet(file, target="y", rows=8192))
    in_memory = BayesianLinearRegression().fit(rows, sample.y)
    variances = [model.predict_dist(queries).variance() for model in (streamed, in_memory)]
    return {
        "sample_rows": len(sample),
        "coefficients": difference(streamed.coef_, in_memory.coef_),
        "predictive_variances": difference(*variances),
        "log_evidence": difference(streamed.log_evidence_, in_memory.log_evidence_),
    }


def page(result: dict[str, Any]) -> str:
    """What each step took, and how well the two ways agree."""
    n, agreement = result["rows"], result["agreement"]
    fitted = result["summary"]["BayesianLinearRegression.fit"]
    body = [
        [
            name,
            f"{n / step['wall_s']['median']:,.0f}",
            *(median_and_range(step[key]) for key in MEASURES),
        ]
        for name, step in result["summary"].items()
    ]
    in_memory = n * (result["columns"] + 1) * 8 / 2**20
    return "\n".join(
        [
            f"# {result['title']}: {n:,} x {result['columns']}",
            "",
            *report.provenance(result),
            f"The rows are {in_memory:,.0f} MiB as float64, {result['write']['file_mib']:,.0f} MiB "
            "in Parquet files that were written just before. Each cell is the median of "
            f"{len(result['runs']) // len(STEPS)} processes, with the least and the largest.",
            "",
            *report.table(["", "rows/s", *MEASURES.values()], body),
            "",
            f"The largest error of a weight is {fitted['largest_weight_error']['median']:.1e}; the "
            f"noise variance is found as {fitted['noise_variance']['median']:.5f}, and was "
            f"{NOISE_VARIANCE}.",
            "",
            f"The same {agreement['sample_rows']:,} rows streamed and in memory, largest relative "
            f"difference: coefficients {agreement['coefficients']:.1e}, predictive variances "
            f"{agreement['predictive_variances']:.1e}, log evidence "
            f"{agreement['log_evidence']:.1e}.",
            "",
        ]
    )


def _chunks(folder: Path) -> Chunks:
    return Chunks.from_parquet(str(folder / "part-*.parquet"), target="y")


def measure_work(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of the work, its seconds, and its memory: all, and what the work added."""
    before, wall, cpu = peak_mib(), time.perf_counter(), time.process_time()
    result = work()
    seconds = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    peak = peak_mib()
    return result, seconds | {"peak_mib": peak, "added_mib": peak - before}


def median_and_range(spread: dict[str, float]) -> str:
    """Median, least and largest."""
    median, low, high = (report.number(spread[key]) for key in ("median", "min", "max"))
    return f"{median} ({low} - {high})"


def difference(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest value."""
    return float(np.max(np.abs(np.subtract(a, b))) / np.max(np.abs(b)))


def main(
    rows: Annotated[int, typer.Option(min=SAMPLE, help="How many rows.")] = ROWS,
    repeats: Annotated[int, typer.Option(min=1, help="Processes for each step.")] = 5,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Write, read and fit so many rows; fewer than the usual number count as a rehearsal."""
    quick = rows < ROWS
    run(Options(repeats=repeats, threads=threads, quick=quick, console=Console()), rows)


if __name__ == "__main__":
    typer.run(main)
