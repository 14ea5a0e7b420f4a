"""How long a fitted forest takes for one row, and for a hundred thousand.

Each is fitted once a process; then it predicts with one thread and with two.
"""

import contextlib
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import forest_models, forest_scores, forest_sets, harness, worker
from benchmarks.cases import Benchmark, Contender, Data, Task
from benchmarks.options import Options

JOBS = (1, 2)
SINGLE_ROWS = 200


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Milliseconds of one row and seconds of all, by number of threads."""
    del task
    data = Data.load(folder)
    return worker.run_after_warm_up(
        lambda: _measure_prediction(contender, data.small()),
        lambda: _measure_prediction(contender, data),
        threads,
    )


def _measure_prediction(contender: Contender, data: Data) -> dict[str, Any]:
    model = contender.fit(contender.build(), data.X, data.y)
    numbers: dict[str, float] = {}
    for jobs in JOBS:
        with _threads(model, jobs):
            numbers[f"row_{jobs}_ms"] = 1e3 * _seconds_of_a_row(contender, model, data)
            predict = partial(contender.predict, model, data.X_test)
            numbers[f"rows_{jobs}_s"] = worker.time_work(predict)[1][0]
    return numbers


def _seconds_of_a_row(contender: Contender, model: Any, data: Data) -> float:
    """The median over different rows, each alone."""
    rows = [data.X_test[i : i + 1] for i in range(min(SINGLE_ROWS, len(data.X_test)))]
    contender.predict(model, rows[0])
    return statistics.median(
        worker.time_work(partial(contender.predict, model, row))[1][0] for row in rows
    )


@contextlib.contextmanager
def _threads(model: Any, jobs: int) -> Iterator[None]:
    """The model may use so many threads: by ``n_jobs``, or else by OpenMP."""
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=jobs)
    with threadpool_limits(limits=jobs, user_api="openmp"):
        yield


BENCHMARK = Benchmark(
    name="forest_rows",
    title="Forests and boosted trees: predicting one row, and many",
    tasks=(forest_sets.cover_task(forest_scores.of_classes, test_rows=100_000),),
    contenders=tuple(c for c in forest_models.classifiers() if c.name != forest_models.PLAIN),
    note=f"{forest_models.TREES} trees or rounds each. Probabilities of all classes, with one "
    f"thread and with two: of one row, the median over {SINGLE_ROWS} rows in milliseconds; of "
    "100,000 rows, in seconds.",
)


def run(options: Options) -> None:
    """Measure and write the table."""
    harness.run(BENCHMARK, options, measure)
