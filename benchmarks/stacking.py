"""What the mixture of models gains, and what the choice of a simple model costs.

Models are compared on 240 rows of each set, and the models, their mixture and the choices of
``prefer`` are then scored on new rows of it. Sets of ``shared/data`` are left out without it.

    python -m benchmarks.stacking                # all, into benchmarks/results
    python -m benchmarks.stacking --sets 2       # a rehearsal
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.console import Console
from scipy.special import logsumexp

from benchmarks import choosing_sets, machine, real_sets, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import comparison, tables
from posterity.comparison import choice, row_scores, stack_trial
from posterity.comparison.results import HeldOut, Result

ROWS, NEW_ROWS, SEED = 240, 500, 0
UCI = ("energy", "kin8nm", "power", "wine-red")
NUMBER_MODELS = ("linear", "additive", "sparse-quadratic", "robust", "forest", "units", "process")
CLASS_MODELS = ("linear", "quadratic", "forest", "boosted", "units", "process")
DRAWN = {
    "outliers": ("regression", choosing_sets.outliers),
    "thresholds": ("regression", choosing_sets.thresholds),
    "waves": ("regression", choosing_sets.waves),
    "diabetes": ("regression", lambda: _known_problem("diabetes")),
    "breast cancer": ("classification", lambda: _known_problem("breast cancer")),
    "moons": ("classification", choosing_sets.moons),
    "thresholds, classes": ("classification", choosing_sets.thresholds_of_classes),
    "configurations": ("classification", choosing_sets.configurations),
}
NOTE = (
    "Log scores in nats per row, differences with their standard errors over rows. *Held out*: the "
    "mixture less the best model, in cross-validation of 240 rows. *New rows*: the mixture, and "
    "the simplest model within two standard errors of the best and within one (--prefer simple), "
    "each less the model of the highest cross-validated score, on new rows."
)


def _known_problem(name: str) -> dict[str, Any]:
    return next(one.make() for one in choosing_sets.PROBLEMS if one.name == name)


def list_sets() -> Iterator[tuple[str, tables.Task, Callable[[], dict[str, Any]]]]:
    """Yield names, tasks and makers of tables."""
    for name in UCI:
        if (path := real_sets.FOLDER / "uci_regression" / f"{name}.npz").exists():
            yield name, "regression", lambda path=path: _load(path)
    for name, (task, make) in DRAWN.items():
        yield name, task, make


def _load(path: Any) -> dict[str, Any]:
    data = np.load(path, allow_pickle=False)
    return choosing_sets._columns(data["X"], data["y"])


def measure(task: tables.Task, columns: dict[str, Any]) -> dict[str, Any]:
    """Compare models on some rows of a table, and score what is chosen on others."""
    table = pl.DataFrame(columns)
    order = np.random.default_rng(SEED).permutation(len(table))
    n = min(ROWS, len(table) // 2)
    train, new = table[order[:n]], table[order[n : n + NEW_ROWS]]
    target = choosing_sets.TARGET
    inputs = [name for name in table.columns if name != target]
    schema = tables.infer(train, target, task=task, keep=inputs)
    names = NUMBER_MODELS if task == "regression" else CLASS_MODELS
    models = comparison.candidates(task, n, len(inputs), names=names)
    everything = (*comparison.baselines(task)[:1], *models)
    found = comparison.compare(train, schema, everything, prefer="best")
    later = {
        one.name: comparison.evaluate(
            tables.TableModel(one.estimator, schema).fit(train), new, name=one.name
        ).held_out
        for one in models
        if one.name in {each.name for each in found.results}
    }
    return _summarise(found, later, [one.name for one in everything])


def _summarise(
    found: comparison.Comparison, later: dict[str, HeldOut], order: list[str]
) -> dict[str, Any]:
    single = [one for one in found.results if one.name != "stack"]
    best = next(one for one in single if not one.baseline)
    stack = next((one for one in found.results if one.name == "stack"), None)
    base = later[best.name].log_prob
    line: dict[str, Any] = {
        "best": best.name,
        "simple": _choose_simple(single, order, choice.SURE).name,
        "simple_1": _choose_simple(single, order, choice.NEAR).name,
    }
    line["simple_gain"] = _difference(later[line["simple"]].log_prob, base)
    line["simple_1_gain"] = _difference(later[line["simple_1"]].log_prob, base)
    if stack is not None:
        whole = [one for one in single if not one.baseline and not one.stopped][:8]
        weights = stack_trial.learn_weights(
            np.stack([one.held_out.log_prob for one in whole], axis=1)
        )
        mixed = np.stack([later[one.name].log_prob for one in whole], axis=1)
        line["weights"] = {
            one.name: round(float(w), 2) for one, w in zip(whole, weights, strict=True) if w > 0.0
        }
        line["held_out_gain"] = row_scores.compute_lead(stack.held_out, best.held_out)
        line["stack_gain"] = _difference(logsumexp(mixed, b=weights, axis=1), base)
    return line


def _choose_simple(results: list[Result], order: list[str], sure: float) -> Result:
    """The simplest model than which the best is not better with this probability."""
    family = [one for one in results if not one.baseline]
    near = [one for one in family if not choice.is_better(family[0], one, sure=sure)]
    return min(near, key=lambda one: order.index(one.name))


def _difference(ahead: Array, behind: Array) -> tuple[float, float]:
    rows = ahead - behind
    return float(rows.mean()), row_scores.standard_error(rows)


def page(result: dict[str, Any]) -> str:
    """Return the results as a page."""
    heading = [
        *("set", "best model", "mixture, held out", "mixture, new rows"),
        *("simple, 2 errors", "new rows", "simple, 1 error", "new rows"),
    ]
    rows = [
        [
            *(name, one["best"], _show(one.get("held_out_gain")), _show(one.get("stack_gain"))),
            *(one["simple"], _show(one["simple_gain"])),
            *(one["simple_1"], _show(one["simple_1_gain"])),
        ]
        for name, one in result["sets"].items()
    ]
    keys = ("held_out_gain", "stack_gain", "simple_gain", "simple_1_gain")
    means = [_mean(result, key) for key in keys]
    rows.append(["mean", "", *means[:2], "", means[2], "", means[3]])
    title = "# The mixture of models, and simple models"
    lines = [title, "", *report.provenance(result), "", NOTE, "", *report.table(heading, rows)]
    return "\n".join([*lines, ""])


def _mean(result: dict[str, Any], key: str) -> str:
    return f"{np.mean([one[key][0] for one in result['sets'].values() if key in one]):+.3f}"


def _show(gain: tuple[float, float] | None) -> str:
    return "-" if gain is None else f"{gain[0]:+.3f} +- {gain[1]:.3f}"


def run(options: Options, n_sets: int | None = None) -> None:
    """Measure the sets, write and show the page."""
    result: dict[str, Any] = {
        "benchmark": "stacking",
        **machine.describe(),
        "tasks": [],
        "sets": {},
    }
    for name, task, make in list(list_sets())[:n_sets]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result["sets"][name] = measure(task, make())
        options.console.print(name, result["sets"][name])
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "stacking.md").write_text(text := page(result))
    options.console.print(text, highlight=False, markup=False, soft_wrap=True)


def main(sets: Annotated[int | None, typer.Option(min=1)] = None) -> None:
    """Compare mixtures and choices; fewer sets count as a rehearsal."""
    run(Options(quick=sets is not None, threads=1, console=Console()), sets)


if __name__ == "__main__":
    typer.run(main)
