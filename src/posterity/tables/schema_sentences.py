"""Describe an inferred schema in sentences, with the options that change it."""

import shlex
from typing import Any

from posterity.tables import frames, texts
from posterity.tables.columns import Column, Dropped, Schema, list_names
from posterity.tables.parts import MOST_LEVELS

ASKED = "as requested"
_TEXT = "text, by the words that rows share"
_SHOWN = 6  # names in one sentence


def describe_schema(schema: Schema, frame: Any, *, on_dask: bool = False) -> list[str]:
    """Describe a schema in sentences, with the options that change it.

    Parameters
    ----------
    schema : Schema
        Schema returned by ``infer``.
    frame : table
        Table from which the schema was inferred.
    on_dask : bool, default=False
        Whether models are fitted on a Dask cluster, where many categories are encoded otherwise.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from posterity import tables
    >>> frame = {"size": [1.5, 2.0, 4.0], "price": [10.5, 14.0, 19.5]}
    >>> for sentence in tables.describe_schema(tables.infer(frame, "price"), frame):
    ...     print(sentence)
    The target 'price' is a number: regression on 3 rows (--task classification to change).
    1 input is read as a number: 'size' (--category COL or --date COL to change).
    """
    n_rows = frames.as_frame(frame).height
    said = [_describe_target(schema, n_rows)]
    for kind, words, others in (
        ("number", ("a number", "numbers"), "--category COL or --date COL"),
        ("category", ("a category", "categories"), "--number COL"),
        ("date", ("a date", "dates"), "--category COL"),
        ("text", (_TEXT, _TEXT), "--drop COL or --category COL"),
    ):
        columns = [column for column in schema.inputs if column.kind == kind]
        if columns:
            said.append(_describe_inputs(columns, words, others))
    said += _describe_unusual_target(schema)
    said += [_describe_format(column, on_dask) for column in schema.inputs if _is_unusual(column)][
        :_SHOWN
    ]
    said += _describe_missing(schema)
    said += _describe_excluded(schema)
    return [*said, *schema.notes]


def format_option(word: str, name: str) -> str:
    """Format a command line option for a column."""
    joint = "=" if name.startswith("-") else " "
    return f"--{word}{joint}{shlex.quote(name)}"


def _describe_target(schema: Schema, n_rows: int) -> str:
    missing = schema.outcome.n_missing if schema.outcome else 0
    verb = "is" if missing == 1 else "are"
    without = f", {missing:,} more without a target {verb} excluded" if missing else ""
    on = f"on {n_rows - missing:,} rows{without}"
    if schema.task == "regression":
        if schema.exposure is not None:
            return (
                f"The target {schema.target!r} is a count over the exposure in "
                f"{schema.exposure.name!r}: regression of the rate {on}."
            )
        change = "--task classification to change"
        return f"The target {schema.target!r} is a number: regression {on} ({change})."
    n = len(schema.classes)
    labels = list_names([texts.format_cell(label) for label in schema.classes], _SHOWN)
    classes = f"one of {n} classes, {labels}"
    change = "--task regression to change"
    return f"The target {schema.target!r} is {classes}: classification {on} ({change})."


def _describe_inputs(columns: list[Column], words: tuple[str, str], others: str) -> str:
    n = len(columns)
    names = list_names([texts.format_cell(column.name) for column in columns], _SHOWN)
    start = f"{n} input is read as {words[0]}" if n == 1 else f"{n} inputs are read as {words[1]}"
    return f"{start}: {names} ({others} to change)."


def _describe_unusual_target(schema: Schema) -> list[str]:
    """Describe the format of a numeric target if it is unusual."""
    target = schema.outcome
    if schema.task == "classification" or target is None:
        return []
    return [_describe_format(target)] if _is_unusual(target) else []


def _is_unusual(column: Column) -> bool:
    if column.kind == "category":
        return column.n_distinct > MOST_LEVELS
    return column.style not in ("", "iso") or bool(column.unit) or "," in column.why


def _describe_format(column: Column, on_dask: bool = False) -> str:
    if column.kind == "category" and on_dask:
        return (
            f"{column.name!r} has {column.n_distinct:,} distinct values: at most {MOST_LEVELS} "
            "frequent ones are encoded separately, and the others together."
        )
    if column.kind == "category":
        return (
            f"{column.name!r} has {column.n_distinct:,} distinct values: each is encoded by the "
            "mean of the target in its rows, drawn to the mean of all rows where they are few."
        )
    return f"{column.name!r} is read as {column.why}."


def _describe_missing(schema: Schema) -> list[str]:
    columns = [column for column in schema.inputs if column.n_missing]
    if not columns:
        return []
    total = sum(column.n_missing for column in columns)
    names = list_names(
        [f"{texts.format_cell(column.name)} ({column.n_missing:,})" for column in columns], _SHOWN
    )
    values = "value is" if total == 1 else "values are"
    return [f"{total:,} {values} missing in the inputs, which is handled by the model: {names}."]


def _describe_excluded(schema: Schema) -> list[str]:
    by_why: dict[str, list[Dropped]] = {}
    for drop in schema.dropped:
        by_why.setdefault(drop.why, []).append(drop)
    return [_describe_excluded_for(why, drops) for why, drops in by_why.items()]


def _describe_excluded_for(why: str, drops: list[Dropped]) -> str:
    names = list_names([texts.format_cell(drop.name) for drop in drops], _SHOWN)
    if why == ASKED:
        return f"Excluded as requested: {names}."
    reason = why.replace("it ", "each ", 1) if len(drops) > 1 and why.startswith("it ") else why
    change = "" if drops[0].final else f" ({format_option('keep', drops[0].name)} to change)"
    return f"Excluded: {names}, because {reason}{change}."
