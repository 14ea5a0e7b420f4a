"""What a table was found to hold: its columns, what each is for, and what is left out."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["number", "category", "date"]
Task: TypeAlias = Literal["regression", "classification"]


class TableError(ValueError):
    """A file or a table that cannot be used as it was asked; the message says why.

    Examples
    --------
    >>> from posterity import tables
    >>> tables.infer({"x": [1.0, 2.0]}, "y")
    Traceback (most recent call last):
        ...
    posterity.tables.columns.TableError: There is no column 'y' in the table. Its columns are 'x'.
    """


class CellError(TableError):
    """One cell that cannot be used.

    Attributes
    ----------
    row : int
        Its row, the first one below the header being 1.
    column : str
        Its column.
    trouble : str
        What is wrong and what to do, as the end of a sentence.

    Examples
    --------
    >>> from posterity import tables
    >>> error = tables.CellError(3, "size", "'big' is not a number.")
    >>> str(error.below(100))
    "Row 103, column 'size': 'big' is not a number."
    """

    def __init__(self, row: int, column: str, trouble: str) -> None:
        super().__init__(row, column, trouble)
        self.row, self.column, self.trouble = row, column, trouble

    def __str__(self) -> str:
        return f"Row {self.row}, column {self.column!r}: {self.trouble}"

    def below(self, n_rows: int) -> "CellError":
        """The same error in a table that has n_rows more rows above this one."""
        return CellError(self.row + n_rows, self.column, self.trouble)


@dataclass(frozen=True)
class Column:
    """One column that a model reads.

    Attributes
    ----------
    name : str
        As the file has it.
    kind : "number", "category" or "date"
        How its values are read.
    n_missing : int
        Values that were missing where the table was looked at.
    n_distinct : int
        Different values there, missing ones not counted.
    why : str
        What made it this kind, in a few words for a person.
    style : str
        How its texts are written: "comma" for numbers with a decimal comma, and for dates "iso",
        "dmy", "mdy", "d mon y", "mon d y", "compact" or "clock".
    lenient : bool
        Whether texts that cannot be read count as missing; they are an error otherwise.

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


@dataclass(frozen=True)
class Dropped:
    """One column that no model reads, and why not.

    Attributes
    ----------
    name : str
        As the file has it.
    why : str
        The reason, as the end of a sentence.
    final : bool
        Whether nothing could be learned from it in any case, so that it cannot be kept.

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
    """What a table is taken to be.

    Attributes
    ----------
    target : str
        The column that is predicted.
    task : "regression" or "classification"
        Whether the target is a number or a class.
    inputs : tuple of Column
        What it is predicted from, in the order of the file.
    dropped : tuple of Dropped
        Columns that are left out.
    notes : tuple of str
        Sentences about what a person should look at: a copy of the target, an identifier.
    outcome : Column or None
        How the target itself is read; None for plain numbers, or plain texts of classes.
    classes : tuple of str
        Labels of the classes in order; empty for those that the fitted rows have.

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
