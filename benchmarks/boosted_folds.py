"""Every contender on every fold of a real table: scores of the rows held out, and CPU seconds.

A table has a process and a thread of its own; contenders take turns within it, fold by fold. What
an interrupted run has finished is kept in a folder, a file a table, and not measured again.
"""

from __future__ import annotations

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
from benchmarks.cases import Data
from benchmarks.options import Options

WARM_UP_ROWS = 60
_CALIBRATION = ("top_class_error", "classes_error", "error_by_chance")


def measure_sources(
    sources: Sequence[Source], is_classes: bool, folds: int, kept: Path, options: Options
) -> list[dict[str, Any]]:
    """The record of every table, in order; as many tables at once as there are threads."""
    kept.mkdir(parents=True, exist_ok=True)
    left = [source for source in sources if not _file(kept, source).exists()]
    context = get_context("spawn")
    with (
        harness.threads_of_children(1),
        ProcessPoolExecutor(options.threads, mp_context=context, max_tasks_per_child=1) as pool,
    ):
        # The large ones first: nobody waits for the last of them alone.
        runs = [
            pool.submit(measure_source, source, is_classes, folds, kept)
            for source in reversed(left)
        ]
        for run in track(as_completed(runs), "tables", len(runs), console=options.console):
            run.result()
    return [json.loads(_file(kept, source).read_text()) for source in sources]


def forget(sources: Sequence[Source], kept: Path) -> None:
    """A complete run leaves nothing behind that the next one would take for its own."""
    for source in sources:
        _file(kept, source).unlink(missing_ok=True)


def _file(kept: Path, source: Source) -> Path:
    return kept / f"{source.name}.json"


def measure_source(source: Source, is_classes: bool, folds: int, kept: Path) -> None:
    """Measure one table and write its record."""
    table = source.read()
    contenders = [c for c in find_contenders(is_classes) if c.is_here]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that are not ours
        for contender in contenders:
            fit_fold(contender, _warm_up_table(is_classes), 0, is_classes)
        runs, pooled = measure_table(table, contenders, is_classes, folds)
    record = {
        "name": table.name,
        "rows": len(table.y),
        "columns": table.X.shape[1],
        "classes": len(np.unique(table.y)) if is_classes else None,
        "categorical": len(table.categorical),
        "missing": int(np.isnan(table.X).sum()),
        "folds": runs,
        "pooled": pooled,
    }
    _file(kept, source).write_text(json.dumps(record))


def find_contenders(is_classes: bool) -> tuple[Booster, ...]:
    """The classifiers or the regressors."""
    return boosted_models.classifiers() if is_classes else boosted_models.regressors()


def measure_table(
    table: Table, contenders: Sequence[Booster], is_classes: bool, folds: int
) -> tuple[list[dict[str, Any]], dict[str, dict[str, float]]]:
    """Scores of every fold, and calibration of all its folds together, by contender."""
    runs: list[dict[str, Any]] = []
    said: dict[str, list[Any]] = {contender.name: [] for contender in contenders}
    targets = []
    for k in range(folds):
        for contender in contenders:
            numbers, data, prediction = fit_fold(contender, table, k, is_classes)
            runs.append({"contender": contender.name, "fold": k, **numbers})
            said[contender.name].append(prediction)
        targets.append(data.y_test)
    if not is_classes:
        return runs, {}
    y = np.concatenate(targets).astype(np.intp)
    pooled = {name: _calibration(np.vstack([P for P, _ in all]), y) for name, all in said.items()}
    return runs, pooled


def fit_fold(
    contender: Booster, table: Table, k: int, is_classes: bool
) -> tuple[dict[str, float], Data, Any]:
    """Scores and seconds of one fit, the rows it had, and its predictions."""
    data = table.fold(k, is_classes)
    model = contender.build(table.categorical)
    _, fit = worker.time_work(lambda: model.fit(data.X, data.y))
    prediction, predict = worker.time_work(lambda: contender.predict(model, data.X_test))
    score = forest_scores.of_classes if is_classes else forest_scores.of_numbers
    found = score(data, prediction)
    scores = {key: value for key, value in found.items() if isinstance(value, float)}
    kept = {key: value for key, value in scores.items() if key not in _CALIBRATION}
    return {"fit_cpu_s": fit[1], "predict_cpu_s": predict[1], **kept}, data, prediction


def _calibration(P: Any, y: Any) -> dict[str, float]:
    """Of all rows together: one fold of few rows says little of bins."""
    stated, right = calibration.confidence(P, y)
    values = (
        calibration.error(stated, right),
        calibration.error_of_classes(P, y),
        calibration.error_by_chance(stated),
    )
    return dict(zip(_CALIBRATION, values, strict=True))


def _warm_up_table(is_classes: bool) -> Table:
    """Rows to compile and to start threads on."""
    rng = np.random.default_rng(boosted_sets.SEED)
    X = rng.normal(size=(WARM_UP_ROWS, 3))
    latent = X[:, 0] + 0.5 * rng.normal(size=WARM_UP_ROWS)
    y = np.digitize(latent, (-0.5, 0.5)).astype(np.float64) if is_classes else latent
    return Table("warm-up", X, y)
