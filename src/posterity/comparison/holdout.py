"""Say which rows of a table are held out together."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from posterity import tables

HoldoutKind: TypeAlias = Literal["random", "time", "groups", "blocks"]


@dataclass(frozen=True)
class Holdout:
    """Which rows are held out together, so that held-out rows differ as new rows will.

    Attributes
    ----------
    kind : "random", "time", "groups" or "blocks"
        Random rows; rows later than all training rows; whole groups; or whole regions.
    columns : tuple of str
        The column of times or groups, or the two columns of coordinates; empty for "random".
    folds : int
        Number of folds.
    seed : int
        Random seed of the assignment of rows to folds.
    gap : float or None
        For "time": length of time between training and held-out rows, in days for dates.

    Examples
    --------
    >>> from posterity import comparison, tables
    >>> table = {"day": [1.0, 2.0, 3.0, 4.0], "y": [0.5, 0.7, 0.9, 1.3]}
    >>> comparison.Holdout.from_schema(tables.infer(table, "y", time="day")).kind
    'time'
    """

    kind: HoldoutKind = "random"
    columns: tuple[str, ...] = ()
    folds: int = 5
    seed: int = 0
    gap: float | None = None

    @classmethod
    def from_schema(
        cls, schema: tables.Schema, *, folds: int = 5, seed: int = 0, gap: float | None = None
    ) -> Self:
        """Return the rows to hold out according to the roles of the columns."""
        if schema.time:
            return cls("time", (schema.time,), folds, seed, gap)
        if schema.groups:
            return cls("groups", (schema.groups,), folds, seed)
        if schema.blocks:
            return cls("blocks", schema.blocks, folds, seed)
        return cls("random", (), folds, seed)
