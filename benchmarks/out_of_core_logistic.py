"""LogisticRegression of rows that memory never holds: ten million, read block by block.

As in ``out_of_core``: one process writes Parquet files, then, in turns, one only reads them and one
fits; the last fits a sample of the rows streamed and in memory, and tells how far apart they are.
``python -m benchmarks.out_of_core_logistic --rows 1000000 --columns 20`` does it with less.
"""

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.console import Console
from scipy import special
from threadpoolctl import threadpool_limits

from benchmarks import harness, machine, out_of_core, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity.designs import Chunks
from posterity.linear import LogisticRegression

ROWS, COLUMNS, ROWS_OF_A_FILE = 10_000_000, 100, 500_000
SAMPLE, QUERIES, SEED, STRENGTH = 100_000, 1_000, 0, 2.0
REPEATS = 3  # a fit reads the files several times


def run(options: Options, rows: int | None = None, columns: int = COLUMNS) -> dict[str, Any]:
    """Write, read and fit; write and show what it took."""
    n = rows or (ROWS // 10 if options.quick else ROWS)
    result: dict[str, Any] = {
        "benchmark": "out_of_core_logistic",
        "title": "Logistic regression of rows that never sit in memory at once",
        **machine.describe(),
        **{"rows": n, "columns": columns, "seed": SEED, "tasks": []},
    }
    with tempfile.TemporaryDirectory() as name, harness.threads_of_children(options.threads):
        folder = Path(name)
        result["write"] = harness.in_new_process(write, folder, n, columns)
        result["runs"] = [
            {"contender": step, "repeat": repeat}
            | harness.in_new_process(work, folder, columns, options.threads)
            for repeat in range(min(options.repeats, REPEATS))
            for step, work in STEPS.items()
        ]
        result["summary"] = report.summarise(result["runs"])
        result["agreement"] = harness.in_new_process(compare, folder)
    report.publish(result, page(result), options)
    return result


def truth(columns: int) -> tuple[Array, float]:
    """The weights and the offset that the classes are made with."""
    rng = np.random.default_rng(SEED)
    return rng.normal(0.0, STRENGTH / np.sqrt(columns), columns), -1.0


def write(folder: Path, rows: int, columns: int) -> dict[str, float]:
    """Files of a logistic model in single precision, one at a time, each from its own seed."""
    weights, offset = truth(columns)
    start = time.perf_counter()
    for k, first in enumerate(range(0, rows, ROWS_OF_A_FILE)):
        rng = np.random.default_rng([SEED, 1 + k])
        X = rng.standard_normal((min(ROWS_OF_A_FILE, rows - first), columns), dtype=np.float32)
        y = rng.random(len(X)) < special.expit(X @ weights + offset)
        frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(columns)])
        frame.with_columns(y=pl.Series(y.astype(np.int8))).write_parquet(
            folder / f"part-{k:04d}.parquet"
        )
    size = sum(file.stat().st_size for file in folder.glob("part-*.parquet"))
    return {"wall_s": time.perf_counter() - start, "file_mib": size / 2**20}


def read(folder: Path, columns: int, threads: int | None) -> dict[str, float]:
    """One pass that does nothing with the rows but check them; it has no use for BLAS threads."""
    return out_of_core.measure_work(lambda: sum(len(block) for block in _chunks(folder)))[1]


def fit(folder: Path, columns: int, threads: int | None) -> dict[str, float]:
    """The fit, its steps, and how far it is from the weights that made the classes."""
    with threadpool_limits(limits=threads):
        model, numbers = out_of_core.measure_work(lambda: LogisticRegression().fit(_chunks(folder)))
    weights, offset = truth(columns)
    return numbers | {
        "largest_weight_error": float(np.abs(model.coef_[0] - weights).max()),
        "offset_error": float(abs(model.intercept_[0] - offset)),
        "steps": float(model.n_iter_),
    }


STEPS = {"read and check": read, "LogisticRegression.fit": fit}


def compare(folder: Path) -> dict[str, float]:
    """The same sample of rows streamed from a file and fitted in memory: relative differences."""
    chunks = _chunks(folder)
    rng = np.random.default_rng(SEED)
    sample, others = chunks.sample(SAMPLE, rng), chunks.sample(QUERIES, rng)
    rows, queries = (pl.DataFrame(b.X, schema=chunks.feature_names) for b in (sample, others))
    file = folder / "sample.parquet"
    rows.with_columns(y=pl.Series(sample.y)).write_parquet(file)
    streamed = LogisticRegression().fit(Chunks.from_parquet(file, target="y", rows=8192))
    in_memory = LogisticRegression().fit(rows, sample.y)
    answers = [model.predict_proba(queries) for model in (streamed, in_memory)]
    return {
        "sample_rows": len(sample),
        "coefficients": out_of_core.difference(streamed.coef_, in_memory.coef_),
        "probabilities": out_of_core.difference(*answers),
        "log_likelihood": out_of_core.difference(
            streamed.log_likelihood_, in_memory.log_likelihood_
        ),
    }


def page(result: dict[str, Any]) -> str:
    """What each step took, and how well the two ways agree."""
    n, agreement, summary = result["rows"], result["agreement"], result["summary"]
    fitted, measures = summary["LogisticRegression.fit"], out_of_core.MEASURES
    body = [
        [name, f"{n / step['wall_s']['median']:,.0f}"]
        + [out_of_core.median_and_range(step[key]) for key in measures]
        for name, step in summary.items()
    ]
    in_memory = n * (result["columns"] + 1) * 8 / 2**20
    return "\n".join(
        [
            f"# {result['title']}: {n:,} x {result['columns']}",
            "",
            *report.provenance(result),
            f"The rows are {in_memory:,.0f} MiB as float64, {result['write']['file_mib']:,.0f} MiB "
            "in Parquet files of float32 that were written just before. Each cell is the median of "
            f"{len(result['runs']) // len(STEPS)} processes, with the least and the largest.",
            "",
            *report.table(["", "rows/s", *measures.values()], body),
            "",
            f"{fitted['steps']['median']:.0f} steps. The largest error of a weight is "
            f"{fitted['largest_weight_error']['median']:.1e}, that of the offset "
            f"{fitted['offset_error']['median']:.1e}.",
            "",
            f"The same {agreement['sample_rows']:,} rows streamed and in memory, largest relative "
            f"difference: coefficients {agreement['coefficients']:.1e}, probabilities "
            f"{agreement['probabilities']:.1e}, log likelihood "
            f"{agreement['log_likelihood']:.1e}.",
            "",
        ]
    )


def _chunks(folder: Path) -> Chunks:
    return Chunks.from_parquet(str(folder / "part-*.parquet"), target="y")


def main(
    rows: Annotated[int, typer.Option(min=SAMPLE, help="How many rows.")] = ROWS,
    columns: Annotated[int, typer.Option(min=1, help="How many columns.")] = COLUMNS,
    repeats: Annotated[int, typer.Option(min=1, help="Processes for each step.")] = REPEATS,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Write, read and fit so many rows; less than the usual size counts as a rehearsal."""
    quick = rows < ROWS or columns < COLUMNS
    run(Options(repeats=repeats, threads=threads, quick=quick, console=Console()), rows, columns)


if __name__ == "__main__":
    typer.run(main)
