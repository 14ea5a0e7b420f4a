"""Estimate how long a comparison will take, from seconds that a benchmark measured."""

import functools
import json
import time
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from posterity import linalg, tables
from posterity.arrays import Array

_REFERENCE_RUNS = 5
_SMALL = 1e-3  # prior precision of a slope
_BESIDES = 4.0  # seconds for imports, the importance of inputs and the report
_RACE_FOLDS, _RACED = 2, 1.0  # folds of models that take longer than this many seconds a fold


def estimate_seconds(
    task: tables.Task,
    names: Sequence[str],
    n_rows: int,
    n_columns: int,
    *,
    n_classes: int = 2,
    folds: int = 5,
) -> float:
    """Return about how many seconds a comparison of these models takes on this machine.

    Seconds of a fit lie between those measured by ``benchmarks/durations.py``, on a straight line
    in logarithms of rows, columns and classes, times the speed of this machine. A model that takes
    more than a second a fold runs two folds, since most such models are then clearly behind, and
    the slowest one runs all; models that were not measured count as nothing.

    Examples
    --------
    >>> from posterity.comparison import durations
    >>> few = durations.estimate_seconds("regression", ["linear"], 1_000, 10)
    >>> many = durations.estimate_seconds("regression", ["linear", "forest"], 100_000, 10)
    >>> few < many
    True
    """
    known = _read_measured()
    speed = time_reference() / known["reference_s"]
    n_train = n_rows * (1.0 - 1.0 / folds)
    of_fold = [
        speed * _interpolate(known[task][name], n_train, n_columns, n_classes)
        for name in names
        if name in known[task]
    ]
    if not of_fold:
        return 0.0
    raced = sum(s * (folds if s < _RACED else _RACE_FOLDS) for s in of_fold) + speed * _BESIDES
    slowest = max(of_fold)
    return raced + slowest * (folds - _RACE_FOLDS) * (slowest >= _RACED) + slowest


def time_reference() -> float:
    """Return the seconds of a fixed piece of work, the least of a few times."""
    rng = np.random.default_rng(0)
    values, matrix = rng.normal(size=200_000), rng.normal(size=(250, 250))
    taken = []
    for _ in range(_REFERENCE_RUNS):
        start = time.perf_counter()
        np.sort(values)
        np.exp(matrix @ matrix.T / 250.0)
        sum(range(100_000))
        taken.append(time.perf_counter() - start)
    return min(taken)


@functools.cache
def _read_measured() -> dict[str, Any]:
    text = resources.files("posterity.comparison").joinpath("durations.json").read_text("utf-8")
    measured: dict[str, Any] = json.loads(text)
    return measured


def _interpolate(measured: Sequence[Sequence[float]], n: float, d: float, classes: int) -> float:
    """Return the seconds at a size by a plane in logarithms, weighted towards near sizes."""
    known = np.log(np.maximum(measured, 1e-6))
    here = np.log([n, max(d, 1), max(classes, 2)])
    points = known[:, :3].copy()
    points[:, 2] = np.maximum(points[:, 2], np.log(2.0))  # numbers count as two classes
    distance = points - here
    near: Array = np.exp(-0.25 * np.sum(distance**2, axis=1)) + 1e-6
    design = np.column_stack([np.ones(len(points)), distance]) * np.sqrt(near)[:, None]
    # Slopes that two or three sizes do not tell are small.
    design = np.concatenate([design, np.sqrt(_SMALL) * np.eye(4)[1:]])
    log_seconds = np.concatenate([known[:, 3] * np.sqrt(near), np.zeros(3)])
    return float(np.exp(linalg.least_squares(design, log_seconds).solution[0]))
