"""Columns that say which rows depend on each other: time, groups and coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from posterity.tables import frames
from posterity.tables.columns import Column, TableError

GROUPS = "it names the groups that are held out"


@dataclass(frozen=True)
class Roles:
    """The columns that say which rows depend on each other."""

    time: str | None = None
    groups: str | None = None
    blocks: tuple[str, ...] = ()

    def kept(self) -> tuple[str, ...]:
        """Return the columns that stay inputs even if they look like identifiers."""
        return (*((self.time,) if self.time else ()), *self.blocks)

    def check_columns(self, table: pl.DataFrame, target: str, drop: Sequence[str]) -> None:
        """Refuse columns that do not exist, and those that cannot have a role."""
        named = (*self.kept(), *((self.groups,) if self.groups else ()))
        frames.require_columns(table, named)
        if len(self.blocks) not in (0, 2) or len(set(self.blocks)) != len(self.blocks):
            raise TableError("blocks must name two different columns, such as LAT,LON.")
        if sum(map(bool, (self.time, self.groups, self.blocks))) > 1:
            raise TableError(
                "Only one of time, groups and blocks can say which rows are held out; choose "
                "the one by which new rows will differ from these."
            )
        for name in named:
            if name == target:
                raise TableError(f"{name!r} is the target, so it cannot order or group the rows.")
            if name in drop:
                raise TableError(f"Column {name!r} orders or groups the rows; do not drop it.")

    def check_kind(self, column: Column) -> None:
        """Refuse a time or a coordinate that cannot be read as a date or a number."""
        if column.name == self.time and column.kind == "category":
            raise TableError(
                f"Column {column.name!r} cannot be read as dates or numbers, so it does not say "
                "when a row was observed."
            )
        if column.name in self.blocks and column.kind != "number":
            raise TableError(
                f"Column {column.name!r} is not a number, so it cannot be a coordinate."
            )

    def order_inputs(self, inputs: Sequence[Column]) -> tuple[Column, ...]:
        """Return the inputs, the time first."""
        return tuple(sorted(inputs, key=lambda column: column.name != self.time))
