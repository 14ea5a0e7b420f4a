"""Infer the schema of a table from its values: task, inputs and excluded columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from posterity.tables import column_types, frames, leaks, schema_sentences, targets
from posterity.tables.column_types import ParsedColumn
from posterity.tables.columns import Column, Dropped, Kind, Schema, TableError, Task
from posterity.tables.roles import EXPOSURE, GROUPS, Roles, infer_exposure
from posterity.tables.spelling import sort_labels


@dataclass(frozen=True)
class _ColumnOptions:
    """Column names in the arguments of the user."""

    roles: Roles
    kinds: dict[str, Kind]
    drop: frozenset[str]
    keep: frozenset[str]
    exact: frozenset[str]
    missing: tuple[str, ...]


@dataclass
class _InferredColumns:
    """Columns examined so far."""

    inputs: list[Column] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    suspects: list[tuple[Column, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fingerprints: dict[bytes, str] = field(default_factory=dict)


def infer(
    frame: Any,
    target: str,
    *,
    task: Task | None = None,
    number: Sequence[str] = (),
    category: Sequence[str] = (),
    date: Sequence[str] = (),
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    time: str | None = None,
    groups: str | Sequence[str] = (),
    blocks: Sequence[str] = (),
    exact: Sequence[str] = (),
    missing: Sequence[str] = (),
    exposure: str | None = None,
) -> Schema:
    """Infer the schema of a table.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or dict of columns
        The table; text is parsed as numbers or dates where possible.
    target : str
        The column to predict.
    task : "regression", "classification" or None, default=None
        None infers the task from the target.
    number, category, date : sequence of str
        Columns to read as this kind, regardless of their values.
    drop, keep : sequence of str
        Columns to exclude, and columns to keep regardless of their values.
    time : str, optional
        Column of dates or numbers that orders the rows: new rows are later ones.
    groups : str or sequence of str
        Column with the group of each row, such as a patient: new rows are of other groups. A group
        of several columns is a combination of their values; they stay inputs unless dropped.
    blocks : sequence of two str
        Columns with the coordinates of the rows: new rows are at other places.
    exact : sequence of str
        Columns, or the target, whose labels are kept apart where they differ only by case.
    missing : sequence of str
        Texts or numbers that count as missing in every column, such as "-999".
    exposure : str, optional
        Column with the exposure of each count, such as policy years or hours, if the target is one
        of counts: the rate of events in a unit of exposure is then learned.

    Returns
    -------
    Schema

    Raises
    ------
    TableError
        If the table cannot be used; the message says why and what to do.

    Examples
    --------
    >>> from posterity import tables
    >>> frame = {"id": ["a1", "a2", "a3"], "size": ["1,5", "2", "n/a"], "price": [10.5, 14.0, 19.5]}
    >>> schema = tables.infer(frame, "price")
    >>> schema.task, [(column.name, column.kind) for column in schema.inputs]
    ('regression', [('size', 'number')])
    >>> schema.dropped[0].why
    'it has a different text in every row, like an identifier'
    """
    table = frames.as_frame(frame)
    roles = Roles(
        time, (groups,) if isinstance(groups, str) else tuple(groups or ()), tuple(blocks), exposure
    )
    kinds: dict[Kind, Sequence[str]] = {"number": number, "category": category, "date": date}
    _check_table(table, target, task)
    _check_names(table, target, {**kinds, "drop": drop}, {"drop": drop, "keep": keep})
    roles.check_columns(table, target, drop)
    _refuse_strings({"exact": exact, "missing": missing})
    frames.require_columns(table, exact)
    wishes = _ColumnOptions(
        roles,
        {name: kind for kind, names in kinds.items() for name in names},
        frozenset(drop),
        frozenset((*keep, *roles.list_inputs())),
        frozenset(exact),
        tuple(missing),
    )
    chosen, outcome, notes = targets.infer_target(
        table,
        target,
        _require_numbers(task, roles),
        missing=wishes.missing,
        exact=target in wishes.exact,
    )
    rate = infer_exposure(table[exposure], outcome, wishes.missing) if exposure else None
    found = _InferredColumns(notes=list(notes))
    for name in table.columns:
        if name != target:
            _classify_column(found, table[name], outcome, wishes, chosen == "classification")
    _ensure_inputs(found, target)
    _note_duplicates(found, table, target)
    classes = sort_labels(outcome.series()) if chosen == "classification" else ()
    return Schema(
        target,
        chosen,
        roles.order_inputs(found.inputs),
        tuple(found.dropped),
        tuple(found.notes),
        outcome.column,
        classes,
        time=time,
        groups=roles.groups,
        blocks=roles.blocks,
        missing=tuple(missing),
        exposure=rate,
    )


def _require_numbers(task: Task | None, roles: Roles) -> Task | None:
    """Return the task: counts over an exposure are numbers."""
    if roles.exposure is None:
        return task
    if task == "classification":
        raise TableError(
            "An exposure (--exposure) belongs to counts, which are numbers: leave out --task "
            "classification."
        )
    return "regression"


def _check_table(table: pl.DataFrame, target: str, task: Task | None) -> None:
    """Refuse tasks that do not exist, and tables without rows or without the target."""
    if task not in (None, "regression", "classification"):
        raise ValueError(f"task must be 'regression', 'classification' or None, not {task!r}.")
    if table.height < 2:
        n = "no rows" if not table.height else "only one row"
        raise TableError(
            f"The table has {n}; at least 2 are required, and many more for a useful model."
        )
    frames.require_columns(table, (target,))


def _check_names(table: pl.DataFrame, target: str, *exclusive: Mapping[Any, Sequence[str]]) -> None:
    """Refuse columns in two lists that exclude each other, and those that do not exist."""
    for lists in exclusive:
        _refuse_strings(lists, " of names")
        seen: dict[str, str] = {}
        for word, name in ((word, name) for word, names in lists.items() for name in names):
            if name == target:
                raise TableError(f"{name!r} is the target, so it cannot be in {word}.")
            if seen.setdefault(name, word) != word:
                raise TableError(
                    f"Column {name!r} is in both {seen[name]} and {word}; list it once."
                )
    merged = {word: names for lists in exclusive for word, names in lists.items()}
    frames.require_columns(table, [name for names in merged.values() for name in names])


def _refuse_strings(lists: Mapping[Any, Sequence[str]], content: str = "") -> None:
    for word, names in lists.items():
        if isinstance(names, str):
            raise TypeError(
                f"{word} must be a sequence{content} such as ({names!r},), not a string."
            )


def _classify_column(
    found: _InferredColumns,
    cells: pl.Series,
    target: ParsedColumn,
    wishes: _ColumnOptions,
    is_class: bool,
) -> None:
    """Add a column to the inputs or to the excluded columns."""
    name = cells.name
    if name in wishes.drop:
        found.dropped.append(Dropped(name, schema_sentences.ASKED))
        return
    if cells.dtype.is_nested() or isinstance(cells.dtype, pl.Binary | pl.Object):
        found.dropped.append(Dropped(name, f"it contains values of type {cells.dtype}", final=True))
        return
    if name == wishes.roles.exposure or (name,) == wishes.roles.groups:
        role = EXPOSURE if name == wishes.roles.exposure else GROUPS
        found.dropped.append(Dropped(name, role, final=True))
        return
    seen = column_types.parse_column(
        cells, wishes.kinds.get(name), missing=wishes.missing, exact=name in wishes.exact
    )
    wishes.roles.check_kind(seen.column)
    why = leaks.find_uninformative(seen)
    if why:
        found.dropped.append(Dropped(name, why, final=True))
        return
    found.notes.extend(seen.notes)
    if name not in wishes.kinds and leaks.is_free_text(seen):
        seen = replace(seen, column=replace(seen.column, kind="text"))
    suspicion = _find_reason_to_exclude(found, seen, target, is_class, name in wishes.kinds)
    if suspicion and name not in wishes.keep:
        found.suspects.append((seen.column, suspicion))
        found.dropped.append(Dropped(name, suspicion))
        return
    found.inputs.append(seen.column)
    _note_identifier(found, seen, wishes)


def _find_reason_to_exclude(
    found: _InferredColumns, seen: ParsedColumn, target: ParsedColumn, is_class: bool, said: bool
) -> str | None:
    """Return why a column should be excluded, and add a note for the user."""
    leak = leaks.find_leak(seen, target, is_class)
    if leak:
        found.notes.append(
            f"{seen.column.name!r} seems to leak the target: {leak}. Keep it only if it is known "
            f"before the target ({schema_sentences.format_option('keep', seen.column.name)})."
        )
        return leak
    identifier = None if said else leaks.find_identifier(seen)
    if identifier == leaks.COUNTS and leaks.follows_rows(seen, target):
        found.notes.append(
            f"{seen.column.name!r} counts the rows, and the target varies along them: it is kept. "
            "Exclude it if it only numbers them "
            f"({schema_sentences.format_option('drop', seen.column.name)})."
        )
        return None
    if identifier:
        return identifier
    first = found.fingerprints.setdefault(leaks.hash_values(seen), seen.column.name)
    return f"it is a copy of {first!r}" if first != seen.column.name else None


def _note_identifier(found: _InferredColumns, seen: ParsedColumn, wishes: _ColumnOptions) -> None:
    """Add a note about repeating numbers named like an identifier."""
    name = seen.column.name
    asked = name in wishes.keep or name in wishes.kinds
    if not asked and seen.are_whole() and leaks.is_named_like_identifier(name):
        drop, category = (
            schema_sentences.format_option("drop", name),
            schema_sentences.format_option("category", name),
        )
        found.notes.append(
            f"{name!r} is named like an identifier, but its values repeat: exclude it ({drop}) "
            f"or read it as a category ({category}) unless it is a quantity."
        )


def _note_duplicates(found: _InferredColumns, table: pl.DataFrame, target: str) -> None:
    """Add a note about duplicate rows."""
    names = [column.name for column in found.inputs]
    n_copies = leaks.count_duplicates(table.select(*names, target), found.inputs)
    if n_copies:
        found.notes.append(
            f"{n_copies:,} of {table.height:,} rows are exact duplicates. Remove rows that were "
            "repeated by mistake."
        )


def _ensure_inputs(found: _InferredColumns, target: str) -> None:
    """Keep suspect columns if there is no other input; raise if there is none at all."""
    if found.inputs:
        return
    usable = [(column, why) for column, why in found.suspects if column.kind != "category"]
    if not usable:
        whys = "; ".join(f"{drop.name!r}: {drop.why}" for drop in found.dropped[:5])
        raise TableError(
            f"No column is left to predict {target!r} from. "
            + (f"Excluded: {whys}. Use --keep if a column should be used." if whys else "")
        )
    names = {column.name for column, _ in usable}
    found.inputs.extend(column for column, _ in usable)
    found.dropped[:] = [drop for drop in found.dropped if drop.name not in names]
    for column, why in usable:
        found.notes.append(
            f"{column.name!r} is used because there is no other input, although {why}."
        )
