"""Find groups of rows that nobody named, by scoring a forest with and without their rows.

A flexible model recognises the rows of a patient by any column that repeats in them, so random
folds measure new rows of known patients only. A forest is therefore scored twice on the same rows:
with random ones held out, and with whole values of a column, or of several columns, or whole
stretches of the file. Where the second scores are worse, the first ones hold for known groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import tables, trees
from posterity.arrays import Array
from posterity.comparison import folds, holdout, row_scores
from posterity.comparison.holdout import Dependence, Holdout, name_group
from posterity.comparison.results import HeldOut
from posterity.tables import column_types, roles
from posterity.tables.schema_sentences import format_option

_TREES, _FOLDS, _MOST_ROWS, _FEWEST_ROWS = 20, 3, 3_000, 100
_FEWEST_VALUES, _FEWEST_LABELS = 10, 20  # groups of numbers or of sets, and of one column of texts
_ROWS_EACH = 5.0  # rows of a typical group, at least
_TOGETHER = 0.7  # combinations of dependent columns, as a share of those of independent ones
_MOST_CANDIDATES = 4
_STRETCHES = 40  # of the file
_SURE, _LESS_COVERAGE, _LESS_SCORE = 2.5, 0.1, 0.15  # errors, share of rows, nats


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Columns whose equal values may mark a group; none for stretches of the file."""

    columns: tuple[str, ...]
    codes: NDArray[np.intp]  # (N,)
    is_number: bool = False


@dataclass(frozen=True)
class _Loss:
    """Loss of a forest where whole groups are held out, beside random rows."""

    stated: float  # share of covered values, or of right classes
    reached: float
    score: float  # nats


def find_unnamed_groups(
    table: pl.DataFrame, schema: tables.Schema, *, seed: int = 0
) -> tuple[Dependence, ...]:
    """Find columns, or the order of rows, whose groups a forest predicts worse when they are new.

    Parameters
    ----------
    table : polars.DataFrame
        The table with its target.
    schema : Schema
        From ``tables.infer``.
    seed : int, default=0
        Random seed of the forest, its folds and the rows that are used.

    Returns
    -------
    tuple of Dependence
        At most one, which says what the forest reaches for known and for new groups.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from posterity import comparison, tables
    >>> rng = np.random.default_rng(0)
    >>> v0 = np.repeat(np.arange(30), 20)
    >>> y = rng.normal(size=30)[v0] + 0.2 * rng.normal(size=600)
    >>> table = pl.DataFrame({"v0": v0, "v1": rng.normal(size=600), "y": y})
    >>> comparison.find_unnamed_groups(table, tables.infer(table, "y"))[0].columns
    ('v0',)
    """
    rng = np.random.default_rng(seed)
    seen = [column.name for column in schema.inputs]  # copies are no groups
    present = table.filter(pl.col(schema.target).is_not_null()).unique(
        [*seen, schema.target], keep="first", maintain_order=True
    )
    if len(present) < _FEWEST_ROWS or not schema.inputs:
        return ()
    chosen = np.sort(rng.permutation(len(present))[:_MOST_ROWS])
    candidates = _find_candidates(present, schema, rng)
    if not candidates:
        return ()
    rows = present[chosen]
    try:
        at_random = _score_forest(rows, schema, Holdout("random", (), _FOLDS, seed))
    except tables.TableError:  # too few rows of a class
        return ()
    for one in candidates:
        loss = _measure_loss(one, rows, chosen, schema, at_random, rng)
        if loss is not None:
            return (_describe_dependence(one, loss, schema.task == "classification"),)
    return ()


def _find_candidates(
    table: pl.DataFrame, schema: tables.Schema, rng: np.random.Generator
) -> list[_Candidate]:
    """Return the columns and sets with the most groups first, and then stretches of the file."""
    columns = {
        name: seen
        for name, seen in holdout.parse_columns(table, schema).items()
        if seen.column.kind != "date" and seen.column.n_distinct * _ROWS_EACH <= seen.n_present
    }
    codes = {name: roles.number_groups(table, (name,)) for name in columns}
    found = [
        _Candidate((name,), codes[name], seen.numbers is not None)
        for name, seen in columns.items()
        if _has_groups(seen) and _is_balanced(codes[name])
    ]
    found += _iterate_sets({name: codes[name] for name in columns}, rng)
    found.sort(key=lambda one: (-_count(one.codes), len(one.columns)))
    different = {_count(one.codes): one for one in reversed(found)}
    kept = sorted(different.values(), key=lambda one: -_count(one.codes))[:_MOST_CANDIDATES]
    stretches = np.arange(len(table)) * _STRETCHES // len(table)
    return [*kept, _Candidate((), stretches)]


def _has_groups(seen: column_types.ParsedColumn) -> bool:
    fewest = _FEWEST_LABELS if seen.numbers is None else _FEWEST_VALUES
    return seen.column.n_distinct >= fewest


def _is_balanced(codes: NDArray[np.intp]) -> bool:
    """Return whether so many groups are large that no single one decides."""
    shares = np.bincount(codes) / len(codes)
    return float(1.0 / np.sum(shares**2)) >= _FEWEST_VALUES


def _iterate_sets(
    codes: dict[str, NDArray[np.intp]], rng: np.random.Generator
) -> Iterator[_Candidate]:
    """Yield sets of columns that have far fewer combinations than independent ones would."""
    order = sorted(codes, key=lambda name: -_count(codes[name]))
    for start in order[:_MOST_CANDIDATES]:
        names, joined = [start], codes[start]
        for name in order:
            both = _join(joined, codes[name])
            apart = _join(joined, rng.permutation(codes[name]))
            few = _count(both) * _ROWS_EACH <= len(both)
            if (
                name not in names
                and few
                and _count(joined) < _count(both) <= _TOGETHER * _count(apart)
            ):
                names, joined = [*names, name], both
        if len(names) > 1 and _is_balanced(joined):
            yield _Candidate(tuple(names), joined)


def _join(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number the combinations of two groupings."""
    return np.unique(first * (second.max() + 1) + second, return_inverse=True)[1]


def _count(codes: NDArray[np.intp]) -> int:
    return len(np.unique(codes))


def _score_forest(rows: pl.DataFrame, schema: tables.Schema, holdout: Holdout) -> HeldOut:
    """Predict each row by a forest that was not fitted to the rows that are held out with it."""
    make = (
        trees.RandomForestClassifier
        if schema.task == "classification"
        else trees.RandomForestRegressor
    )
    parts = folds.split_table(rows, schema, holdout)
    said = [
        row_scores.predict_rows(
            make(_TREES, random_state=holdout.seed).fit(fold.X_train, fold.y_train),
            fold.X_test,
            fold.y_test,
            fold.rows,
            classes=parts.classes,
            n_train=len(fold.y_train),
            clusters=fold.clusters,
        ).held_out
        for fold in parts.folds
    ]
    return row_scores.combine_held_out(said)


def _measure_loss(
    one: _Candidate,
    rows: pl.DataFrame,
    chosen: NDArray[np.intp],
    schema: tables.Schema,
    at_random: HeldOut,
    rng: np.random.Generator,
) -> _Loss | None:
    """Return what is lost where whole groups are held out, if it is more than its error."""
    new = _score_new_groups(one.codes[chosen], rows, schema)
    if new is None or not np.array_equal(new.rows, at_random.rows):
        return None
    worse = at_random.log_prob - new.log_prob
    before, after = _right_rows(at_random), _right_rows(new)
    beyond = before - after
    if schema.task == "classification":  # new groups may be predicted worse, but not too surely
        beyond = beyond - (row_scores.confidence(at_random) - row_scores.confidence(new))
    # Log densities far out have no stable error, so only the shares are compared with theirs.
    if not _is_more(beyond, new.clusters, _LESS_COVERAGE) or worse.mean() < _LESS_SCORE:
        return None
    if one.is_number and _is_quantity(one, rows, chosen, schema, new, rng):
        return None
    return _Loss(float(before.mean()), float(after.mean()), float(worse.mean()))


def _score_new_groups(
    codes: NDArray[np.intp], rows: pl.DataFrame, schema: tables.Schema
) -> HeldOut | None:
    """Predict the rows of each group by a forest that saw none of them."""
    if _count(codes) < _FEWEST_VALUES:
        return None
    name = _free_name(rows)
    marked = rows.with_columns(pl.Series(name, codes))
    return _score_forest(marked, schema, Holdout("groups", (name,), _FOLDS))


def _is_quantity(
    one: _Candidate,
    rows: pl.DataFrame,
    chosen: NDArray[np.intp],
    schema: tables.Schema,
    new: HeldOut,
    rng: np.random.Generator,
) -> bool:
    """Return whether new values are predicted from their neighbours, as those of labels are not.

    Labels could be exchanged for each other; if the forest predicts new values worse then, their
    order says something.
    """
    (name,) = one.columns
    if name not in [column.name for column in schema.inputs]:
        return False
    values = rows[name].drop_nulls().unique().sort()
    other = values.gather(rng.permutation(len(values)))
    mixed = rows.with_columns(pl.col(name).replace_strict(values, other, default=None))
    said = _score_new_groups(one.codes[chosen], mixed, schema)
    return said is not None and _is_more(new.log_prob - said.log_prob, new.clusters, 0.0)


def _is_more(values: Array, clusters: NDArray[np.intp] | None, least: float) -> bool:
    error = row_scores.standard_error(values, clusters)
    return float(np.mean(values)) > max(least, _SURE * error)


def _right_rows(held: HeldOut) -> Array:
    """Return 1 for each row inside its 90 % interval, or whose most probable class is right."""
    right = row_scores.is_correct if held.pit is None else row_scores.is_inside
    return right(held).astype(np.float64)


def _free_name(rows: pl.DataFrame) -> str:
    name = "group"
    while name in rows.columns:
        name += "_"
    return name


def _describe_dependence(one: _Candidate, loss: _Loss, is_class: bool) -> Dependence:
    """Say for which new rows the scores hold, and what is reached for others."""
    covers = "finds the class of" if is_class else "covers, with 90 % intervals,"
    stated, reached = (f"{100.0 * share:.0f} %" for share in (loss.stated, loss.reached))
    if not one.columns:
        return Dependence(
            "order",
            (),
            f"Rows that follow each other in the file are of one kind: a forest {covers} {stated} "
            f"of rows between known ones, but {reached} of whole stretches of the file that it has "
            "not seen. Add a column with the group of each row and name it with --group.",
            f"for other stretches of the file a forest {covers} {reached}",
        )
    named, option = name_group(one.columns), format_option("group", ",".join(one.columns))
    return Dependence(
        "groups",
        one.columns,
        f"Rows with the same {named} depend on each other: a forest {covers} {stated} of new rows "
        f"of a known {named}, but {reached} of those of a new one. Use {option} to measure new "
        "ones.",
        f"for a new {named} a forest {covers} {reached}",
    )
