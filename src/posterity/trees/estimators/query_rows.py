"""Rows that boosted trees are asked about, and averages over levels where these are not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from posterity import trees
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.levels import LeveledColumns, StandIns

Moments = tuple[Array, Array, Array | float]
"""Sums of trees (n, L), what leaf values leave open of them, (n,), and what unseen levels do."""


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Rows as trees take them; rows of an unseen level are there once for each known one."""

    rows: Any
    stand_ins: StandIns | None = None

    @classmethod
    def of_family(cls, family: trees.Family, rows: Any) -> Self:
        """Rows that answer tests of this family."""
        found = family.replace_unseen(rows) if isinstance(family, LeveledColumns) else None
        return cls(rows) if found is None else cls(found.rows, found)

    def average(self, values: Array) -> Array:
        """Means over the versions of each row."""
        return values if self.stand_ins is None else self.stand_ins.average(values)

    def compute_moments(self, grown: BoostedTrees, family: trees.Family) -> Moments:
        """Moments of the latent values of each row."""
        return self._combine(*grown.moments(family, self.rows))

    def stage_moments(self, grown: BoostedTrees, family: trees.Family) -> Iterator[Moments]:
        """The same after the first round of all members, the second, and so on."""
        for a, v in grown.staged_moments(family, self.rows):
            yield self._combine(a, v)

    def _combine(self, a: Array, v: Array) -> Moments:
        if self.stand_ins is None:
            return a, v, 0.0
        return self.average(a), self.average(v), self.stand_ins.measure_spread(a)
