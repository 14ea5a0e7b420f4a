"""From scores by table and fold to means with standard errors, mean ranks and wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from benchmarks import report
from benchmarks.cases import Array
from benchmarks.uci_regression import mean_and_error

Spread: TypeAlias = dict[str, float | None]
Summary: TypeAlias = dict[str, dict[str, Spread]]
COVERED = (0.87, 0.93)


@dataclass(frozen=True)
class Measure:
    """A score, what a table calls it, and whether more of it is better."""

    key: str
    heading: str
    more_is_better: bool = False
    is_ranked: bool = True
    counts_wins: bool = False


CLASSES = (
    Measure("log_loss", "log loss", counts_wins=True),
    Measure("error_percent", "errors, %"),
    Measure("brier", "Brier score", is_ranked=False),
    Measure("top_class_error", "calibration error"),
    Measure("classes_error", "calibration error of all classes"),
    Measure("fit_cpu_s", "fit, CPU s"),
)
NUMBERS = (
    Measure("rmse", "RMSE"),
    Measure("log_score", "log score", more_is_better=True, counts_wins=True),
    Measure("crps", "CRPS"),
    Measure("coverage_90", "90 % coverage", is_ranked=False),
    Measure("fit_cpu_s", "fit, CPU s"),
)


def summarise(record: Mapping[str, Any]) -> Summary:
    """Mean and standard error over the folds, by contender; calibration has none.

    Of one table; calibration is of the rows of all folds together.
    """
    names = list(dict.fromkeys(run["contender"] for run in record["folds"]))
    summary: Summary = {}
    for name in names:
        own = [run for run in record["folds"] if run["contender"] == name]
        keys = [key for key, value in own[0].items() if isinstance(value, float)]
        summary[name] = {key: mean_and_error([run[key] for run in own]) for key in keys}
        pooled = record["pooled"].get(name, {})
        summary[name] |= {key: _exact(value) for key, value in pooled.items()}
    return summary


def _exact(value: float) -> Spread:
    return {"mean": value, "standard_error": None}


def summarise_ranks(tasks: Sequence[Mapping[str, Any]], measures: Sequence[Measure]) -> Summary:
    """Over all tables, by contender: mean ranks with standard errors, and wins.

    A contender without a score, as a mean without a distribution, has no rank in it.
    """
    names = list(dict.fromkeys(name for task in tasks for name in task["summary"]))
    found: Summary = {name: {"tables": _exact(_count_tables(tasks, name))} for name in names}
    for measure in measures:
        table = _gather(tasks, names, measure.key)
        here = np.flatnonzero(~np.isnan(table).any(axis=0))
        if not measure.is_ranked or not len(here):
            continue
        sign = -1.0 if measure.more_is_better else 1.0
        ranks = stats.rankdata(sign * table[:, here], axis=1)
        for place, at in enumerate(here):
            row = found[names[at]]
            row[f"{measure.key}_rank"] = mean_and_error(ranks[:, place].tolist())
            if measure.counts_wins:
                row[f"{measure.key}_wins"] = _exact(float(np.sum(ranks[:, place] == 1.0)))
    return found


def _gather(tasks: Sequence[Mapping[str, Any]], names: Sequence[str], key: str) -> Array:
    """Means, a table a row and a contender a column; NaN where there is none."""
    cells = [[_mean(task["summary"].get(name, {}).get(key)) for name in names] for task in tasks]
    return np.array(cells, dtype=np.float64)


def _mean(spread: Mapping[str, Any] | None) -> float:
    return float("nan") if spread is None else float(spread["mean"])


def _count_tables(tasks: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(sum(name in task["summary"] for task in tasks))


def add_behind(ranks: Summary, tasks: Sequence[Mapping[str, Any]], measure: Measure) -> None:
    """On how many tables each contender is behind the first one."""
    names = list(ranks)
    sign = -1.0 if measure.more_is_better else 1.0
    table = sign * _gather(tasks, names, measure.key)
    for name, values in zip(names[1:], table[:, 1:].T, strict=True):
        if not np.isnan(values).all():
            ranks[name][f"{measure.key}_behind"] = _exact(float(np.sum(values > table[:, 0])))


def add_ratios(ranks: Summary, tasks: Sequence[Mapping[str, Any]], key: str) -> None:
    """The mean over tables of a score in units of the least of two peers, CatBoost and LightGBM."""
    names = list(ranks)
    table = _gather(tasks, names, key)
    peers = [at for at, name in enumerate(names) if name == "CatBoost" or name.startswith("Light")]
    ratios = table / np.nanmin(table[:, peers], axis=1, keepdims=True)
    for at, name in enumerate(names):
        own = ratios[~np.isnan(ratios[:, at]), at]
        ranks[name][f"{key}_to_best_peer"] = mean_and_error(own.tolist())


def add_coverage(ranks: Summary, tasks: Sequence[Mapping[str, Any]]) -> None:
    """The least and the largest coverage of a table, and how many lie within the limits."""
    names = list(ranks)
    for name, column in zip(names, _gather(tasks, names, "coverage_90").T, strict=True):
        values = column[~np.isnan(column)]
        if not len(values):
            continue
        within = (values >= COVERED[0]) & (values <= COVERED[1])
        ranks[name]["coverage_least"] = _exact(float(values.min()))
        ranks[name]["coverage_largest"] = _exact(float(values.max()))
        ranks[name]["coverage_off"] = _exact(float(np.mean(np.abs(values - 0.9))))
        ranks[name]["coverage_within"] = _exact(float(within.sum()))


def add_near_best(ranks: Summary, tasks: Sequence[Mapping[str, Any]], key: str) -> None:
    """On how many tables a contender is within one standard error of the best one.

    The error is that of the difference fold by fold: all had the same rows.
    """
    names = list(ranks)
    count = dict.fromkeys(names, 0)
    for task in tasks:
        by_name = {
            name: np.array([run[key] for run in task["folds"] if run["contender"] == name])
            for name in task["summary"]
        }
        best = min(by_name.values(), key=np.mean)
        for name, values in by_name.items():
            count[name] += _is_near(values - best)
    for name in names:
        ranks[name][f"{key}_near_best"] = _exact(float(count[name]))


def _is_near(difference: Array) -> bool:
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return bool(difference.mean() <= error)


def page(result: Mapping[str, Any], measures: Sequence[Measure]) -> str:
    """The page: ranks over all tables first, then each table."""
    lines = [f"# {result['title']}", "", *report.provenance(dict(result)), "", result["note"], ""]
    if result["not_installed"]:
        lines += [f"Left out, because not installed: {', '.join(result['not_installed'])}.", ""]
    lines += [f"## All {len(result['tasks'])} tables", "", *_overview(result["ranks"]), ""]
    shown = {measure.key: measure.heading for measure in measures}
    for task in result["tasks"]:
        lines += [f"## {describe(task)}", "", *_table(task["summary"], shown), ""]
    return "\n".join(lines)


def describe(task: Mapping[str, Any]) -> str:
    """A table in a line."""
    said = [f"{task['name']}: {task['rows']:,} x {task['columns']}"]
    if task["classes"]:
        said.append(f"{task['classes']} classes")
    for key, words in (("categorical", "categorical columns"), ("missing", "missing cells")):
        said += [f"{task[key]:,} {words}"] if task[key] else []
    return ", ".join(said)


def _overview(ranks: Summary) -> list[str]:
    keys = list(dict.fromkeys(key for row in ranks.values() for key in row))
    heading = ["", *(HEADINGS.get(key, key) for key in keys)]
    return report.table(heading, [[name, *_cells(row, keys)] for name, row in ranks.items()])


def _table(summary: Summary, shown: Mapping[str, str]) -> list[str]:
    body = [[name, *_cells(row, shown)] for name, row in summary.items()]
    return report.table(["", *shown.values()], body)


def _cells(row: Mapping[str, Spread], keys: Sequence[str] | Mapping[str, str]) -> list[str]:
    return [_cell(row.get(key), key) for key in keys]


def _cell(spread: Spread | None, key: str) -> str:
    if spread is None:
        return "-"
    if key == "tables" or key.endswith(("_wins", "_within", "_near_best", "_behind")):
        return f"{spread['mean']:.0f}"
    mean, error = report.number(spread["mean"], digits=4), spread["standard_error"]
    return mean if error is None else f"{mean} +- {report.number(error, digits=2)}"


def _name_ranks(measures: Sequence[Measure]) -> dict[str, str]:
    return {f"{m.key}_rank": f"mean rank by {m.heading}" for m in measures} | {
        f"{m.key}_{end}": f"{words} {m.heading}"
        for m in measures
        for end, words in (("wins", "wins by"), ("behind", "tables behind the first by"))
    }


HEADINGS: dict[str, str] = {
    **_name_ranks(CLASSES),
    **_name_ranks(NUMBERS),
    "error_percent_near_best": "within a standard error of the least errors",
    "log_loss_near_best": "within a standard error of the least log loss",
    "rmse_to_best_peer": "RMSE / the best of CatBoost's and LightGBM's",
    "coverage_least": "least coverage",
    "coverage_largest": "largest",
    "coverage_off": "mean distance from 0.9",
    "coverage_within": f"tables within {COVERED[0]} to {COVERED[1]}",
}
