"""What a benchmark is made of, as data: tasks, contenders, and the table of both.

A part travels to the worker's process by pickle, so its functions are importable: defined at the
top of a module, or a ``functools.partial`` of such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import util
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Prediction: TypeAlias = tuple[Array, Array | None]
Scores: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Data:
    """Rows to learn from and rows held out; ``reference``: the right answer where it is known."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    reference: Array | None = None

    def save(self, folder: Path) -> None:
        """One file a field, so that loading needs no memory beside the arrays themselves."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                np.save(folder / f"{field.name}.npy", value)

    @classmethod
    def load(cls, folder: Path) -> Data:
        """What ``save`` wrote."""
        return cls(**{path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))})

    def small(self) -> Data:
        """A corner of the training rows, wide where the data are wide: enough to warm up on."""
        rows, columns = (20, 40) if self.X.shape[1] > len(self.X) else (100, 20)
        X, y = np.ascontiguousarray(self.X[:rows, :columns]), self.y[:rows].copy()
        return Data(X, y, X, y)


class Saved(Protocol):
    """What goes by files to the processes that measure."""

    def save(self, folder: Path) -> None:
        """Write it to a folder."""


@dataclass(frozen=True)
class Size:
    """How large a task is."""

    rows: int
    columns: int
    test_rows: int = 10_000

    @property
    def label(self) -> str:
        """As a table names it: 10,000 x 100."""
        return f"{self.rows:,} x {self.columns:,}"

    def tenth(self) -> Size:
        """A tenth in each direction, and never less than two."""
        return Size(*(max(2, n // 10) for n in (self.rows, self.columns, self.test_rows)))


def score_nothing(data: Data, prediction: Prediction) -> Scores:
    """A task whose measurements are all there is."""
    del data, prediction
    return {}


@dataclass(frozen=True)
class Task:
    """Data made from a seed, and how predictions on its held-out rows are judged."""

    name: str  # what the data are; a table adds the size
    size: Size
    generate: Callable[[np.random.Generator, Size], Saved]
    score: Callable[[Data, Prediction], Scores] = score_nothing
    seed: int = 0

    def tenth(self) -> Task:
        """The same task on a tenth of the size."""
        return replace(self, size=self.size.tenth())


def fit_estimator(model: Any, X: Array, y: Array) -> Any:
    """Fit in scikit-learn's way."""
    return model.fit(X, y)


def predict_with_std(model: Any, X: Array) -> Prediction:
    """Mean and standard deviation, in scikit-learn's way."""
    mean, std = model.predict(X, return_std=True)
    return mean, std


def predict_mean(model: Any, X: Array) -> Prediction:
    """The mean alone, in scikit-learn's way."""
    return model.predict(X), None


def nothing_more(model: Any) -> Scores:
    """A model whose predictions are all there is to judge."""
    del model
    return {}


@dataclass(frozen=True)
class Contender:
    """One package's way of doing the work; ``needs`` is what must be importable for it."""

    name: str
    build: Callable[[], Any]
    fit: Callable[[Any, Array, Array], Any] = fit_estimator
    predict: Callable[[Any, Array], Prediction] = predict_with_std
    facts: Callable[[Any], Scores] = nothing_more  # what a fitted model says of itself
    needs: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether its package is installed."""
        return self.needs is None or util.find_spec(self.needs) is not None


@dataclass(frozen=True)
class Benchmark:
    """Every contender on every task. The first contender is posterity: ratios are to it."""

    name: str
    title: str
    tasks: tuple[Task, ...]
    contenders: tuple[Contender, ...]
    note: str = ""  # what a reader of the tables must know
