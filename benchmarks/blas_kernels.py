"""Whether answers depend on the BLAS kernels of a machine, or on the order of columns.

OpenBLAS chooses its kernels by the processor, and each rounds in its own way. That may change last
digits of an answer, and nothing else: where a prediction differs by more, a search stopped too
early, or a tie was broken by rounding. The order of columns should not matter either.

    python -m benchmarks.blas_kernels                                 # all, into benchmarks/results
    python -m benchmarks.blas_kernels --sets 2 StagewiseRegressor     # a rehearsal, shown only
    python -m benchmarks.blas_kernels --answers FOLDER                # goes on where it was ended
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import threadpoolctl
import typer
from rich.console import Console
from rich.progress import track
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import posterity
from benchmarks import machine, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import distributions, likelihoods
from posterity.estimators import BY_ROOM

SETS, NEW_ROWS = 40, 40
KERNELS = ("Haswell", "Zen", "SkylakeX", "Sandybridge", "Prescott")
GOAL = 1e-6
NAMES = tuple(name for names in BY_ROOM.values() for name in names)
COUNTS, POSITIVE = "GeneralizedLinearRegression", "GammaRegression"
_POSITIONS = "latent positions are too many to settle, and have several maxima"
REASONS = dict.fromkeys(("GPLVM", "HierarchicalGPLVM"), _POSITIONS)
NOTE = (
    "The largest difference between answers, over their spread on that set (of deviations: over "
    f"their size), and on how many sets it is above {GOAL:g}. Answers are means and standard "
    "deviations of new rows, probabilities of classes, or of latent models the reconstructions "
    "and the distances between rows. Of kernels it is the largest answer less the least; columns "
    "in another order are compared with the same columns under the first kernel."
)


class Set(NamedTuple):
    """Rows to fit, a target of every kind, and rows to predict."""

    X: Array
    y: Array
    labels: Array
    X_new: Array

    def permute_columns(self, order: Array) -> Set:
        """The set with its columns in this order."""
        return self._replace(X=self.X[:, order], X_new=self.X_new[:, order])


def make_set(place: int) -> Set:
    """A curved surface with noise in three to six columns that depend on each other."""
    rng = np.random.default_rng([34, place])
    n, D, n_classes = rng.integers(60, 101), rng.integers(3, 7), 2 + place % 2
    mixing = np.eye(D) + 0.3 * rng.standard_normal((D, D))
    X = rng.standard_normal((n + NEW_ROWS, D)) @ mixing
    latent = np.sin(X @ rng.standard_normal((D, n_classes))) + X @ rng.standard_normal(
        (D, n_classes)
    ) / np.sqrt(D)
    y = latent[:, 0] + 0.3 * rng.standard_normal(len(X))
    labels = np.argmax(latent + 0.5 * rng.standard_normal(latent.shape), axis=1)
    return Set(X[:n], y[:n], labels[:n], X[n:])


def build_model(name: str) -> BaseEstimator:
    """The estimator as it is by default, with a seed where it takes one."""
    given = {"likelihood": likelihoods.Poisson()} if name == COUNTS else {}
    model = getattr(posterity, name)(**given)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def transform_target(name: str, y: Array) -> Array:
    """Targets that the estimator takes by default: counts, positive numbers, or any."""
    if name == COUNTS:
        return np.floor(np.exp(y))
    return np.exp(y) if name == POSITIVE else y


def answer(name: str, data: Set, order: Array | None = None) -> dict[str, Array]:
    """Predictions after a fit, on columns in another order where one is given."""
    order = np.arange(data.X.shape[1]) if order is None else order
    if name == "DiscreteClassifier":  # takes categories
        data = data._replace(X=np.round(data.X), X_new=np.round(data.X_new))
    X, y, labels, X_new = data.permute_columns(order)
    model = build_model(name)
    if is_classifier(model):
        return {"probabilities": model.fit(X, labels).predict_proba(X_new)}
    if is_regressor(model):
        model.fit(X, transform_target(name, y))
        mean, std = model.predict(X_new, return_std=True)
        return {"means": mean, "deviations": std}
    model.fit(X)
    if name == "KernelKMeans":
        return {"distances": pdist(model.predict(X_new)[:, None], "hamming")}
    Z = model.transform(X_new)
    found = {"distances": pdist(Z)}
    back = model.inverse_transform(Z)
    rebuilt = back.mean() if isinstance(back, distributions.Distribution) else back
    return found | {"reconstructions": rebuilt[:, np.argsort(order)]}


def answer_sets(names: Sequence[str], n_sets: int, permuted: bool) -> Iterator[tuple[str, Array]]:
    """All answers of this process, each with a key, and the seconds of each estimator."""
    yield "kernels", np.array(sorted(_kernels_in_use()))
    for name in names:
        begin = time.process_time()
        for place in range(n_sets):
            data = make_set(place)
            order = np.roll(np.arange(data.X.shape[1])[::-1], place) if permuted else None
            for part, values in answer(name, data, order).items():
                yield f"{name}/{place}/{part}", values
        yield f"{name}/seconds", np.array(time.process_time() - begin)


def _kernels_in_use() -> set[str]:
    pools = threadpoolctl.threadpool_info()
    return {pool["architecture"] for pool in pools if "architecture" in pool}


def run_process(
    names: Sequence[str], n_sets: int, path: Path, kernel: str, *, permuted: bool = False
) -> dict[str, Array]:
    """Answers of a process that has these kernels; those of the file where there is one."""
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": kernel}
    if not path.exists():
        options = ["--sets", str(n_sets), "--into", str(path)]
        options += ["--permuted"] if permuted else []
        command = [sys.executable, "-m", "benchmarks.blas_kernels", *names, *options]
        subprocess.run(command, env=os.environ | environment, check=True)
    return dict(np.load(path))


def differences(runs: Sequence[dict[str, Array]], name: str, part: str, n_sets: int) -> Array:
    """The largest difference between runs on each set, over the spread of the answers there."""
    found = np.zeros(n_sets)
    for place in range(n_sets):
        answers = np.stack([run[f"{name}/{place}/{part}"] for run in runs])
        if not np.array_equal(np.isfinite(answers), np.isfinite(answers[::-1])):
            found[place] = np.inf
            continue
        answers = np.where(np.isfinite(answers), answers, 0.0)
        # deviations may be the same for all rows: they are measured by their size
        spread = np.std(answers[0]) if part != "deviations" else np.sqrt(np.mean(answers[0] ** 2))
        found[place] = np.max(np.ptp(answers, axis=0)) / max(spread, 1e-300)
    return found


def compare_runs(
    names: Sequence[str],
    n_sets: int,
    by_kernel: dict[str, dict[str, Array]],
    permuted: dict[str, Array],
) -> list[dict[str, Any]]:
    """A row for each kind of answer of each estimator."""
    first = next(iter(by_kernel.values()))
    parts = [
        (name, key.rpartition("/")[2])
        for name in names
        for key in first
        if key.startswith(f"{name}/0/")
    ]
    rows = [
        {
            "contender": f"{name}, {part}",
            "estimator": name,
            "answer": part,
            "kernels": differences(list(by_kernel.values()), name, part, n_sets).tolist(),
            "columns": differences([first, permuted], name, part, n_sets).tolist(),
            "seconds": float(first[f"{name}/seconds"]),
        }
        for name, part in parts
    ]
    largest = {"between_kernels": "kernels", "between_orders_of_columns": "columns"}
    return [row | {name: max(row[of]) for name, of in largest.items()} for row in rows]


def measure(names: Sequence[str], n_sets: int, folder: Path, console: Console) -> dict[str, Any]:
    """Fit all estimators in one process for each kernel, and in one with other columns."""
    by_kernel: dict[str, dict[str, Array]] = {}
    for kernel in track(KERNELS, "kernels", console=console):
        used = run_process(["PCA"], 1, folder / f"{kernel}_alone.npz", kernel)["kernels"].tolist()
        same = [run for run in by_kernel.values() if run["kernels"].tolist() == used]
        path = folder / f"{kernel}.npz"
        by_kernel[kernel] = same[0] if same else run_process(names, n_sets, path, kernel)
    path = folder / "permuted.npz"
    permuted = run_process(names, n_sets, path, KERNELS[0], permuted=True)
    return {
        "benchmark": "blas_kernels",
        "title": "Answers under five BLAS kernels, and on columns in another order",
        **machine.describe(),
        "kernels": {asked: run["kernels"].tolist() for asked, run in by_kernel.items()},
        "tasks": [
            {
                "name": f"{n_sets} sets",
                "sets": n_sets,
                "runs": compare_runs(names, n_sets, by_kernel, permuted),
            }
        ],
    }


def page(result: dict[str, Any]) -> str:
    """One table, the largest differences first."""
    (task,) = result["tasks"]
    used = ", ".join(sorted({name for names in result["kernels"].values() for name in names}))
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    lines += [f"{task['sets']} sets; kernels in use: {used}.", ""]
    heading = ["estimator", "answer", "kernels", "sets above", "columns", "sets above", "seconds"]
    rows = sorted(task["runs"], key=lambda row: -max(*row["kernels"], *row["columns"]))
    above = {row["estimator"] for row in rows if max(*row["kernels"], *row["columns"]) > GOAL}
    reasons = [f"- {name}: {REASONS.get(name, 'not explained')}." for name in sorted(above)]
    return "\n".join(
        [*lines, *report.table(heading, [_line(row) for row in rows]), "", *reasons, ""]
    )


def _line(row: dict[str, Any]) -> list[str]:
    kernels, columns = np.array(row["kernels"]), np.array(row["columns"])
    cells = [row["estimator"], row["answer"]]
    for found in (kernels, columns):
        cells += [f"{np.max(found):.0e}", str(int(np.sum(found > GOAL)))]
    return [*cells, f"{row['seconds']:.1f}"]


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Estimators. None: all.")] = None,
    sets: Annotated[int, typer.Option(min=1, max=SETS)] = SETS,
    permuted: Annotated[bool, typer.Option(hidden=True)] = False,
    into: Annotated[Path | None, typer.Option(hidden=True)] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Folder of answers, kept. None: a new one.")
    ] = None,
) -> None:
    """Compare kernels and orders; only a run of all estimators on all sets is kept."""
    chosen = names or list(NAMES)
    if into is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.savez(into, **dict(answer_sets(chosen, sets, permuted)))
        return
    options = Options(quick=len(chosen) < len(NAMES) or sets < SETS, threads=1, console=Console())
    with contextlib.ExitStack() as stack:
        folder = answers or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        result = measure(chosen, sets, folder, options.console)
    report.publish(result, page(result), options)


if __name__ == "__main__":
    typer.run(main)
