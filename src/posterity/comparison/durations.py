"""Estimate how long a comparison will take, and show how far it is."""

import contextlib
import functools
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from posterity import linalg, progress, tables
from posterity.arrays import Array
from posterity.comparison import race
from posterity.comparison.candidate import Candidate
from posterity.comparison.race import Progress

_REFERENCE_RUNS = 5
_SMALL = 1e-3  # prior precision of a slope
_BESIDES = 4.0  # seconds for imports, the importance of inputs and the report
_BESIDES_CELL = 3e-6  # seconds a number of the table: dependence of rows, folds, baselines
_SHARED = 0.75  # power of the number of cores by which models that use them are faster
_NOTICED = 10.0  # seconds from which a person wants to know before
_QUIET = 2.0  # seconds between lines of progress at least


@dataclass(frozen=True)
class Duration:
    """Estimated time of a comparison.

    Attributes
    ----------
    seconds : float
        The whole comparison, about: who wins decides how many folds are run, and which model is
        fitted to all rows.
    longest_fit : float
        The fit of the slowest model to all rows.
    """

    seconds: float = 0.0
    longest_fit: float = 0.0

    def describe(self, budget: float | None, option: str) -> str:
        """Return a sentence for people, empty if they would not notice.

        Examples
        --------
        >>> from posterity.comparison.durations import Duration
        >>> Duration(130.0, 30.0).describe(None, "--budget")
        'This will take about 2 min; --budget limits it.'
        >>> Duration(130.0, 30.0).describe(60.0, "--budget")
        'This will take about 60 s, and the fit of the chosen model to all rows up to 30 s more.'
        """
        if budget is None or self.seconds <= budget:
            about = f"This will take about {round_duration(self.seconds)}; {option} limits it."
            return about if self.seconds > _NOTICED else ""
        fit = f"the fit of the chosen model to all rows up to {round_duration(self.longest_fit)}"
        about = f"This will take about {round_duration(budget)}"
        return f"{about}, and {fit} more." if self.longest_fit > _NOTICED else ""


def estimate_duration(
    schema: tables.Schema, candidates: Sequence[Candidate], n_rows: int, *, folds: int = 5
) -> Duration:
    """Return about how long a comparison of these models takes on this machine.

    Seconds of a fit lie between those measured by ``benchmarks/durations.py``, on a straight line
    in logarithms of rows, columns and classes, times the speed of this machine. A model that takes
    more than a second a fold runs two folds, since most such models are then clearly behind, and
    one that takes long runs one where its rows are enough to rank it. The fastest or the slowest
    model may win; the estimate is the geometric mean of what both would take. Models that were not
    measured count as nothing.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> from posterity.comparison import durations
    >>> schema = tables.infer({"x": [0.5, 1.5, 2.5], "y": [0.7, 1.1, 1.9]}, "y")
    >>> models = comparison.candidates("regression", 1_000, 1, names=["linear", "forest"])
    >>> few = durations.estimate_duration(schema, models, 1_000)
    >>> many = durations.estimate_duration(schema, models, 100_000)
    >>> few.seconds < many.seconds
    True
    """
    known, n_columns = _read_measured(), len(schema.inputs)
    speed, n_train = time_reference() / known["reference_s"], n_rows * (1.0 - 1.0 / folds)
    of_fold = [
        speed
        * _interpolate(known[schema.task][one.name], n_train, n_columns, len(schema.classes))
        / _count_cores(one.estimator) ** _SHARED
        for one in candidates
        if one.name in known[schema.task]
    ]
    if not of_fold:
        return Duration()
    shared, ends = speed * (_BESIDES + _BESIDES_CELL * n_rows * n_columns), []
    for seconds in of_fold:
        most = race.count_most_folds(seconds, n_rows / folds, folds)
        least = min(race.count_raced_folds(seconds, folds), most)
        shared += least * seconds
        ends.append((most - least + 1) * seconds)  # more of the winner, and its fit to all rows
    longest_fit = max(of_fold) * folds / (folds - 1)
    return Duration(math.sqrt((shared + min(ends)) * (shared + max(ends))), longest_fit)


@contextlib.contextmanager
def show_fits() -> Iterator[Progress]:
    """Show a bar in a terminal, and elsewhere a line on stderr for a fit that is done."""
    with progress.make_bar("Comparing") if progress.is_watched() else print_lines() as tell:
        yield tell


@contextlib.contextmanager
def print_lines() -> Iterator[Progress]:
    """Print a line on stderr for a fit that is done, if the last line is some seconds old."""
    fits: list[str] = []
    running, started, printed = "", time.monotonic(), time.monotonic()

    def tell(done: int, total: int, name: str) -> None:
        nonlocal running, started, printed
        now = time.monotonic()
        if running and now - printed >= _QUIET:
            line = f"{running}, {now - started:.0f} s ({done} of {total} fits done)"
            print(line, file=sys.stderr, flush=True)
            printed = now
        fits.append(name)
        part = "all rows" if done == total - 1 else f"fold {fits.count(name)}"
        running, started = f"{name}: {part}" if name else "", now

    yield tell


def round_duration(seconds: float) -> str:
    """Format an estimated duration, which is known to one digit.

    Examples
    --------
    >>> round_duration(43.0), round_duration(400.0)
    ('40 s', '7 min')
    """
    return f"{round(seconds, -1):.0f} s" if seconds < 95.0 else f"{seconds / 60.0:.0f} min"


def time_reference() -> float:
    """Return the seconds of a fixed piece of work, the least of a few times.

    It does not sort: by the vector instructions of a processor that is ten times faster or
    slower, and fits are not.
    """
    rng = np.random.default_rng(0)
    values, matrix = rng.normal(size=200_000), rng.normal(size=(250, 250))
    codes = rng.integers(0, 255, 200_000)
    taken = []
    for _ in range(_REFERENCE_RUNS):
        start = time.perf_counter()
        np.bincount(codes, weights=values)
        np.exp(matrix @ matrix.T / 250.0)
        sum(range(100_000))
        taken.append(time.perf_counter() - start)
    return min(taken)


def _count_cores(estimator: Any) -> int:
    return linalg.threads.count_threads(getattr(estimator, "n_jobs", None))


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
