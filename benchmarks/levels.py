"""Boosted trees of one categorical column, on drawn tables of few and many levels and rows.

A row has four normal columns and a level. Levels have normal effects of their own, or change the
slope of a column, or nothing. Scores are of new rows, in nats a row: what the same model loses that
is given the numbers of levels, or an indicator of each, or what CatBoost loses, with the error of
the difference over new rows. CatBoost's numbers are normal, with a spread from five folds, or from
20,000 rows on with the uncertainty that it learns.

    python -m benchmarks.levels                     # all, into benchmarks/results
    python -m benchmarks.levels --most-rows 1000    # the small tables only
    python -m benchmarks.levels --draws 1 --quick   # a rehearsal
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import boosted_models, machine, report
from benchmarks.boosted_models import Spread
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import BoostedTreesClassifier, BoostedTreesRegressor

DRAWS_OF_FEW, DRAWS_OF_MANY = ((1_000, 4), (25_000, 1)), ((200_000, 1),)  # rows, and how often
LEVELS = (2, 20, 200)
EFFECTS = ("own effects", "slopes", "none")
CATEGORY = 4
OURS = "posterity, categories"
MANY_ROWS = 20_000
TREES = {"classes": BoostedTreesClassifier, "numbers": BoostedTreesRegressor}


def draw_table(
    task: str, n_rows: int, n_levels: int, effect: str, seed: int
) -> tuple[Array, Array]:
    """Rows and targets: the slope of one column, a wave of another, and levels."""
    rng = np.random.default_rng(seed)
    level, by_level = rng.integers(0, n_levels, n_rows), rng.normal(size=n_levels)
    X = rng.normal(size=(n_rows, CATEGORY))
    latent = X[:, 0] + np.sin(2.0 * X[:, 1])
    latent += {"own effects": 1.0, "slopes": X[:, 2], "none": 0.0}[effect] * by_level[level]
    y = latent + 0.5 * rng.normal(size=n_rows)
    if task == "classes":
        y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-1.5 * latent))).astype(float)
    return np.column_stack([X, level]), y


def list_contenders(task: str, n_rows: int) -> dict[str, Callable[[], Any]]:
    """Models by name, ours first; CatBoost where it is installed."""
    tree = partial(TREES[task], random_state=0)
    found: dict[str, Callable[[], Any]] = {
        OURS: partial(tree, categorical_features=[CATEGORY]),
        "posterity, numbers": tree,
        "posterity, indicators": tree,
    }
    every = boosted_models.classifiers() if task == "classes" else boosted_models.regressors()
    peers = {one.name: one for one in every if one.is_here}
    if "CatBoost" in peers:
        build = partial(peers["CatBoost"].build, (CATEGORY,))
        if task == "numbers":
            many = peers["CatBoost with uncertainty"].build
            build = partial(many, (CATEGORY,)) if n_rows > MANY_ROWS else partial(Spread, build)
        found["CatBoost"] = build
    return found


def score_rows(task: str, model: Any, X: Array, y: Array) -> Array:
    """Log-probabilities of new targets."""
    if task == "classes":
        P = boosted_models.predict_proba(model, X)[0]
        return np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], 1e-15))
    if hasattr(model, "predict_dist"):
        return np.asarray(model.predict_dist(X).log_prob(y))
    return np.asarray(boosted_models.predict_moments(model, X).log_prob(y))


def measure(task: str, n: int, n_levels: int, effect: str, draws: int) -> dict[str, Any]:
    """Scores of all contenders on new rows, and of rows that members left out."""
    found: dict[str, list[Array]] = {}
    left_out = []
    for seed in range(draws):
        n_new = int(np.clip(n, 4_000, 20_000))
        X, y = draw_table(task, n + n_new, n_levels, effect, seed)
        for name, make in list_contenders(task, n).items():
            rows = X
            if name == "posterity, indicators":
                rows = np.column_stack([X, X[:, CATEGORY:] == np.arange(n_levels)])
            model = make().fit(rows[:n], y[:n])
            found.setdefault(name, []).append(score_rows(task, model, rows[n:], y[n:]))
            if name == OURS:
                left_out.append(model.oob_log_score_)
    scores = {name: np.concatenate(own) for name, own in found.items()}
    ours = scores.pop(OURS)
    lost = {name: own - ours for name, own in scores.items()}
    return {
        "score": float(np.mean(ours)),
        "left_out": float(np.mean(left_out)),
        "lost": {k: (float(d.mean()), float(d.std() / len(d) ** 0.5)) for k, d in lost.items()},
    }


def list_cases(draws: int | None) -> Iterator[tuple[str, int, int, str, int]]:
    """Tasks, rows, levels, effects and draws; of the most rows only what takes not too long."""
    few = product(DRAWS_OF_FEW, LEVELS, EFFECTS)
    for (n, times), n_levels, effect in [*few, *product(DRAWS_OF_MANY, (2, 200), EFFECTS[:1])]:
        for task in TREES:
            yield task, n, n_levels, effect, times if draws is None else draws


def page(result: dict[str, Any]) -> str:
    """Return the results as a page."""
    names = list(dict.fromkeys(run["contender"] for one in result["tasks"] for run in one["runs"]))
    body = []
    for one in result["tasks"]:
        runs = {run["contender"]: run for run in one["runs"]}
        ours = runs[OURS]
        scores = [f"{ours['log_score']:.4f}", f"{ours['left_out_log_score']:.4f}"]
        body.append([one["name"], *scores, *(_show(runs.get(name)) for name in names[1:])])
    note = " ".join((__doc__ or "").split("\n\n")[1].split())
    lines = ["# Levels of boosted trees", "", *report.provenance(result), "", note, ""]
    heading = ["table", "log score", "left out", *names[1:]]
    return "\n".join([*lines, *report.table(heading, body), ""])


def _show(run: dict[str, Any] | None) -> str:
    return "-" if run is None else f"{run['lost']:+.4f} +- {run['lost_error']:.4f}"


def describe_runs(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """Scores of each contender, and of the others what ours loses to them."""
    ours = {"log_score": measured["score"], "left_out_log_score": measured["left_out"]}
    others = [
        {
            "contender": name,
            "log_score": ours["log_score"] + lost,
            "lost": lost,
            "lost_error": error,
        }
        for name, (lost, error) in measured["lost"].items()
    ]
    return [{"contender": OURS} | ours, *others]


def run(options: Options, draws: int | None = None, most_rows: int | None = None) -> None:
    """Measure all tables, write and show the page."""
    tasks = []
    for task, rows, levels, effect, times in list_cases(draws):
        n = rows // 10 if options.quick else rows
        if most_rows is None or n <= most_rows:
            runs = describe_runs(measure(task, n, levels, effect, times))
            name = f"{task}, {n:,} rows, {levels} levels, {effect}"
            tasks.append({"name": name, "draws": times, "runs": runs})
            options.console.print(tasks[-1])
    result = {"benchmark": "levels", **machine.describe(), "tasks": tasks}
    report.publish(result, page(result), options)


def main(
    draws: Annotated[int | None, typer.Option(min=1)] = None,
    most_rows: Annotated[int | None, typer.Option(min=1)] = None,
    quick: bool = False,
) -> None:
    """Compare categories with numbers, indicators and CatBoost; --quick is a rehearsal."""
    run(Options(quick=quick, threads=1, console=Console()), draws, most_rows)


if __name__ == "__main__":
    typer.run(main)
