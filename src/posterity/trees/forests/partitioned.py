"""Forests on rows of Dask collections, which stay on the workers.

Four passes: a first look; a sample on which families are fitted and forests are judged; trees grow
on the workers, each from a draw of all partitions (see :mod:`posterity.trees.forests.draw_rows`);
then all rows go down all trees where they lie, and leaves count them. What comes back are trees,
leaves and the sample. The forest depends on how rows are cut into partitions, and not on workers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import RowBlock
from posterity.trees.families.family import Family
from posterity.trees.forests import draw_rows, out_of_bag_scores, row_counts, streamed
from posterity.trees.forests.forest import Forest, ForestPlan, L, TargetKind
from posterity.trees.forests.out_of_bag_scores import F, FittedForest
from posterity.trees.forests.row_counts import CountedRows

Planner = Callable[[Family], ForestPlan]
"""How to grow trees on tests of a family that knows the rows."""


def fit_partitions(
    family: Family,
    counted: CountedRows[Any],
    overall: Array,
    kind: TargetKind[L, F],
    planner: Planner,
    rng: np.random.Generator,
) -> FittedForest[F]:
    """As :func:`posterity.trees.forests.streamed.fit_chunks`, by the workers of Dask.

    Parameters
    ----------
    family : Family
        The tests, not fitted yet.
    counted : CountedRows
        The rows, with numbers of classes or numbers for targets.
    overall : array (C,) or (K,)
        What is known of rows without any tree.
    kind : TargetKind
    planner : callable
    rng : numpy.random.Generator
    """
    rows = _PartitionedRows.from_counted(family, counted, planner, kind)
    _, to_learn = kind.count_numbers(rows.plan.n_trees, overall)
    judges = out_of_bag_scores.choose_rows(rows.weights, to_learn)
    grown, parts = rows.grow(judges, rng)
    join = type(parts[0]).join
    fitted = out_of_bag_scores.build_forest(
        rows.family,
        grown.trees,
        join(grown.leaves),
        join(parts),
        kind,
        overall,
        rows.take_judges(judges, grown.seen),
        rows.plan,
    )
    return dataclasses.replace(fitted, oob_log_prob=None)


class _PartitionedRows(NamedTuple, Generic[L]):
    """Rows on workers, a sample of them here, and what the sample has taught."""

    counted: CountedRows[Any]
    kind: TargetKind[L, Any]
    places: NDArray[np.int64]  # of the sample among all rows, increasing
    sample: RowBlock
    family: Family
    plan: ForestPlan

    @classmethod
    def from_counted(
        cls, family: Family, counted: CountedRows[Any], planner: Planner, kind: TargetKind[L, Any]
    ) -> _PartitionedRows[L]:
        N, most = counted.partitions.n_rows, streamed.FAMILY_ROWS
        rng = np.random.default_rng(0)
        places = np.arange(N) if most >= N else np.sort(rng.choice(N, most, replace=False))
        sample = counted.partitions.take_rows(places)
        if not row_counts.block_weights(sample).any():
            raise ValueError(
                f"A sample of {most} rows holds none whose weight is positive; drop rows of "
                "weight 0 first."
            )
        fitted = family.adapt_to(sample.X, sample.sample_weight)
        plan = streamed.limit_samples(planner(fitted), float(counted.shares.row_counts.sum()))
        return cls(counted, kind, places, sample, fitted, plan)

    def grow(
        self, judges: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[draw_rows.GrownForest[L], list[L]]:
        """Trees, and what their leaves know of all rows."""
        rngs, partitions = rng.spawn(self.plan.n_trees), self.counted.partitions
        draws = draw_rows.PartitionDraws.from_shares(self.counted.shares, self.plan, rngs)
        places = self.places[judges]
        grown = draw_rows.grow_from_partitions(
            partitions, draws, self.family, self.plan, self.kind, rngs, places
        )
        sizes = [leaves.n_leaves for leaves in grown.leaves]
        count = _LeafCounter(Forest(self.family, grown.trees), sizes, self.kind)
        return grown, partitions.reduce(
            count, out_of_bag_scores.add_counts, description="Counting rows"
        )

    def take_judges(
        self, chosen: NDArray[np.int32], seen: NDArray[np.bool_]
    ) -> out_of_bag_scores.OutOfBagRows:
        """Rows of the sample."""
        assert self.sample.y is not None
        target = self.kind.targets(self.sample.y)
        return out_of_bag_scores.OutOfBagRows(
            self.sample.X[chosen], target[chosen], self.weights[chosen], seen
        )

    @property
    def weights(self) -> Array:
        """Weights of the rows of the sample."""
        return row_counts.block_weights(self.sample)


@dataclass(frozen=True, eq=False)
class _LeafCounter(Generic[L]):
    """What the rows of a block add to the leaves of each tree."""

    forest: Forest
    sizes: list[int]
    kind: TargetKind[L, Any]

    def __call__(self, block: RowBlock) -> list[L]:
        assert block.y is not None
        target, weights = self.kind.targets(block.y), row_counts.block_weights(block)

        def count(leaf: NDArray[np.int32], rows: slice, n_leaves: int) -> L:
            return self.kind.leaves(leaf, target[rows], weights[rows], n_leaves)

        return out_of_bag_scores.count_in_leaves(self.forest, self.sizes, block.X, count, n_jobs=1)
