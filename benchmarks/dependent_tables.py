"""Does the coverage that ``posterity compare`` states hold for later rows, new groups and regions?

Tables whose rows depend on each other are made with rows of the future, which the comparison does
not see: later times, other groups, other regions. The stated coverage (accuracy, for classes) is
that of the winner on held-out rows; the true one is that of the saved model on the new rows, both
averaged over draws of the table. Tables whose rows are exchangeable say how often rows are called
dependent that are not.

    python -m benchmarks.dependent_tables                  # all, into benchmarks/results
    python -m benchmarks.dependent_tables --draws 2 --quick
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.console import Console

from benchmarks import exchangeable_tables, machine, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import comparison, tables

DRAWS, RANDOM_DRAWS = 8, 2  # of each table, and of these with random folds too
N, LATER = 120, 12  # times, and those that follow: as long as a held-out window
GROUPS, VISITS, NEW_GROUPS = 30, 5, 60
PLACES, REGIONS = 180, 3  # rows of a map, and regions that are left out of it
TIMES_MORE = 3  # draws of a table in time, whose new rows are one forecast
_MODELS = {
    "time": ("linear", "lagged"),
    "groups": ("linear", "linear-groups"),
    "blocks": ("linear", "process"),
}

NOTE = (
    "Stated: coverage of 90 % intervals of the winner on held-out rows (for classes: accuracy), "
    "with folds by time, group or region, and with random folds. True: of the model fitted to all "
    "rows, on new rows that the comparison did not see. Means over draws of the table, +- standard "
    "errors over draws; random folds and findings on the first two. Models: linear and lagged "
    "(classes: process-time); linear and linear-groups; linear and process; with random folds "
    "linear and process. Found: how often the dependence was found when nobody named the column."
)

Made = tuple[dict[str, Any], dict[str, Any]]  # a table, and rows of the future


@dataclass(frozen=True)
class Case:
    """How a table is made, and the column that says which rows depend on each other."""

    name: str
    make: Callable[[np.random.Generator], Made]
    roles: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of dependence."""
        return next(iter(self.roles))


def _split(columns: dict[str, Any], known: Any) -> Made:
    known = np.asarray(known)
    frame = pl.DataFrame(columns)
    return frame.filter(known).to_dict(as_series=False), frame.filter(~known).to_dict(
        as_series=False
    )


def _in_time(
    signal: Callable[[np.random.Generator, Array], Array], *, is_class: bool = False, step: int = 1
) -> Callable[[np.random.Generator], Made]:
    """A date, an input with an effect, and a signal in time."""

    def make(rng: np.random.Generator) -> Made:
        n = N + LATER
        t = step * np.arange(n)
        x = rng.normal(size=n)
        y = signal(rng, t.astype(float)) + 0.5 * x
        start = datetime.date(2019, 3, 1)
        dates = [start + datetime.timedelta(days=int(day)) for day in t]
        target = np.where(y + 0.5 * rng.normal(size=n) > np.median(y), "high", "low")
        return _split({"date": dates, "x": x, "y": target if is_class else y}, np.arange(n) < N)

    return make


def _walk(scale: float, noise: float = 0.0) -> Callable[[np.random.Generator, Array], Array]:
    return lambda rng, t: scale * rng.normal(size=len(t)).cumsum() + noise * rng.normal(size=len(t))


def _autoregression(phi: float) -> Callable[[np.random.Generator, Array], Array]:
    def signal(rng: np.random.Generator, t: Array) -> Array:
        y = rng.normal(size=len(t)) / np.sqrt(1.0 - phi**2)
        for i in range(1, len(t)):
            y[i] = phi * y[i - 1] + rng.normal()
        return y

    return signal


def _plus_trend(
    signal: Callable[[np.random.Generator, Array], Array], slope: float
) -> Callable[[np.random.Generator, Array], Array]:
    return lambda rng, t: signal(rng, t) + slope * t


def _season(rng: np.random.Generator, t: Array) -> Array:
    return 2.0 * np.sin(2.0 * np.pi * t / 365.2425) + 0.5 * rng.normal(size=len(t))


def _in_groups(
    *,
    offset: float = 1.5,
    slope: float = 0.0,
    n_groups: int = GROUPS,
    visits: int = VISITS,
    is_class: bool = False,
    unequal: bool = False,
) -> Callable[[np.random.Generator], Made]:
    """Visits of patients with an offset and a slope each, and visits of other patients."""

    def make(rng: np.random.Generator) -> Made:
        total = n_groups + NEW_GROUPS
        sizes = rng.integers(2, 2 * visits, total) if unequal else np.full(total, visits)
        g = np.repeat(np.arange(total), sizes)
        base, dose = rng.normal(size=total)[g], rng.normal(size=len(g))
        y = offset * rng.normal(size=total)[g] + (1.0 + slope * rng.normal(size=total)[g]) * dose
        y = y + 0.5 * base + 0.7 * rng.normal(size=len(g))
        names = [f"p{k:03d}" for k in g]
        target = np.where(y > 0.0, "yes", "no") if is_class else y
        return _split({"patient": names, "base": base, "dose": dose, "y": target}, g < n_groups)

    return make


def _in_space(
    length: float, *, noise: float = 0.3, effect: float = 0.0, is_class: bool = False
) -> Callable[[np.random.Generator], Made]:
    """A field over a square of 10 x 10, and some regions of it that are left out."""

    def make(rng: np.random.Generator) -> Made:
        L = 10.0 * rng.random((PLACES, 2))
        K = np.exp(-np.linalg.norm(L[:, None] - L[None], axis=2) / length)
        f = np.linalg.cholesky(K + 1e-8 * np.eye(len(L))) @ rng.normal(size=len(L))
        w = rng.normal(size=len(L))
        y = 1.5 * f + effect * w + noise * rng.normal(size=len(L))
        centres = 1.0 + 8.0 * rng.random((REGIONS, 2))
        known = np.min(np.linalg.norm(L[:, None] - centres, axis=2), axis=1) > 1.3
        target = np.where(y > 0.0, "yes", "no") if is_class else y
        return _split({"lat": L[:, 0], "lon": L[:, 1], "w": w, "y": target}, known)

    return make


_DATE, _PATIENT, _MAP = {"time": "date"}, {"groups": "patient"}, {"blocks": ("lat", "lon")}
CASES = (
    Case("random walk", _in_time(_walk(1.0)), _DATE),
    Case("slow random walk with noise", _in_time(_walk(0.3, 1.0)), _DATE),
    Case("random walk, every third day", _in_time(_walk(1.0), step=3), _DATE),
    Case("autoregression, 0.5", _in_time(_autoregression(0.5)), _DATE),
    Case("autoregression, 0.9", _in_time(_autoregression(0.9)), _DATE),
    Case("trend and autoregression, 0.8", _in_time(_plus_trend(_autoregression(0.8), 0.05)), _DATE),
    Case("trend and independent noise", _in_time(_plus_trend(_walk(0.0, 1.0), 0.03)), _DATE),
    Case("season of a year", _in_time(_season, step=8), _DATE),
    Case("classes, autoregression, 0.9", _in_time(_autoregression(0.9), is_class=True), _DATE),
    Case("offsets of patients", _in_groups(), _PATIENT),
    Case("large offsets", _in_groups(offset=4.0), _PATIENT),
    Case("small offsets", _in_groups(offset=0.6), _PATIENT),
    Case("offsets and slopes", _in_groups(slope=1.0), _PATIENT),
    Case("few patients, many visits", _in_groups(n_groups=15, visits=12), _PATIENT),
    Case("unequal numbers of visits", _in_groups(unequal=True), _PATIENT),
    Case("classes, offsets of patients", _in_groups(is_class=True), _PATIENT),
    Case("field of short range", _in_space(1.0), _MAP),
    Case("field of long range", _in_space(4.0), _MAP),
    Case("field and an input", _in_space(2.0, effect=1.0), _MAP),
    Case("classes, field", _in_space(3.0, is_class=True), _MAP),
)


def measure_draw(case: Case, seed: int) -> dict[str, float]:
    """Compare models of one draw of a table, and score the winners on the new rows."""
    table, later = case.make(np.random.default_rng(seed))
    named = tables.infer(table, "y", **case.roles)
    forecast = case.kind == "time" and named.task == "classification"
    names = ("linear", "process-time") if forecast else _MODELS[case.kind]
    stated, true = _state_and_verify(table, later, named, names)
    if seed >= RANDOM_DRAWS:
        return {"stated": stated, "true": true}
    plain = tables.infer(table, "y")
    before, after = _state_and_verify(table, later, plain, ("linear", "process"))
    found = comparison.find_dependence(table, plain)
    return {
        "stated": stated,
        "true": true,
        "stated, random folds": before,
        "true, random folds": after,
        "found": float(any(one.kind == case.kind for one in found)),
    }


def _state_and_verify(
    table: Any, later: Any, schema: tables.Schema, names: tuple[str, ...]
) -> tuple[float, float]:
    models = comparison.candidates(
        schema.task,
        len(table["y"]),
        len(schema.inputs),
        names=names,
        role=comparison.Holdout.from_schema(schema).kind,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = comparison.compare(table, schema, models)
        new = comparison.evaluate(found.winner, later)
    best = found.best
    if best.coverage is None or new.coverage is None:
        return float(best.accuracy or 0.0), float(new.accuracy or 0.0)
    return best.coverage, new.coverage


def summarise(case: Case, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return means over draws, and the standard error of the difference."""
    gaps = np.array([run["stated"] - run["true"] for run in runs])
    error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
    return {
        "table": case.name,
        "kind": case.kind,
        **{key: float(np.mean([run[key] for run in runs if key in run])) for key in runs[0]},
        "difference": float(np.mean(gaps)),
        "error": error,
    }


def count_false_alarms(seed: int = 0) -> list[dict[str, Any]]:
    """Say of each exchangeable table which dependence was found in it."""
    rows = []
    for name, (table, target) in exchangeable_tables.make_tables(seed).items():
        found = comparison.find_dependence(table, tables.infer(table, target))
        rows.append({"table": name, "found": [one.kind for one in found]})
    return rows


def page(result: dict[str, Any]) -> str:
    """Write the results as Markdown."""
    heads = "| table | stated | true | difference | random folds: stated | true | found |"
    lines = [f"# {result['title']}", "", result["note"], "", heads, "|---|---|---|---|---|---|---|"]
    for row in result["tasks"]:
        cells = (
            row["table"],
            f"{100 * row['stated']:.1f} %",
            f"{100 * row['true']:.1f} %",
            f"{100 * row['difference']:+.1f} +- {100 * row['error']:.1f}",
            f"{100 * row['stated, random folds']:.1f} %",
            f"{100 * row['true, random folds']:.1f} %",
            f"{100 * row['found']:.0f} %",
        )
        lines.append(f"| {' | '.join(cells)} |")
    flagged = [row["table"] for row in result["exchangeable"] if row["found"]]
    n, shown = len(result["exchangeable"]), f": {', '.join(flagged)}" if flagged else ""
    lines += ["", f"Exchangeable tables that are called dependent: {len(flagged)} of {n}{shown}."]
    return "\n".join([*lines, ""])


def _measure_case(case: Case, draws: int, console: Console) -> dict[str, Any]:
    """Measure one table, and say so."""
    n_draws = TIMES_MORE * draws if case.kind == "time" else draws
    row = summarise(case, [measure_draw(case, seed) for seed in range(n_draws)])
    console.print(f"{case.name}: stated {row['stated']:.3f}, true {row['true']:.3f}")
    return row


def run(options: Options, draws: int = DRAWS) -> dict[str, Any]:
    """Measure, write and show the results."""
    cases = CASES[::5] if options.quick else CASES
    result = {
        "benchmark": "dependent_tables",
        "title": "Rows that depend on each other: stated and true coverage",
        **machine.describe(),
        "draws": draws,
        "note": NOTE,
        "tasks": [_measure_case(case, draws, options.console) for case in cases],
        "exchangeable": count_false_alarms(),
    }
    report.publish(result, page(result), options)
    return result


def main(
    draws: Annotated[int, typer.Option(min=1, help="Draws of each table.")] = DRAWS,
    quick: Annotated[bool, typer.Option(help="Few tables, not into benchmarks/results.")] = False,
) -> None:
    """Measure all tables."""
    run(Options(quick=quick, console=Console()), draws)


if __name__ == "__main__":
    typer.run(main)
