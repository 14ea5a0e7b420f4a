"""Every contender on every fold of a real table: scores of the rows held out, and CPU seconds.

Contenders take turns within a table, fold by fold, with one thread. What a fit has given is kept in
a file of its own, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks import boosted_models, boosted_sets, calibration, forest_scores, harness, worker
from benchmarks.boosted_models import Booster
from benchmarks.boosted_sets import Source, Table
from benchmarks.cases import Array, Data
from benchmarks.options import Options

WARM_UP_ROWS = 60
WARM_UP_ROUNDS = 5
_CALIBRATION = ("top_class_error", "classes_error", "error_by_chance")


def measure_sources(
    sources: Sequence[Source], is_classes: bool, folds: int, kept: Path, options: Options
) -> list[dict[str, Any]]:
    """The record of every table, in order; as many tables at once as there are threads."""
    kept.mkdir(parents=True, exist_ok=True)
    context = get_context("spawn")
    with (
        harness.threads_of_children(1),
        ProcessPoolExecutor(options.threads, mp_context=context) as pool,
    ):
        runs = [pool.submit(measure_source, source, is_classes, folds, kept) for source in sources]
        for run in track(as_completed(runs), "tables", len(runs), console=options.console):
            run.result()
        return [run.result() for run in runs]


def measure_source(source: Source, is_classes: bool, folds: int, kept: Path) -> dict[str, Any]:
    """The record of one table."""
    table = source.read()
    contenders = [c for c in find_contenders(is_classes) if c.is_here and c.takes(len(table.y))]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that are not ours
        runs, pooled = measure_table(table, contenders, is_classes, folds, kept)
    return {
        "name": table.name,
        "rows": len(table.y),
        "columns": table.X.shape[1],
        "classes": len(np.unique(table.y)) if is_classes else None,
        "categorical": len(table.categorical),
        "missing": int(np.isnan(table.X).sum()),
        "folds": runs,
        "pooled": pooled,
    }


def find_contenders(is_classes: bool) -> tuple[Booster, ...]:
    """The classifiers or the regressors."""
    return boosted_models.classifiers() if is_classes else boosted_models.regressors()


def measure_table(
    table: Table, contenders: Sequence[Booster], is_classes: bool, folds: int, kept: Path
) -> tuple[list[dict[str, Any]], dict[str, dict[str, float]]]:
    """Scores of every fold, and calibration of all its folds together, by contender."""
    runs: list[dict[str, Any]] = []
    said: dict[str, list[Array]] = {contender.name: [] for contender in contenders}
    targets = []
    for k in range(folds):
        data = table.fold(k, is_classes)
        for contender in contenders:
            file = kept / f"{table.name}, {contender.name}, {k}.npz"
            numbers, P = recall_fold(file) or fit_fold(contender, table, data, is_classes, file)
            runs.append({"contender": contender.name, "fold": k, **numbers})
            said[contender.name].append(P)
        targets.append(data.y_test)
    if not is_classes:
        return runs, {}
    y = np.concatenate(targets).astype(np.intp)
    return runs, {name: _calibration(np.vstack(all), y) for name, all in said.items()}


def recall_fold(file: Path) -> tuple[dict[str, float], Array] | None:
    """What an earlier fit has given, where it is kept."""
    if not file.exists():
        return None
    with np.load(file) as found:
        return json.loads(str(found["numbers"])), found["P"]


def fit_fold(
    contender: Booster, table: Table, data: Data, is_classes: bool, file: Path
) -> tuple[dict[str, float], Array]:
    """Scores and seconds of one fit, and its probabilities of classes."""
    warm_up(contender.name, is_classes)
    model = contender.build(table.categorical)
    _, fit = worker.time_work(lambda: model.fit(data.X, data.y))
    prediction, predict = worker.time_work(lambda: contender.predict(model, data.X_test))
    score = forest_scores.of_classes if is_classes else forest_scores.of_numbers
    found = score(data, prediction)
    scores = {key: value for key, value in found.items() if isinstance(value, float)}
    kept = {key: value for key, value in scores.items() if key not in _CALIBRATION}
    numbers = {"fit_cpu_s": fit[1], "predict_cpu_s": predict[1], **kept}
    P = prediction[0] if is_classes else np.empty((0, 0))
    np.savez_compressed(file, numbers=json.dumps(numbers), P=P)
    return numbers, P


@functools.cache
def warm_up(name: str, is_classes: bool) -> None:
    """Compile and start threads, once in a process."""
    (contender,) = (c for c in find_contenders(is_classes) if c.name == name)
    rng = np.random.default_rng(boosted_sets.SEED)
    X = rng.normal(size=(WARM_UP_ROWS, 3))
    latent = X[:, 0] + 0.5 * rng.normal(size=WARM_UP_ROWS)
    few_and_more = (np.digitize(latent, cuts) * 1.0 for cuts in ((0.0,), (-0.5, 0.5)))
    for y in few_and_more if is_classes else (latent,):
        model = contender.build(rounds=WARM_UP_ROUNDS).fit(X, y)
        contender.predict(model, X)


def _calibration(P: Any, y: Any) -> dict[str, float]:
    """Of all rows together: one fold of few rows says little of bins."""
    stated, right = calibration.confidence(P, y)
    values = (
        calibration.error(stated, right),
        calibration.error_of_classes(P, y),
        calibration.error_by_chance(stated),
    )
    return dict(zip(_CALIBRATION, values, strict=True))
