"""Every result in one shape: tables of contenders by measurements, whatever its benchmark wrote."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import advice, few_rows_tables
from benchmarks.options import HERE

RESULTS = HERE / "results"

# Figures that others published stay as they wrote them.
Value = float | str


@dataclass(frozen=True)
class Table:
    """What was measured of one task: each contender's medians, or means over splits."""

    name: str
    rows: Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True)
class Result:
    """One file of results: its tables, and the raw record for where they come from."""

    name: str
    tables: tuple[Table, ...]
    record: Mapping[str, Any]

    def table(self, name: str) -> Table:
        """The table of a task.

        Raises
        ------
        KeyError
            With the names there are.
        """
        for table in self.tables:
            if table.name == name:
                return table
        known = "; ".join(table.name for table in self.tables)
        raise KeyError(f"{self.name} has no task {name!r}; it has: {known}")


def names(folder: Path = RESULTS) -> list[str]:
    """Every result that is kept."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read(name: str, folder: Path = RESULTS) -> Result:
    """One result, as tables.

    Examples
    --------
    >>> [table.name for table in read("out_of_core").tables]
    ['10,000,000 x 50']
    """
    written = json.loads((folder / f"{name}.json").read_text())
    record = written if isinstance(written, dict) else {"rows": written}
    return Result(name, tuple(_READERS.get(name, _read_tasks)(record)), record)


def _read_tasks(record: dict[str, Any]) -> Iterable[Table]:
    """Tasks with repeated runs and their summary, or with one run of each contender."""
    summarised = all("summary" in task for task in record["tasks"])
    return (_of_tasks if summarised else _of_single_runs)(record)


def _of_tasks(record: dict[str, Any]) -> Iterable[Table]:
    """What ``harness`` writes, and sets with splits and published figures beside them."""
    for task in record["tasks"]:
        rows = {name: _centres(spreads) for name, spreads in task["summary"].items()}
        others = dict(_read_published(figure) for figure in task.get("published", ()))
        yield Table(f"{task['name']}, {_size(task)}", rows | others)


def _size(sized: Mapping[str, Any]) -> str:
    return f"{sized['rows']:,} x {sized['columns']:,}"


def _centres(spreads: Mapping[str, Mapping[str, float]]) -> dict[str, Value]:
    return {key: spread.get("median", spread.get("mean", 0.0)) for key, spread in spreads.items()}


def _read_published(figure: Any) -> tuple[str, dict[str, Value]]:
    """Read a published figure: a name and an error, or a record of relevance vectors."""
    if isinstance(figure, dict):
        shown = {key: value for key, value in figure.items() if key != "who" and value != "-"}
        return figure["who"], shown
    return figure[0], {"error_percent": figure[1]}


def _of_processes(record: dict[str, Any]) -> Iterable[Table]:
    """Whole processes: their peak is of everything, not what was added."""
    rows = {name: _centres(spreads) for name, spreads in record["summary"].items()}
    rows = {
        name: {("absolute_" + key if key == "peak_mib" else key): v for key, v in row.items()}
        for name, row in rows.items()
    }
    yield Table(_size(record) if "rows" in record else "whole processes", rows)


def _of_single_runs(record: dict[str, Any]) -> Iterable[Table]:
    for task in record["tasks"]:
        yield Table(task["name"], {run["contender"]: _numbers(run) for run in task["runs"]})


def _numbers(run: Mapping[str, Any]) -> dict[str, Value]:
    kept = {key: value for key, value in run.items() if isinstance(value, int | float)}
    return {key: float(value) for key, value in kept.items() if key != "blas_threads"}


def _motion(record: dict[str, Any]) -> Iterable[Table]:
    runs = record["tasks"][0]["runs"]
    for hidden in (key for key, value in runs[0].items() if isinstance(value, dict)):
        rows = {run["contender"]: _numbers(run) | _by_motion(run[hidden]) for run in runs}
        yield Table(f"{hidden} hidden", rows)


def _by_motion(found: Mapping[str, Any]) -> dict[str, Value]:
    numbers = _numbers(found)
    for motion, scores in found.items():
        if isinstance(scores, dict):
            numbers |= {f"{key}_{motion}": value for key, value in _numbers(scores).items()}
    return numbers


def _posterior(record: dict[str, Any]) -> Iterable[Table]:
    for task in record["tasks"]:
        yield Table(task["name"], {who: _numbers(model) for who, model in task["models"].items()})


def _read_structured(record: dict[str, Any]) -> Iterable[Table]:
    for task in record["tasks"]:
        rows = {who: _correct(kernel) for who, kernel in task["kernels"].items()}
        for who, percent in task["published"].items():
            rows.setdefault(who, {})["published"] = percent
        yield Table(task["name"], rows)


def _correct(kernel: Mapping[str, Any]) -> dict[str, Value]:
    shares = {key: value["percent"] for key, value in kernel.items() if isinstance(value, dict)}
    return _numbers(kernel) | shares


def _uci(record: dict[str, Any]) -> Iterable[Table]:
    for task in record["tasks"]:
        rows = {task["model"]: _centres(task["summary"])}
        for who, rmse, log_score in task["others"]:
            rows[who] = {"rmse": str(rmse), "log_score": str(log_score)}
        yield Table(f"{task['name']}, {len(task['splits'])} splits", rows)


def _nist(record: dict[str, Any]) -> Iterable[Table]:
    """The sets are the measurements: correct digits of the worst coefficient."""
    rows: dict[str, dict[str, Value]] = {}
    for task in record["tasks"]:
        for who, digits in task["log_relative_error"].items():
            rows.setdefault(who, {})[task["name"]] = min(digits)
    yield Table("correct digits of the worst coefficient", rows)


def _calibration(record: dict[str, Any]) -> Iterable[Table]:
    for task in record["tasks"]:
        first = [run for run in task["runs"] if run["repeat"] == 0]
        rows = {run["contender"]: _numbers(run) | _read_diagram(run["diagram"]) for run in first}
        yield Table(f"{task['name']}, {task['test_rows']:,} test rows", rows)


def _read_diagram(diagram: list[dict[str, float]]) -> dict[str, Value]:
    """Mean distance of shares from probabilities, and both where the contender is surest."""
    rows = sum(point["rows"] for point in diagram)
    off = sum(point["rows"] * abs(point["happened"] - point["stated"]) for point in diagram)
    last = diagram[-1]
    return {
        "top_class_error": off / rows,
        "stated_last": last["stated"],
        "happened_last": last["happened"],
    }


def _device_process(record: dict[str, Any]) -> Iterable[Table]:
    measured = {"posterity": record["evaluation"], "GPyTorch, Cholesky": record["gpytorch"]}
    by_rows: dict[int, dict[str, dict[str, Value]]] = {}
    for who, runs in measured.items():
        for run in runs:
            by_rows.setdefault(run["rows"], {})[who] = _numbers(run)
    for rows, found in sorted(by_rows.items()):
        yield Table(f"{rows:,} rows", found)


def _device_cholesky(record: dict[str, Any]) -> Iterable[Table]:
    keys = ("seconds", "extra_memory_of_matrix", "tflops")
    for run in record["rows"]:
        rows = {
            "posterity, in place": {key: run[key] for key in keys},
            "the library's own": {key: run["theirs_" + key] for key in keys},
        }
        yield Table(f"{run['library']}, {run['n']:,} rows", rows)


def _read_choosing(record: dict[str, Any]) -> Iterable[Table]:
    """The questions are the tasks, and the sets that answer them with yes the rows."""
    for question, sets in advice.rows(record).items():
        yield Table(question, {name: dict(cells) for name, cells in sets.items()})


def _few_rows(record: dict[str, Any]) -> Iterable[Table]:
    """The measurements but for times are the tasks, and numbers of rows the columns."""
    for title, rows in few_rows_tables.arrange(record).items():
        if not title.startswith("Fit"):
            yield Table(title, dict(rows))


_OVERVIEW = (
    *("log_loss_rank", "log_loss_wins", "error_percent_near_best", "top_class_error_rank"),
    *("rmse_rank", "rmse_to_best_peer", "log_score_rank", "crps_rank"),
    *("coverage_least", "coverage_largest"),
)
_OF_A_SET = (
    *("log_loss", "error_percent", "top_class_error", "rmse", "log_score", "crps", "fit_cpu_s"),
)


def _boosted_trees(record: dict[str, Any]) -> Iterable[Table]:
    """Mean ranks over all sets come first; of a set, the scores that were ranked."""
    yield Table(f"all {len(record['tasks'])} sets", _select(record["ranks"], _OVERVIEW))
    for task in record["tasks"]:
        shown = _select(task["summary"], (*_OF_A_SET, "coverage_90"))
        yield Table(f"{task['name']}, {_size(task)}", shown)


def _select(
    summary: Mapping[str, Mapping[str, Any]], keys: Iterable[str]
) -> dict[str, dict[str, Value]]:
    chosen = dict.fromkeys(keys)
    return {
        name: {key: value for key, value in _centres(row).items() if key in chosen}
        for name, row in summary.items()
    }


def _read_dependent(record: dict[str, Any]) -> Iterable[Table]:
    """The kinds of dependence are the tasks, and the tables the rows."""
    for kind in dict.fromkeys(task["kind"] for task in record["tasks"]):
        rows = {task["table"]: _numbers(task) for task in record["tasks"] if task["kind"] == kind}
        yield Table(f"coverage, stated and true, by {kind}", rows)


_READERS: dict[str, Callable[[dict[str, Any]], Iterable[Table]]] = {
    "out_of_core": _of_processes,
    "out_of_core_logistic": _of_processes,
    "command": _of_processes,
    "motion": _motion,
    "posterior_accuracy": _posterior,
    "structured_kernels": _read_structured,
    "uci_regression": _uci,
    "boosted_trees_classes": _boosted_trees,
    "boosted_trees_numbers": _boosted_trees,
    "nist": _nist,
    "few_rows": _few_rows,
    "dependent_tables": _read_dependent,
    "calibration": _calibration,
    "choosing": _read_choosing,
    "device_process": _device_process,
    "device_cholesky": _device_cholesky,
}
