"""The results of ``few_rows`` as tables: a measurement each, estimators by numbers of rows."""

import itertools
from collections.abc import Mapping
from typing import Any

from benchmarks import report

# The key of a measurement, the title of its table, and digits after the point.
TABLES = (
    ("coverage_90", "Coverage of 90 % intervals", 3),
    ("log_score_gain", "Mean log score, less that of the oracle", 3),
    ("relative_width", "Width of 90 % intervals, relative to the oracle, median", 2),
    ("slope", "Calibration slope of probabilities: below 1 too sure", 2),
    ("oracle_slope", "Calibration slope of the oracle", 2),
    ("fit_ms", "Fit, CPU ms, median", 1),
)


def arrange(record: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Arrange each measurement by its title: rows of estimators, columns of row counts."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (key, title, _), task in itertools.product(TABLES, record["tasks"]):
        for cell in task["cells"]:
            if key in cell:
                label = ", ".join(filter(None, (task["name"], cell["hyperparameters"])))
                rows = found.setdefault(title, {}).setdefault(label, {})
                rows[f"{cell['rows']} rows"] = cell[key]
    return found


def page(result: Mapping[str, Any]) -> str:
    """The tables in Markdown, and the truths in words."""
    lines = [f"# {result['title']}", "", *report.provenance(dict(result)), ""]
    lines += [f"{_count_simulations(result)} simulations a cell. {result['note']}", ""]
    digits = {title: shown for _, title, shown in TABLES}
    for title, rows in arrange(result).items():
        lines += [f"## {title}", "", *_table(rows, digits[title]), ""]
    lines += ["## Truths", "", *(f"- {task['name']}: {task['truth']}" for task in result["tasks"])]
    return "\n".join([*lines, ""])


def _count_simulations(result: Mapping[str, Any]) -> str:
    sizes = {cell["simulations"] for task in result["tasks"] for cell in task["cells"]}
    return f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{min(sizes, default=0)}"


def _table(rows: Mapping[str, Mapping[str, float]], digits: int) -> list[str]:
    heading = list(dict.fromkeys(key for row in rows.values() for key in row))
    body = [
        [name, *(f"{row[key]:.{digits}f}" if key in row else "-" for key in heading)]
        for name, row in rows.items()
    ]
    return report.table(["", *heading], body)
