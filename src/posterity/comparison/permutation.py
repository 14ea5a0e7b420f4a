"""Permutation importance of inputs: the decrease of the log score when one is shuffled."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from posterity import tables
from posterity.arrays import Array
from posterity.comparison import row_scores
from posterity.comparison.results import Importance

_AT_ONCE = 20_000  # rows predicted together
_LEAST_ROWS = 30  # that are used however slow the model is
_MAX_ROWS = 500
_N_REPEATS = 3
_LEVEL = 0.95  # of the intervals
_SHOWN = 5  # inputs that are named in a sentence


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """A fitted estimator, and encoded rows with targets to score it on."""

    estimator: Any
    X: Array  # (n, D)
    y: NDArray[Any]  # (n,)
    blocks: tuple[tuple[str, slice], ...]  # each input, and the columns of X that encode it
    n_classes: int  # 0 for numbers
    n_train: int
    clusters: NDArray[Any] | None = None  # (n,), equal for rows that depend on each other

    def select_rows(self, rows: NDArray[np.intp]) -> "MeasuredRows":
        """Select some of the rows."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], clusters=clusters)

    def log_prob(self, X: Array) -> Array:
        """Return the log probabilities of the targets for k copies of the rows, (k n,)."""
        y = np.tile(self.y, len(X) // len(self.y))
        return row_scores.log_prob(
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
    X, y, _ = row_scores.encode_known_rows(model, frame, "rank the inputs")
    measured = MeasuredRows(
        model.estimator_, X, y, model.encoder_.blocks(), len(model.labels_), model.n_rows_
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
    """Rank the inputs of several estimators, each on its own held-out rows.

    A column is shuffled within the rows of one estimator; rows of one cluster count as dependent.
    """
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
            lost.setdefault(name, []).append(_share_losses(usual - after, shuffles))
    clusters = _join_clusters(parts)
    found = [_summarise_losses(name, np.hstack(losses), clusters) for name, losses in lost.items()]
    return tuple(sorted(found, key=lambda one: -one.drop))


def describe_importance(found: Sequence[Importance]) -> tuple[str, ...]:
    """Say in sentences which inputs matter most, and which may not help.

    Parameters
    ----------
    found : sequence of Importance
        The most important first.

    Examples
    --------
    >>> from posterity import comparison
    >>> age = comparison.Importance("age", drop=0.3, error=0.05, low=0.2, high=0.4)
    >>> size = comparison.Importance("size", drop=0.01, error=0.02, low=-0.03, high=0.05)
    >>> for sentence in comparison.describe_importance([age, size]):
    ...     print(sentence)
    Decrease of the mean log score when an input is shuffled (95 % interval): age 0.3 (0.2 to 0.4).
    These rows do not show that size helps: its interval is not above zero.
    """
    helping = [one for one in found if one.helps]
    others = [one.name for one in found if not one.helps]
    sentences = []
    if helping:
        shown = [f"{one.name} {_format_interval(one)}" for one in helping[:_SHOWN]]
        sentences.append(
            "Decrease of the mean log score when an input is shuffled (95 % interval): "
            f"{', '.join(shown)}{_count_rest(len(helping))}."
        )
    if others and not helping:
        sentences.append("These rows do not show that any input helps: no interval is above zero.")
    elif others:
        verb, subject = (
            ("helps", "its interval is") if len(others) == 1 else ("help", "their intervals are")
        )
        sentences.append(
            f"These rows do not show that {_join_names(others)} {verb}: {subject} not above zero."
        )
    return tuple(sentences)


def _join_names(names: Sequence[str]) -> str:
    """Join names as in 'a, b and 3 more'."""
    shown = list(names) if len(names) <= _SHOWN + 1 else list(names[:_SHOWN])
    shown += [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _count_rest(n: int) -> str:
    return f" and {n - _SHOWN} more" if n > _SHOWN else ""


def _format_interval(one: Importance) -> str:
    return f"{one.drop:.2g} ({one.low:.2g} to {one.high:.2g})"


def _share_losses(losses: Array, shuffles: NDArray[np.intp]) -> Array:
    """Return the mean loss of each row, and that of the rows that got its value, (2, n).

    Both vary with the row, so that a standard error from the former alone is too small.
    """
    given = np.empty_like(losses)
    np.put_along_axis(given, shuffles, losses, axis=1)
    return np.stack([losses.mean(axis=0), given.mean(axis=0) - losses.mean()])


def _join_clusters(parts: Sequence[MeasuredRows]) -> NDArray[Any] | None:
    known = [part.clusters for part in parts if part.clusters is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _summarise_losses(name: str, losses: Array, clusters: NDArray[Any] | None) -> Importance:
    """Return the mean of the losses with a t interval, by the influence of each cluster."""
    influence = losses.sum(axis=0)
    drop, error = float(influence.mean()), row_scores.standard_error(influence, clusters)
    n = len(influence) if clusters is None else len(np.unique(clusters))
    reach = error * float(stats.t.ppf(0.5 + 0.5 * _LEVEL, n - 1)) if n > 1 else np.inf
    return Importance(name, drop, error, drop - reach, drop + reach)


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
    """Yield each input with the log probabilities of the rows when it is shuffled, (K, n).

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
        yield from zip((name for name, _ in some), after, strict=True)


def _replace_columns(X: Array, columns: slice, order: NDArray[np.intp]) -> Array:
    """Replace some columns of the rows by those of other rows."""
    mixed = X.copy()
    mixed[:, columns] = X[order, columns]
    return mixed
