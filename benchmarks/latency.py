"""What a fitted model costs where it serves: one row, a thousand rows, its file.

Every model has its defaults and is fitted to the same rows; a call is one that a service would
make, ``predict_interval`` or ``predict_proba``, with the checks of its input. Seconds are of one
thread's processor time, so that other work of the machine does not count.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

import posterity
from benchmarks import friedman, machine, report
from benchmarks.cases import Array, Size
from benchmarks.options import Options
from posterity import tables

SIZE = Size(10_000, 20, 1_000)
POINTS = 200
MODELS: dict[str, Callable[[], Any]] = {
    "BayesianLinearRegression": posterity.BayesianLinearRegression,
    "SparseLinearRegression": posterity.SparseLinearRegression,
    f"GaussianProcessRegressor, {POINTS} inducing points": lambda: (
        posterity.GaussianProcessRegressor(inducing_points=POINTS, random_state=0)
    ),
    "RandomForestRegressor": lambda: posterity.RandomForestRegressor(random_state=0),
    "BoostedTreesRegressor": lambda: posterity.BoostedTreesRegressor(random_state=0),
    "BayesianLogisticRegression": posterity.BayesianLogisticRegression,
    "LogitBoostClassifier": posterity.LogitBoostClassifier,
    "RandomForestClassifier": lambda: posterity.RandomForestClassifier(random_state=0),
    "BoostedTreesClassifier": lambda: posterity.BoostedTreesClassifier(random_state=0),
}
NOTE = (
    "Processor time with one thread, in one process: the median of many calls of predict_interval, "
    "or of predict_proba for classes, after one that is not counted (the first call of a process "
    "imports and loads compiled code). load is posterity.load of the file that posterity.save has "
    "written."
)


def measure(model: Any, queries: Array | pl.DataFrame, calls: int = 300) -> dict[str, float]:
    """The milliseconds of a call with one row and with all, and the file.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = posterity.LinearRegression().fit(X, [1.0, 3.0, 2.0, 5.0, 4.0, 6.0])
    >>> sorted(measure(model, X, calls=3))
    ['file_bytes', 'load_wall_s', 'row_1_ms', 'rows_1000_ms']
    """
    answer = model.predict_proba if hasattr(model, "classes_") else model.predict_interval
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.posterity"
        posterity.save(model, path)
        loads = _time_calls(lambda: posterity.load(path), 5)
        return {
            "row_1_ms": _time_calls(lambda: answer(queries[:1]), calls),
            "rows_1000_ms": _time_calls(lambda: answer(queries), max(calls // 10, 3)),
            "load_wall_s": loads / 1e3,
            "file_bytes": float(path.stat().st_size),
        }


def _time_calls(call: Callable[[], Any], count: int) -> float:
    """Median milliseconds of processor time."""
    call()
    taken = []
    for _ in range(count):
        before = time.process_time()
        call()
        taken.append(time.process_time() - before)
    return 1e3 * float(np.median(taken))


def fit_table(X: Array, y: Array) -> tables.TableModel:
    """A linear model behind the encoder of raw tables."""
    table = pl.DataFrame(X).with_columns(y=y)
    schema = tables.infer(table, "y")
    return tables.TableModel(posterity.BayesianLinearRegression(), schema).fit(table)


def run(options: Options) -> None:
    """Fit every model once, measure it and write the tables."""
    size = SIZE.tenth() if options.quick else SIZE
    data = friedman.generate(np.random.default_rng(0), size)
    runs = []
    for name, build in MODELS.items():
        y = data.y > np.median(data.y) if "Classifier" in name or "Logistic" in name else data.y
        with threadpool_limits(limits=1):
            runs.append({"contender": name, **measure(build().fit(data.X, y), data.X_test)})
    with threadpool_limits(limits=1):
        numbers = measure(fit_table(data.X, data.y), pl.DataFrame(data.X_test))
        runs.insert(1, {"contender": "the same in a TableModel", **numbers})
    result = {
        "benchmark": "latency",
        "title": "One row, a thousand rows, and the file",
        **machine.describe(),
        "note": NOTE,
        "tasks": [{"name": f"fitted to {size.label}", "runs": runs}],
    }
    report.publish(result, _page(result), options)


def _page(result: dict[str, Any]) -> str:
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    heading = ["", "one row, CPU ms", "1,000 rows, CPU ms", "load, CPU s", "KB"]
    for task in result["tasks"]:
        body = [
            [
                run["contender"],
                report.number(run["row_1_ms"], 2),
                report.number(run["rows_1000_ms"], 2),
                report.number(run["load_wall_s"], 2),
                report.number(run["file_bytes"] / 1e3, 2),
            ]
            for run in task["runs"]
        ]
        lines += [f"## {task['name']}", "", *report.table(heading, body), ""]
    return "\n".join(lines)
