"""From raw runs to medians, a Markdown table and the files they are kept in."""

import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.options import Options

RATIO = "ratio"
DIGITS = {"exact": 7, "score": 4}

# The key of a measurement, its heading, and how it is shown.
COLUMNS = (
    ("evaluation_wall_s", "evaluation, s", "range"),
    ("evaluation_wall_s", "x posterity", RATIO),
    ("evaluation_cpu_s", "evaluation, CPU s", "median"),
    ("floor_wall_s", "floor, s", "median"),
    ("times_floor", "x floor", "range"),
    ("matrices", "memory, N x N doubles", "median"),
    ("fit_wall_s", "fit, s", "range"),
    ("fit_wall_s", "x posterity", RATIO),
    ("fit_cpu_s", "fit, CPU s", "median"),
    ("predict_wall_s", "predict, s", "range"),
    ("predict_wall_s", "x posterity", RATIO),
    ("predict_cpu_s", "predict, CPU s", "median"),
    ("whole_wall_s", "fit and predict, s", "median"),
    ("whole_wall_s", "x posterity", RATIO),
    ("fit_peak_mib", "memory of fit, MiB", "median"),
    ("peak_mib", "of fit and predict, MiB", "median"),
    ("absolute_peak_mib", "whole process, MiB", "median"),
    ("passes", "passes", "median"),
    ("received_kib", "to the client, KiB", "median"),
    ("sent_kib", "from the client, KiB", "median"),
    ("row_1_ms", "one row, ms", "range"),
    ("row_1_ms", "x posterity", RATIO),
    ("row_2_ms", "by two threads, ms", "median"),
    ("row_2_ms", "x posterity", RATIO),
    ("rows_1_s", "all rows, s", "range"),
    ("rows_1_s", "x posterity", RATIO),
    ("rows_2_s", "by two threads, s", "range"),
    ("rows_2_s", "x posterity", RATIO),
    ("save_wall_s", "save, s", "range"),
    ("save_wall_s", "x posterity", RATIO),
    ("save_cpu_s", "save, CPU s", "median"),
    ("load_wall_s", "load, s", "range"),
    ("load_wall_s", "x posterity", RATIO),
    ("load_cpu_s", "load, CPU s", "median"),
    ("save_peak_mib", "memory of save, MiB", "median"),
    ("load_peak_mib", "of load, MiB", "median"),
    ("file_bytes", "bytes", "median"),
    ("file_bytes", "x posterity", RATIO),
    ("rows_inside", "training rows inside", "median"),
    ("pickle_mb", "pickle, MB", "median"),
    ("log_score", "log score", "score"),
    ("rmse", "RMSE", "score"),
    ("rmse_of_function", "RMSE of the function", "score"),
    ("coverage_90", "90 % coverage", "score"),
    ("crps", "CRPS", "score"),
    ("error_percent", "errors, %", "score"),
    ("log_loss", "log loss", "score"),
    ("impossible_percent", "called impossible, %", "median"),
    ("brier", "Brier score", "score"),
    ("top_class_error", "calibration error, top class", "median"),
    ("classes_error", "all classes", "median"),
    ("confidence_error", "confidence error", "score"),
    ("calibration_error", "calibration error", "score"),
    ("gradient_norm", "gradient", "power"),
    ("tolerance", "tol", "power"),
    ("mean_log_likelihood", "mean log likelihood", "exact"),
    ("digits", "correct digits", "median"),
    ("log10_penalty", "log10 of the penalty", "score"),
    ("vectors", "vectors", "median"),
    ("log_evidence", "log evidence", "exact"),
    ("log_density", "log density", "exact"),
    ("log_posterior", "log posterior", "exact"),
    ("variance", "variance", "score"),
    ("length_scale", "length scale", "score"),
    ("evaluations", "evaluations", "median"),
    ("iterations", "iterations", "median"),
)


def summarise(runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Median, least and largest of each measurement, and its ratio to the first contender's."""
    names = list(dict.fromkeys(run["contender"] for run in runs))
    summary: dict[str, dict[str, dict[str, float | None]]] = {}
    for name in names:
        own = [run for run in runs if run["contender"] == name]
        keys = [key for key, value in own[0].items() if isinstance(value, float)]
        summary[name] = {key: _spread([run[key] for run in own]) for key in keys}
        for key, spread in summary[name].items():
            spread[RATIO] = _ratio(spread, summary[names[0]].get(key))
    return summary


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _ratio(spread: dict[str, float | None], first: dict[str, float | None] | None) -> float | None:
    """How many times posterity's median; None where there is nothing to divide by."""
    if first is None or not first["median"] or spread["median"] is None:
        return None
    return spread["median"] / first["median"]


def markdown(result: dict[str, Any]) -> str:
    """The page of one benchmark: what was measured, on what, and a table a task."""
    lines = [f"# {result['title']}", "", *provenance(result), ""]
    if result.get("note"):
        lines += [result["note"], ""]
    if result.get("not_installed"):
        lines += [f"Left out, because not installed: {', '.join(result['not_installed'])}.", ""]
    for task in result["tasks"]:
        size = f"{task['rows']:,} x {task['columns']:,}"
        lines += [f"## {size}: {task['name']}", "", *_task_table(task["summary"]), ""]
    return "\n".join(lines)


def provenance(result: dict[str, Any]) -> list[str]:
    """Machine, versions and date, in a paragraph."""
    m, runs = result["machine"], [run for task in result["tasks"] for run in task.get("runs", ())]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    blas = sorted({library for run in runs for library in run.get("blas", ())})
    threads = sorted({str(run["blas_threads"]) for run in runs if "blas_threads" in run})
    return [
        f"{result['date']}. {m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['os']}; "
        f"load average before the run {m['load_average_before']}.",
        versions + (f"; {', '.join(blas)}, BLAS threads {' or '.join(threads)}." if blas else "."),
    ]


def _task_table(summary: dict[str, dict[str, dict[str, float | None]]]) -> list[str]:
    measured = {key for row in summary.values() for key in row}
    columns = [column for column in COLUMNS if column[0] in measured]
    body = [
        [name, *(cell(row.get(key), style) for key, _, style in columns)]
        for name, row in summary.items()
    ]
    return table(["", *(heading for _, heading, _ in columns)], body)


def cell(spread: dict[str, float | None] | None, style: str) -> str:
    """What a table shows of a measurement; a dash where it is missing."""
    if spread is None:
        return "-"
    if style == "range":
        return f"{number(spread['median'])} ({number(spread['min'])} - {number(spread['max'])})"
    if style == "power":
        return f"{spread['median']:.1e}"
    if style in DIGITS:
        return number(spread["median"], DIGITS[style])
    return number(spread[style])


def number(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent."""
    if value is None:
        return "-"
    if value == 0.0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def table(heading: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table, numbers to the right."""
    rule = ["---", *("---:" for _ in heading[1:])]
    return ["| " + " | ".join(row) + " |" for row in (heading, rule, *body)]


def publish(result: dict[str, Any], page: str, options: Options) -> None:
    """Write NAME.json and NAME.md, and show the page."""
    options.results.mkdir(parents=True, exist_ok=True)
    stem = options.results / result["benchmark"]
    stem.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page)
    options.console.print(page, highlight=False, markup=False, soft_wrap=True)
