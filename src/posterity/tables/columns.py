"""The schema of a table: input columns, target, dropped columns; and table errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Kind: TypeAlias = Literal["number", "category", "date", "text"]
Task: TypeAlias = Literal["regression", "classification"]


class TableError(ValueError):
    """Error for a file or table that cannot be used; the message says why.

    Examples
    --------
    >>> from posterity import tables
    >>> tables.infer({"x": [1.0, 2.0]}, "y")
    Traceback (most recent call last):
        ...
    posterity.tables.columns.TableError: There is no column 'y' in the table. Its columns are 'x'.
    """


class CellError(TableError):
    """Error for one invalid cell.

    Attributes
    ----------
    row : int
        Row number; the first row below the header is 1.
    column : str
        Column name.
    trouble : str
        The fault of the cell, and its remedy.

    Examples
    --------
    >>> from posterity import tables
    >>> error = tables.CellError(3, "size", "'big' is not a number.")
    >>> str(error.shift_rows(100))
    "Row 103, column 'size': 'big' is not a number."
    """

    def __init__(self, row: int, column: str, trouble: str) -> None:
        super().__init__(row, column, trouble)
        self.row, self.column, self.trouble = row, column, trouble

    def __str__(self) -> str:
        return f"Row {self.row}, column {self.column!r}: {self.trouble}"

    def shift_rows(self, n_rows: int) -> "CellError":
        """Return the same error with its row number increased by ``n_rows``."""
        return CellError(self.row + n_rows, self.column, self.trouble)


def refuse_cells(odd: NDArray[np.bool_], name: str, explain: Callable[[int], str]) -> None:
    """Raise CellError for the first odd cell of a column, if there is one.

    ``explain`` returns the fault of the cell in a row, counted from 0, and its remedy.
    """
    if odd.any():
        row = int(odd.argmax())
        raise CellError(row + 1, name, explain(row))


def list_names(names: Sequence[str], most: int = 5) -> str:
    """List names in a sentence, at most so many.

    Examples
    --------
    >>> list_names(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True)
class Column:
    """An input column of a table.

    Attributes
    ----------
    name : str
        Column name in the file.
    kind : "number", "category", "date" or "text"
        Kind of the values.
    n_missing : int
        Number of missing values in the rows used for inference of types.
    n_distinct : int
        Number of distinct values, missing values excluded.
    why : str
        Reason for this kind, in a few words.
    style : str
        Text format: "comma" for numbers with a decimal comma; for dates "iso",
        "dmy", "mdy", "d mon y", "mon d y", "compact" or "clock", or several of them joined by "+".
    lenient : bool
        Whether text that cannot be parsed counts as missing instead of raising an error.
    unit : str
        Unit or currency sign written beside the numbers; a number in another one is invalid.
    missing_words : tuple of str
        Texts that count as missing in this column, beside the usual ones such as "NA".
    spellings : tuple of str
        Labels whose other spellings, which differ only by case, are read as this one.

    Examples
    --------
    >>> from posterity import tables
    >>> tables.infer({"x": ["1", "2.5", "n/a"], "y": [1.5, 2.0, 3.5]}, "y").inputs[0].n_missing
    1
    """

    name: str
    kind: Kind
    n_missing: int = 0
    n_distinct: int = 0
    why: str = ""
    style: str = ""
    lenient: bool = False
    unit: str = ""
    missing_words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """A column excluded from the inputs, with the reason.

    Attributes
    ----------
    name : str
        Column name in the file.
    why : str
        The reason, as a clause.
    final : bool
        Whether the column carries no information and cannot be kept.

    Examples
    --------
    >>> from posterity import tables
    >>> table = {"x": [1.0, 2.0, 2.5], "unit": ["m", "m", "m"], "y": [1.5, 2.0, 3.5]}
    >>> tables.infer(table, "y").dropped[0]
    Dropped(name='unit', why='it has the same value in every row', final=True)
    """

    name: str
    why: str
    final: bool = False


@dataclass(frozen=True)
class Schema:
    """The target, task and input columns of a table.

    Attributes
    ----------
    target : str
        Name of the target column.
    task : "regression" or "classification"
        Regression for numeric targets, classification for classes.
    inputs : tuple of Column
        Input columns, in file order.
    dropped : tuple of Dropped
        Excluded columns.
    notes : tuple of str
        Warnings for the user, such as a copy of the target or an identifier.
    outcome : Column or None
        Format of the target; None for plain numbers and plain class labels.
    classes : tuple of str
        Class labels in order; if empty, the labels of the fitted rows are used.
    time : str or None
        Column by which later rows depend on earlier ones; the first of the inputs.
    groups : tuple of str
        Columns whose equal values together mark rows that depend on each other, or none; a single
        one is not among the inputs.
    blocks : tuple of str
        The two columns with the coordinates of rows that depend on their neighbours, or none.
    missing : tuple of str
        Texts that stand for a missing value, beside the usual ones.
    exposure : Column or None
        The column with the exposure of each count, if the target is one of counts over different
        exposures; it is not among the inputs.

    Examples
    --------
    >>> from posterity import tables
    >>> schema = tables.infer({"x": ["1", "2.5", "3"], "kind": ["a", "b", "a"]}, "kind")
    >>> schema.task, schema.classes
    ('classification', ('a', 'b'))
    """

    target: str
    task: Task
    inputs: tuple[Column, ...]
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    outcome: Column | None = None
    classes: tuple[str, ...] = ()
    time: str | None = None
    groups: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    exposure: Column | None = None
