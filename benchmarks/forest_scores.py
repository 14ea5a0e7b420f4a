"""How good forests are: one score for classes and one for numbers, and means over seeds."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import calibration, worker
from benchmarks.cases import Contender, Data, Prediction, Task
from posterity import distributions, scoring

FEW_ROWS = 10_000
SEEDS = 5
_LEAST = np.finfo(np.float64).eps  # below it scikit-learn's log loss takes a probability for this

CLASSES_NOTE = (
    "A probability of zero counts as 2.2e-16 in the log loss; how many test rows had a class "
    "called impossible has a column of its own. The calibration errors are the distances of what "
    "happened from the probabilities stated, in bins of equally many rows: of the class predicted, "
    "and the mean over all classes."
)
SEEDS_NOTE = (
    f"Scores on sets of less than {FEW_ROWS:,} rows are means over {SEEDS} seeds of the "
    "contender; seconds, memory and MB are of the first."
)


def of_classes(data: Data, prediction: Prediction) -> dict[str, Any]:
    """Errors, log loss, Brier score and calibration; lower is better."""
    P, y = prediction[0], data.y_test.astype(np.intp)
    own = P[np.arange(len(y)), y]
    stated, right = calibration.confidence(P, y)
    return {
        "error_percent": 100.0 * float(1.0 - right.mean()),
        "log_loss": -float(np.mean(np.log(np.maximum(own, _LEAST)))),
        "impossible_percent": 100.0 * float(np.mean(own < _LEAST)),
        "brier": scoring.brier(P, y),
        "top_class_error": calibration.error(stated, right),
        "classes_error": calibration.error_of_classes(P, y),
        "error_by_chance": calibration.error_by_chance(stated),
        "diagram": calibration.diagram(stated, right),
    }


def of_numbers(data: Data, prediction: Any) -> dict[str, Any]:
    """RMSE and, of a distribution, its log score and the coverage of its central 90 % interval."""
    if not isinstance(prediction, distributions.Distribution):
        return {"rmse": scoring.rmse(prediction[0], data.y_test)}
    return {
        "rmse": scoring.rmse(prediction, data.y_test),
        "log_score": scoring.log_score(prediction, data.y_test),
        "coverage_90": scoring.interval_coverage(prediction, data.y_test),
        "crps": scoring.crps(prediction, data.y_test),
    }


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Seconds and memory of one fit; scores of several where rows are few."""
    first = worker.measure(task, contender, folder, threads)
    data = Data.load(folder)
    seeds = range(1, SEEDS if len(data.y) < FEW_ROWS else 1)
    others = [_scores(task, contender, data, seed) for seed in seeds]
    keys = {key for run in others for key, value in run.items() if isinstance(value, float)}
    return first | {key: statistics.fmean(run[key] for run in (first, *others)) for key in keys}


def _scores(task: Task, contender: Contender, data: Data, seed: int) -> dict[str, Any]:
    model = contender.fit(contender.build().set_params(random_state=seed), data.X, data.y)
    return task.score(data, contender.predict(model, data.X_test))
