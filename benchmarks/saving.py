"""Models to files and back: ``posterity.save`` beside pickle, joblib and skops.

The model comes fitted to a fresh process, which saves it and loads it again, once each, after
doing so with a small one. What is loaded must answer as before; rows of the training data are
looked for in it.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import harness, saving_ways, worker
from benchmarks.cases import Benchmark, Contender, Task
from benchmarks.options import Options
from benchmarks.saved_models import TASKS, Fitted, rows_inside
from posterity.linear import LinearRegression


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Save and load once: seconds, MiB, bytes, and what is in the file."""
    del task
    fitted, way = Fitted.load(folder), contender.build()
    small = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    with tempfile.TemporaryDirectory(dir=folder) as name:
        return worker.run_after_warm_up(
            lambda: there_and_back(way, small, Path(name) / "small"),
            lambda: _measure_way(way, fitted, Path(name) / "model"),
            threads,
        )


def there_and_back(way: Any, model: Any, path: Path) -> tuple[Any, dict[str, float]]:
    """The loaded model, and what it took; memory is what each way added to the process."""
    (_, save), save_mib = _with_memory(lambda: way.save(model, path))
    way.prepare(path)
    (loaded, load), load_mib = _with_memory(lambda: way.load(path))
    return loaded, {
        "save_wall_s": save[0],
        "save_cpu_s": save[1],
        "load_wall_s": load[0],
        "load_cpu_s": load[1],
        "save_peak_mib": save_mib,
        "load_peak_mib": load_mib,
        "file_bytes": float(path.stat().st_size),
    }


def _measure_way(way: Any, fitted: Fitted, path: Path) -> dict[str, Any]:
    """A way that brings back another model has no place in a table."""
    loaded, numbers = there_and_back(way, fitted.model, path)
    if not fitted.is_like(loaded):
        raise RuntimeError(f"{type(way).__name__} brought back a model that answers otherwise.")
    return numbers | {"rows_inside": float(rows_inside(loaded, fitted.X))}


def _with_memory(work: Any) -> tuple[Any, float]:
    """The result of the work with its seconds, and the MiB it added."""
    worker.forget_peak()
    before = worker.peak_mib()
    done = worker.time_work(work)
    # Pages may go back to the system between the two readings.
    return done, max(worker.peak_mib() - before, 0.0)


BENCHMARK = Benchmark(
    name="saving",
    title="A fitted model to a file and back",
    tasks=TASKS,
    contenders=(
        Contender("posterity", saving_ways.Posterity),
        Contender(f"pickle, protocol {saving_ways.PROTOCOL}", saving_ways.Pickle),
        Contender("joblib", saving_ways.Joblib),
        Contender("joblib, compress=3", saving_ways.JoblibCompressed),
        Contender("skops", saving_ways.Skops, needs="skops"),
    ),
    note="posterity and skops put no code into a file; to load a pickle, joblib's too, is to run "
    "it. posterity's seconds include a hash of every array, both ways, and waiting until the disk "
    "has the file: the others leave that to the system, and CPU seconds do not count it. skops is "
    "told which types to trust before the clock starts. Memory is what saving, and loading beside "
    "the model that was saved, added to the process. Training rows are looked for in the loaded "
    "model, by value. Each loaded model answers as the saved one does, to the last bit.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(BENCHMARK, options, measure)
