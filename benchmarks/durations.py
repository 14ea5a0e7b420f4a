"""How long a default fit takes, and what it holds: the models of a comparison by rows and columns.

Each model has a process of its own with one thread, and goes from small tables to large ones until
a fit takes longer than the limit; larger tables are then left out. ``posterity compare`` takes its
estimate from these seconds: the same run writes ``src/posterity/comparison/durations.json``.
"""

import functools
import itertools
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks import harness, machine, report, worker
from benchmarks.options import HERE, Options
from posterity import GPLVM, PCA, comparison
from posterity.arrays import Array
from posterity.comparison import durations

KINDS = ("regression", "classification")  # that comparisons estimate
SHIPPED = HERE.parent / "src" / "posterity" / "comparison" / "durations.json"
ROWS, COLUMNS = (500, 2_000, 10_000, 100_000), (5, 20, 80)
MOST_VALUES = 2_000_000  # of a table
MANY_CLASSES, CLASS_ROWS, CLASS_COLUMNS = 10, 2_000, 20
LIMIT, SEED = 20.0, 0
LATENT: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(n_components=2),
    "GPLVM": lambda: GPLVM(inducing_points=100),
}
LATENT_ROWS, LATENT_COLUMNS = 10_000, 20
NOTE = (
    "CPU seconds of a default fit and MiB that it adds at its peak, with one thread, without "
    "compiling. Targets depend on three columns, smoothly and by steps; amounts and counts have "
    "the same mean. A dash: the model is not compared on such a table by default, or took more "
    f"than {LIMIT:.0f} s on a smaller one. Models without a target have independent columns; "
    "GPLVM has 100 inducing points."
)


def run(options: Options) -> None:
    """Measure every usual model; write and show what was found."""
    names = list(dict.fromkeys(member.name for member in _list_members()))
    described = machine.describe()
    runs = []
    with harness.threads_of_children(1):
        reference = harness.in_new_process(durations.time_reference)
        for name in track(names, "models", console=options.console):
            runs += harness.in_new_process(measure_model, name, options.quick)
        if not options.quick:
            runs += [harness.in_new_process(measure_latent, name) for name in LATENT]
    result = {
        "benchmark": "durations",
        "title": "How long a default fit takes",
        **described,
        "note": NOTE,
        "reference_s": reference,
        "tasks": list(_group_by_size(runs)),
    }
    report.publish(result, page(result), options)
    if not options.quick:
        SHIPPED.write_text(json.dumps(shorten(result), separators=(",", ":")) + "\n", "utf-8")


def _list_members() -> list[comparison.Member]:
    """Every model that some table is compared with by default, but for those of time or groups."""
    every = (*comparison.family("regression"), *comparison.family("classification"))
    return [one for one in every if one.usual_rows and one.role is None]


def measure_model(name: str, quick: bool) -> list[dict[str, Any]]:
    """Fit one model of both tasks to tables of growing size, in this process."""
    runs: list[dict[str, Any]] = []
    for member in _list_members():
        if member.name != name:
            continue
        slowest = 0.0
        for n, d, classes in list_sizes(member.task, quick=quick):
            if slowest < LIMIT and _is_usual(member, n, d, classes):
                seconds, mib = _measure_fit(member, n, d, classes)
                slowest = max(slowest, seconds)
                size = {"task": member.task, "rows": n, "columns": d, "classes": classes}
                runs.append({**size, "contender": name, "fit_cpu_s": seconds, "peak_mib": mib})
    return runs


def measure_latent(name: str) -> dict[str, Any]:
    """Fit a model without a target to the size of table that the README shows."""
    X, _ = make_rows("any", LATENT_ROWS, LATENT_COLUMNS, 0)
    seconds, mib = _measure(
        lambda rows: functools.partial(LATENT[name]().fit, X[:rows]), LATENT_ROWS
    )
    size = {"task": "latent", "rows": LATENT_ROWS, "columns": LATENT_COLUMNS, "classes": 0}
    return {**size, "contender": name, "fit_cpu_s": seconds, "peak_mib": mib}


def list_sizes(task: str, *, quick: bool = False) -> list[tuple[int, int, int]]:
    """Rows, columns and classes of the tables that are measured, the smallest first.

    Examples
    --------
    >>> list_sizes("regression", quick=True)
    [(500, 5, 0), (500, 20, 0)]
    """
    n_classes = 2 * (task == "classification")
    rows, columns = (ROWS[:1], COLUMNS[:2]) if quick else (ROWS, COLUMNS)
    sizes = [(n, d, n_classes) for n, d in itertools.product(rows, columns) if n * d <= MOST_VALUES]
    many = [(CLASS_ROWS, CLASS_COLUMNS, MANY_CLASSES)] * (n_classes > 0 and not quick)
    return sorted([*sizes, *many], key=lambda size: (size[2], size[0] * size[1]))


def _is_usual(member: comparison.Member, n: int, d: int, classes: int) -> bool:
    names = [
        one.name for one in comparison.candidates(member.task, n, d, n_classes=max(classes, 2))
    ]
    return member.name in names


def _measure_fit(member: comparison.Member, n: int, d: int, classes: int) -> tuple[float, float]:
    """CPU seconds and MiB of a default fit, with the settings that a comparison gives it."""

    def fit(rows: int) -> Any:
        X, y = make_rows(member.target, rows, d, classes)
        size = {"n_rows": n, "n_columns": d, "n_classes": max(classes, 2)}
        (one,) = comparison.candidates(member.task, **size, names=[member.name])
        return functools.partial(one.estimator.fit, X, y)

    return _measure(fit, n)


def _measure(prepare: Callable[[int], Callable[[], Any]], n: int) -> tuple[float, float]:
    """CPU seconds and MiB of a fit to so many rows, after a small one that compiles."""
    for rows in (min(n, 200), n):
        fit = prepare(rows)
        worker.forget_peak()
        before = worker.peak_mib()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, (_, seconds) = worker.time_work(fit)
    return seconds, worker.peak_mib() - before


def make_rows(target: str, n: int, d: int, classes: int) -> tuple[Array, Any]:
    """Rows whose targets depend on three columns, and are of the kind that a model asks for."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, d))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + (X[:, 2] > 0.5)
    if classes:
        noise = rng.logistic(size=n) * 0.5
        edges = np.quantile(f, np.arange(1, classes) / classes)
        return X, np.searchsorted(edges, f + noise)
    if target == "counts":
        return X, rng.poisson(np.exp(0.5 * f)).astype(float)
    if target == "positive":
        return X, rng.gamma(3.0, np.exp(0.5 * f) / 3.0)
    return X, f + 0.3 * rng.normal(size=n)


def _group_by_size(runs: list[dict[str, Any]]) -> Any:
    """One task for each kind of target and size, as results are written."""
    keys = ("task", "rows", "columns", "classes")
    sizes = sorted({tuple(run[key] for key in keys) for run in runs})
    for size in sizes:
        named = dict(zip(keys, size, strict=True))
        kept = [run for run in runs if all(run[key] == named[key] for key in keys)]
        words = f"{named['task']}, {named['rows']:,} x {named['columns']:,}"
        if named["classes"] > 2:
            words += f", {named['classes']} classes"
        measured = [
            {key: run[key] for key in ("contender", "fit_cpu_s", "peak_mib")} for run in kept
        ]
        yield {"name": words, **named, "runs": measured}


def shorten(result: dict[str, Any]) -> dict[str, Any]:
    """What the package keeps: seconds by model, rows, columns and classes, and the reference."""
    seconds: dict[str, dict[str, list[list[float]]]] = {}
    for task in result["tasks"]:
        for run in task["runs"] if task["task"] in KINDS else ():
            of_task = seconds.setdefault(task["task"], {})
            row = [task["rows"], task["columns"], task["classes"], float(f"{run['fit_cpu_s']:.3g}")]
            of_task.setdefault(run["contender"], []).append(row)
    return {"reference_s": float(f"{result['reference_s']:.3g}"), **seconds}


def page(result: dict[str, Any]) -> str:
    """One table for each kind of target: models by sizes."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", result["note"]]
    for kind in (*KINDS, "latent"):
        tasks = [task for task in result["tasks"] if task["task"] == kind]
        heading = ["", *(task["name"].partition(", ")[2] for task in tasks)]
        names = dict.fromkeys(run["contender"] for task in tasks for run in task["runs"])
        body = [[name, *(_cell(task, name) for task in tasks)] for name in names]
        lines += ["", f"**{kind.capitalize()}**", "", *report.table(heading, body)]
    return "\n".join([*lines, ""])


def _cell(task: dict[str, Any], name: str) -> str:
    for run in task["runs"]:
        if run["contender"] == name:
            return f"{report.number(run['fit_cpu_s'], 2)} s, {max(run['peak_mib'], 1.0):,.0f} MiB"
    return "-"
