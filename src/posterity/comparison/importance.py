"""Which inputs a model needs: what its predictions lose when one of them is shuffled."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.comparison import measuring

_AT_ONCE = 20_000  # rows predicted together
_LEAST_ROWS = 30  # that are used however slow the model is


@dataclass(frozen=True)
class Importance:
    """What is lost without one input.

    Attributes
    ----------
    name : str
        The column of the table.
    drop : float
        How far the mean log score falls when the column is shuffled among the rows; near zero, or
        below, where the model makes nothing of it.
    error : float
        Standard error of that, over rows.

    Examples
    --------
    >>> from posterity import comparison
    >>> comparison.Importance("age", drop=0.3, error=0.05).name
    'age'
    """

    name: str
    drop: float
    error: float


def importance(
    model: tables.TableModel,
    frame: Any,
    *,
    seed: int = 0,
    max_rows: int = 500,
    n_repeats: int = 3,
    max_seconds: float | None = None,
) -> tuple[Importance, ...]:
    """What each input is worth to a fitted model, the most important first.

    A column is shuffled as it stands in the table, with everything that encodes it.

    Parameters
    ----------
    model : TableModel
        Fitted.
    frame : polars or pandas DataFrame, or dict of columns
        Rows with a target, best such as the model was not fitted to.
    seed : int, default=0
        Of the rows that are used, and of the shuffling.
    max_rows : int, default=500
        Use so many rows at most, drawn at random.
    n_repeats : int, default=3
        Shuffle each column so often.
    max_seconds : float, optional
        Shuffle once, and use fewer rows, where a slow model would take longer than about this.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression, comparison, tables
    >>> rng = np.random.default_rng(0)
    >>> table = {"a": rng.normal(size=80), "b": rng.normal(size=80)}
    >>> table["y"] = 3.0 * table["a"] + rng.normal(size=80)
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> [one.name for one in comparison.importance(model, table)]
    ['a', 'b']
    """
    rng = np.random.default_rng(seed)
    table = tables.as_frame(frame)
    y_all, has_target = model.outcomes(table)
    present = np.flatnonzero(has_target)
    rows = np.sort(rng.choice(present, min(max_rows, len(present)), replace=False))
    if len(rows) < 2:
        raise tables.TableError(
            f"At least two rows need a value of {model.schema.target!r} to tell what inputs matter."
        )
    all_X, all_y, start = model.inputs(table[rows]), y_all[rows], time.perf_counter()
    all_before = _log_prob(model, all_X, all_y)
    seconds = len(model.schema.inputs) * (time.perf_counter() - start)
    n, n_shuffles = _affordable(len(rows), n_repeats, seconds, max_seconds)
    kept = rng.permutation(len(rows))[:n] if n < len(rows) else slice(None)
    X, y, before = all_X[kept], all_y[kept], all_before[kept]
    shuffles = np.stack([rng.permutation(len(y)) for _ in range(n_shuffles)])
    found = [
        Importance(name, float(lost.mean()), measuring.standard_error(lost))
        for name, lost in _losses(model, X, y, shuffles, before)
    ]
    return tuple(sorted(found, key=lambda one: -one.drop))


def _affordable(
    n: int, n_repeats: int, seconds: float, max_seconds: float | None
) -> tuple[int, int]:
    """Rows and shuffles that time will do for, where shuffling all rows once takes ``seconds``."""
    if max_seconds is None or n_repeats * seconds <= max_seconds:
        return n, n_repeats
    return min(n, max(_LEAST_ROWS, int(n * max_seconds / seconds))), 1


def _losses(
    model: tables.TableModel, X: Array, y: NDArray[Any], shuffles: NDArray[np.intp], before: Array
) -> Iterator[tuple[str, Array]]:
    """Name of each input, and what each row loses without it, (n,); many inputs in one call."""
    blocks = list(_blocks(model))
    n_repeats, n = shuffles.shape
    per_call = max(1, _AT_ONCE // shuffles.size)
    for start in range(0, len(blocks), per_call):
        some = blocks[start : start + per_call]
        shuffled = [_shuffled(X, columns, order) for _, columns in some for order in shuffles]
        after = _log_prob(model, np.concatenate(shuffled), np.tile(y, len(shuffled)))
        means = after.reshape(len(some), n_repeats, n).mean(axis=1)
        yield from ((name, before - mean) for (name, _), mean in zip(some, means, strict=True))


def _blocks(model: tables.TableModel) -> Iterator[tuple[str, slice]]:
    """Each column of the table with the columns that encode it."""
    start = 0
    for part in model.encoder_.parts_:
        yield part.name, slice(start, start + part.width)
        start += part.width


def _shuffled(X: Array, columns: slice, order: NDArray[np.intp]) -> Array:
    """The rows, with some columns of other rows."""
    mixed = X.copy()
    mixed[:, columns] = X[order, columns]
    return mixed


def _log_prob(model: tables.TableModel, X: Array, y: NDArray[Any]) -> Array:
    """What is given to what came, of each row."""
    return measuring.log_prob(
        model.estimator_, X, y, n_classes=len(model.classes_), n_train=model.n_rows_
    )
