"""Find rows that depend on each other though nobody said so.

A flexible model that is scored on random rows interpolates between neighbouring days, or recognises
a patient by the other columns, and leaves nothing to see in its residuals. So the residuals here
are those of a linear model, and of a forest that is not fitted to the neighbours of a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, PredefinedSplit, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import SplineTransformer

from posterity import tables
from posterity.arrays import Array
from posterity.comparison import holdout
from posterity.comparison.baseline import constant_baseline
from posterity.comparison.holdout import Dependence
from posterity.tables.schema_sentences import format_option

_SURE = 4.0  # standard deviations of the similarity of rows paired at random
_NOTICEABLE = 0.15  # correlation of neighbours below which intervals hardly change
_MOST_ROWS = 4_000
_FEWEST_ROWS = 30
_FOLDS, _TREES, _LEAF = 5, 30, 5
_PERMUTATIONS = 99
_NEIGHBOURS, _CELLS = 4, 25
_AHEAD = 3  # following rows of the same group with which a row is paired
_MOST_CLASSES = 8
_KNOTS = 6
_SPARE = 0.25  # curves for each row at most


@dataclass(frozen=True, eq=False)
class _Rows:
    """Encoded rows with targets: one column of numbers, or an indicator of each class."""

    X: Array  # (n, D)
    Y: Array  # (n, C)
    blocks: tuple[tuple[str, slice], ...]
    is_class: bool

    def without(self, *names: str) -> Array:
        """Return the encoded columns of the other inputs."""
        kept = [self.X[:, columns] for name, columns in self.blocks if name not in names]
        return np.column_stack(kept) if kept else np.empty((len(self.X), 0))

    def select(self, rows: NDArray[np.intp]) -> "_Rows":
        """Return some of the rows."""
        return _Rows(self.X[rows], self.Y[rows], self.blocks, self.is_class)


def find_dependence(frame: Any, schema: tables.Schema, *, seed: int = 0) -> tuple[Dependence, ...]:
    """Find rows of a table that depend on each other by time, group, place or order.

    What a linear model and a forest leave unexplained is compared between neighbours, which must be
    far more alike than rows paired at random. The forest is not fitted to neighbours of a row.

    Parameters
    ----------
    frame : polars or pandas DataFrame, or dict of columns
        The table with its target.
    schema : Schema
        From ``tables.infer``.
    seed : int, default=0
        Random seed of the forest and of the random pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison, tables
    >>> rng = np.random.default_rng(0)
    >>> walk = {"day": np.arange(200), "x": rng.normal(size=200)}
    >>> walk["y"] = rng.normal(size=200).cumsum()
    >>> comparison.find_dependence(walk, tables.infer(walk, "y"))[0].kind
    'time'
    """
    table = tables.as_frame(frame)
    whole = tables.TableModel(constant_baseline(schema), schema).fit(table)
    y, has_target = whole.encode_targets(table)
    table, y = table.filter(pl.Series(has_target)), y[has_target]
    if len(y) < _FEWEST_ROWS or np.ptp(y) == 0.0:
        return ()
    is_class = schema.task == "classification"
    Y = _make_indicators(y) if is_class else y[:, None]
    rows = _Rows(whole.encode_inputs(table), Y, whole.encoder_.blocks(), is_class)
    return tuple(_iterate_findings(table, schema, rows, np.random.default_rng(seed)))


def _iterate_findings(
    table: pl.DataFrame, schema: tables.Schema, rows: _Rows, rng: np.random.Generator
) -> Iterator[Dependence]:
    """Yield at most one finding of each kind; the order of the file only if nothing else."""
    columns = holdout.parse_columns(table, schema)
    found = [
        *_find_groups(table, columns, rows, rng),
        *_find_times(columns, rows, rng),
        *_find_places(columns, schema, rows, rng),
    ]
    yield from found or _find_order(columns, rows, rng)


def _find_times(columns: Any, rows: _Rows, rng: np.random.Generator) -> Iterator[Dependence]:
    for name, values in holdout.iterate_times(columns):
        order = np.lexsort([rng.random(len(values)), values])[:_MOST_ROWS]
        some = rows.select(order)
        blocks = np.arange(len(order)) * _FOLDS // len(order)
        pairs = _pair_with_next(len(order), 1)
        if _are_alike(some, some.X, some.without(name), blocks, pairs, rng):
            option = format_option("time", name)
            yield Dependence(
                "time",
                (name,),
                f"Rows close in {name!r} depend on each other: the scores hold for rows between "
                f"these times, not for later ones. Use {option} to measure later rows.",
            )
            return


def _find_groups(
    table: pl.DataFrame, columns: Any, rows: _Rows, rng: np.random.Generator
) -> Iterator[Dependence]:
    for group in holdout.iterate_groups(table, columns):
        chosen = _choose_whole_groups(group.codes, rng)
        some, codes = rows.select(chosen), group.codes[chosen]
        others = some.without(group.name)
        linear = others
        if group.numbers is not None:
            linear = np.column_stack([others, _make_smooth(group.numbers[chosen])])
        if len(np.unique(codes)) < _FOLDS or not linear.shape[1]:
            continue
        folds = np.empty(len(codes), dtype=np.intp)
        for number, (_, test) in enumerate(GroupKFold(_FOLDS).split(codes, groups=codes)):
            folds[test] = number
        if _are_alike(some, linear, others, folds, _pair_within(codes), rng):
            name, option = group.name, format_option("group", group.name)
            yield Dependence(
                "groups",
                (name,),
                f"Rows with the same {name!r} depend on each other: the scores hold for new rows "
                f"of a known {name!r}, not for a new one. Use {option} to measure new ones.",
            )
            return


def _find_places(
    columns: Any, schema: tables.Schema, rows: _Rows, rng: np.random.Generator
) -> Iterator[Dependence]:
    names = holdout.find_coordinates(schema)
    if names is None:
        return
    values = np.column_stack([columns[name].numbers for name in names])
    present = np.flatnonzero(~np.isnan(values).any(axis=1))
    chosen = rng.permutation(present)[:_MOST_ROWS]
    if len(chosen) < _FEWEST_ROWS:
        return
    some = rows.select(chosen)
    scale = values[chosen].std(axis=0)
    places = values[chosen] / np.where(scale > 0.0, scale, 1.0)
    cells = KMeans(min(_CELLS, len(np.unique(places, axis=0))), n_init=1, random_state=0)
    near = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(places).kneighbors(return_distance=False)
    pairs = (np.repeat(np.arange(len(chosen)), _NEIGHBOURS), near.ravel())
    folds = cells.fit_predict(places) % _FOLDS
    if _are_alike(some, some.X, some.without(*names), folds, pairs, rng):
        joined = format_option("blocks", ",".join(names))
        yield Dependence(
            "blocks",
            names,
            f"Rows close in {names[0]!r} and {names[1]!r} depend on each other: the scores hold "
            f"for rows between these places, not for new regions. Use {joined} to measure new "
            "regions.",
        )


def _find_order(columns: Any, rows: _Rows, rng: np.random.Generator) -> Iterator[Dependence]:
    """The order of the file says nothing if it is that of the target itself."""
    if _is_sorted(rows):
        return
    some = rows.select(np.arange(min(len(rows.Y), _MOST_ROWS)))
    folds = rng.permutation(np.arange(len(some.Y)) % _FOLDS)
    if not _are_alike(some, some.X, some.X, folds, _pair_with_next(len(some.Y), 1), rng):
        return
    start = "Rows close to each other in the file depend on each other: the scores hold for rows "
    for name, seen in columns.items():
        steps = np.zeros(1) if seen.numbers is None else np.diff(seen.numbers)
        if np.all(steps > 0.0) or np.all(steps < 0.0):
            option = format_option("time", name)
            sentence = (
                f"{start}between these, not for later ones. Use {option} to measure later rows."
            )
            yield Dependence("time", (name,), sentence)
            return
    yield Dependence(
        "order",
        (),
        f"{start}between these, not for those that follow. If the file is in order of time, add a "
        "column with the time and name it with --time.",
    )


def _are_alike(
    rows: _Rows,
    linear: Array,
    others: Array,
    folds: NDArray[np.intp],
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    rng: np.random.Generator,
) -> bool:
    """Return whether paired rows are alike in what sums of curves, and then a forest, leave.

    The sum has a line for each column that says which rows are close, and a curve for each other
    one. The forest predicts each fold from the others, so it is fitted to no neighbour of a row.
    """
    curves = np.column_stack([linear, *_make_curves(others)])
    R = rows.Y - Ridge(1.0).fit(curves, rows.Y).predict(curves).reshape(rows.Y.shape)
    if not _is_similar(R, pairs, rows.is_class, rng):
        return False
    if not others.shape[1]:
        return True
    trees = ExtraTreesRegressor(
        _TREES, min_samples_leaf=_LEAF, random_state=int(rng.integers(2**31)), n_jobs=1
    )
    target = R[:, 0] if R.shape[1] == 1 else R
    left = target - cross_val_predict(trees, others, target, cv=PredefinedSplit(folds))
    return _is_similar(left.reshape(R.shape), pairs, rows.is_class, rng)


def _is_similar(
    R: Array,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    is_class: bool,
    rng: np.random.Generator,
) -> bool:
    """Return whether paired rows have similar residuals, far more than rows paired at random."""
    scores = R if is_class else _normal_scores(R)
    scores = scores - scores.mean(axis=0)
    first, second = pairs
    size = float(np.mean(np.sum(scores**2, axis=1)))
    if not len(first) or size == 0.0:
        return False

    def similarity(S: Array) -> float:
        return float(np.mean(np.sum(S[first] * S[second], axis=1))) / size

    at_random = [similarity(scores[rng.permutation(len(R))]) for _ in range(_PERMUTATIONS)]
    found = similarity(scores) - float(np.mean(at_random))
    return found > max(_NOTICEABLE, _SURE * float(np.std(at_random)))


def _normal_scores(R: Array) -> Array:
    """Replace numbers by normal quantiles of their ranks, so that outliers do not decide."""
    ranks = stats.rankdata(R, axis=0)
    return stats.norm.ppf((ranks - 0.5) / len(R))


def _make_indicators(y: NDArray[Any]) -> Array:
    """Return an indicator column of each of the most frequent classes."""
    labels, counts = np.unique(y, return_counts=True)
    frequent = labels[np.argsort(-counts, kind="stable")[:_MOST_CLASSES]]
    return (y[:, None] == frequent).astype(np.float64)


def _make_curves(X: Array) -> Iterator[Array]:
    """Yield smooth functions of each column that varies, as far as the rows suffice for them."""
    varying = [x for x in X.T if len(np.unique(x)) > _KNOTS]
    if len(varying) * _KNOTS < _SPARE * len(X):
        yield from map(_make_smooth, varying)


def _make_smooth(values: Array) -> Array:
    """Return a few smooth functions of numbers; missing ones count as their median."""
    x = np.where(np.isnan(values), np.nanmedian(values), values)[:, None]
    if np.ptp(x) == 0.0:
        return x
    return SplineTransformer(_KNOTS, knots="quantile", include_bias=False).fit_transform(x)


def _pair_with_next(n: int, ahead: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    places = np.arange(n - ahead)
    return places, places + ahead


def _pair_within(codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pair each row with the next few rows of its group."""
    order = np.argsort(codes, kind="stable")
    pairs = [_pair_with_next(len(codes), ahead) for ahead in range(1, _AHEAD + 1)]
    first, second = (order[np.concatenate(side)] for side in zip(*pairs, strict=True))
    same = codes[first] == codes[second]
    return first[same], second[same]


def _choose_whole_groups(codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose the rows of some groups, if all rows are too many."""
    if len(codes) <= _MOST_ROWS:
        return np.arange(len(codes))
    place = rng.permutation(codes.max() + 1)[codes]
    last = np.cumsum(np.bincount(place))
    return np.flatnonzero(place <= np.searchsorted(last, _MOST_ROWS))


def _is_sorted(rows: _Rows) -> bool:
    """Return whether the rows are sorted by the target, or each class stands together."""
    steps = np.diff(rows.Y, axis=0)
    if rows.is_class:
        changes = int(np.sum(np.any(steps != 0.0, axis=1)))
        return changes < max(rows.Y.shape[1], 2)
    return bool(np.all(steps >= 0.0) or np.all(steps <= 0.0))
