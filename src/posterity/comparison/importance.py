"""Permutation importance of inputs: the decrease of the log score when one is shuffled."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.comparison import measuring
from posterity.comparison.results import Importance

_AT_ONCE = 20_000  # rows predicted together
_LEAST_ROWS = 30  # that are used however slow the model is
_MAX_ROWS = 500
_N_REPEATS = 3


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """A fitted estimator, and encoded rows with targets to score it on."""

    estimator: Any
    X: Array  # (n, D)
    y: NDArray[Any]  # (n,)
    blocks: tuple[tuple[str, slice], ...]  # each input, and the columns of X that encode it
    n_classes: int  # 0 for numbers
    n_train: int

    def select_rows(self, rows: NDArray[np.intp]) -> "MeasuredRows":
        """Select some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    def log_prob(self, X: Array) -> Array:
        """Return the log probabilities of the targets for k copies of the rows, (k n,)."""
        y = np.tile(self.y, len(X) // len(self.y))
        return measuring.log_prob(
            self.estimator, X, y, n_classes=self.n_classes, n_train=self.n_train
        )


def importance(
    model: tables.TableModel,
    frame: Any,
    *,
    seed: int = 0,
    max_rows: int = _MAX_ROWS,
    n_repeats: int = _N_REPEATS,
    max_seconds: float | None = None,
) -> tuple[Importance, ...]:
    """Rank the inputs of a fitted model by the decrease of its log score when they are shuffled.

    A column is shuffled as it stands in the table, with all columns that encode it.

    Parameters
    ----------
    model : TableModel
        A fitted model.
    frame : polars or pandas DataFrame, or dict of columns
        Rows with a target. On rows that the model was fitted to, noise seems to matter:
        ``compare`` measures importance on held-out rows.
    seed : int, default=0
        Seed of the draw of rows and of the shuffles.
    max_rows : int, default=500
        Number of rows used at most, drawn at random.
    n_repeats : int, default=3
        Number of shuffles of each column.
    max_seconds : float, optional
        Shuffle once, and use fewer rows, where the model would take longer than about this.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression, comparison, tables
    >>> rng = np.random.default_rng(0)
    >>> table = {"a": rng.normal(size=80), "b": rng.normal(size=80)}
    >>> table["y"] = 3.0 * table["a"] + rng.normal(size=80)
    >>> model = tables.TableModel(BayesianLinearRegression(), tables.infer(table, "y")).fit(table)
    >>> [(one.name, round(one.drop, 1)) for one in comparison.importance(model, table)]
    [('a', 4.7), ('b', 0.0)]
    """
    table = tables.as_frame(frame)
    y, has_target = model.encode_targets(table)
    rows = np.flatnonzero(has_target)
    if len(rows) < 2:
        raise tables.TableError(
            f"At least two rows with a value of {model.schema_.target!r} are needed to rank the "
            "inputs."
        )
    measured = MeasuredRows(
        model.estimator_,
        model.encode_inputs(table[rows]),
        y[rows],
        model.encoder_.blocks(),
        len(model.labels_),
        model.n_rows_,
    )
    return rank_inputs(
        [measured], seed=seed, max_rows=max_rows, n_repeats=n_repeats, max_seconds=max_seconds
    )


def rank_inputs(
    parts: Sequence[MeasuredRows],
    *,
    seed: int = 0,
    max_rows: int = _MAX_ROWS,
    n_repeats: int = _N_REPEATS,
    max_seconds: float | None = None,
) -> tuple[Importance, ...]:
    """Rank the inputs of several estimators, each on its own held-out rows."""
    rng = np.random.default_rng(seed)
    parts = _draw_rows(parts, max_rows, rng)
    start = time.perf_counter()
    before = [part.log_prob(part.X) for part in parts]
    seconds = len(parts[0].blocks) * (time.perf_counter() - start)
    n, n_shuffles = _choose_effort(sum(map(len, before)), n_repeats, seconds, max_seconds)
    if n < sum(map(len, before)):
        parts = _draw_rows(parts, n, rng)
        before = [part.log_prob(part.X) for part in parts]
    lost: dict[str, list[Array]] = {}
    for part, usual in zip(parts, before, strict=True):
        shuffles = np.stack([_draw_derangement(len(usual), rng) for _ in range(n_shuffles)])
        for name, after in _shuffled_log_probs(part, shuffles):
            lost.setdefault(name, []).append(usual - after)
    found = [_summarise_losses(name, np.concatenate(losses)) for name, losses in lost.items()]
    return tuple(sorted(found, key=lambda one: -one.drop))


def _summarise_losses(name: str, losses: Array) -> Importance:
    return Importance(name, float(losses.mean()), measuring.standard_error(losses))


def _draw_rows(
    parts: Sequence[MeasuredRows], max_rows: int, rng: np.random.Generator
) -> list[MeasuredRows]:
    """Draw the same share of rows from every part, but at least the two that a shuffle needs."""
    total = sum(len(part.y) for part in parts)
    if total <= max_rows:
        return list(parts)
    counts = [max(2, round(max_rows * len(part.y) / total)) for part in parts]
    return [
        part.select_rows(np.sort(rng.choice(len(part.y), count, replace=False)))
        for part, count in zip(parts, counts, strict=True)
    ]


def _draw_derangement(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a random permutation of n rows in which no row keeps its position."""
    order = rng.permutation(n)
    partner = np.empty(n, dtype=np.intp)
    partner[order] = np.roll(order, rng.integers(1, n))
    return partner


def _choose_effort(
    n: int, n_repeats: int, seconds: float, max_seconds: float | None
) -> tuple[int, int]:
    """Return how many rows and shuffles fit the time, if one shuffle of all takes ``seconds``."""
    if max_seconds is None or n_repeats * seconds <= max_seconds:
        return n, n_repeats
    return min(n, max(_LEAST_ROWS, int(n * max_seconds / seconds))), 1


def _shuffled_log_probs(
    part: MeasuredRows, shuffles: NDArray[np.intp]
) -> Iterator[tuple[str, Array]]:
    """Yield each input with the mean log probability of each row when it is shuffled, (n,).

    Several inputs are predicted in one call, because small calls are mostly overhead.
    """
    n_repeats, n = shuffles.shape
    per_call = max(1, _AT_ONCE // shuffles.size)
    for start in range(0, len(part.blocks), per_call):
        some = part.blocks[start : start + per_call]
        shuffled = [
            _replace_columns(part.X, columns, order) for _, columns in some for order in shuffles
        ]
        after = part.log_prob(np.concatenate(shuffled)).reshape(len(some), n_repeats, n)
        yield from zip((name for name, _ in some), after.mean(axis=1), strict=True)


def _replace_columns(X: Array, columns: slice, order: NDArray[np.intp]) -> Array:
    """Replace some columns of the rows by those of other rows."""
    mixed = X.copy()
    mixed[:, columns] = X[order, columns]
    return mixed
