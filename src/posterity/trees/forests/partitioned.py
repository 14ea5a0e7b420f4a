"""Forests on rows of Dask collections, which stay on the workers.

Four passes: a first look; a sample on which families are fitted and forests are judged; trees grow
on the workers, each from a draw of all partitions (see :mod:`posterity.trees.forests.dealing`);
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
from posterity.designs import Block
from posterity.designs.dask_pieces import Tally
from posterity.inference.conjugate import apply_rule_of_succession
from posterity.trees.families.family import Family
from posterity.trees.forests import dealing, judging, normal_forest, streamed, survey
from posterity.trees.forests.class_forest import FittedClasses
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.forest import Forest, L, Plan
from posterity.trees.forests.kinds import Kind, OfClasses, OfNumbers
from posterity.trees.forests.normal_forest import FittedNormals
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.survey import Surveyed

Planner = Callable[[Family], Plan]
"""How to grow trees on tests of a family that knows the rows."""


def fit_class_partitions(
    family: Family,
    surveyed: Surveyed[Tally],
    planner: Planner,
    rng: np.random.Generator,
) -> FittedClasses:
    """As :func:`posterity.trees.forests.streamed.fit_class_chunks`, by the workers of Dask.

    Parameters
    ----------
    family : Family
        The tests, not fitted yet.
    surveyed : Surveyed
        The rows, with numbers of classes for targets, and how often each class counts.
    planner : callable
    rng : numpy.random.Generator
    """
    counts = surveyed.targets[1]
    kind = OfClasses(len(counts))
    rows = _PartitionedRows.of(family, surveyed, planner, kind)
    judges = judging.chosen(rows.weights, len(counts))
    grown, parts = rows.grown(judges, rng)
    fitted = judging.class_forest_of(
        rows.family,
        grown.trees,
        ClassLeaves.joined(grown.leaves),
        ClassLeaves.joined(parts),
        apply_rule_of_succession(counts),
        rows.judges(judges, grown.seen),
        rows.plan,
    )
    return dataclasses.replace(fitted, oob_log_prob=None)


def fit_normal_partitions(
    family: Family,
    surveyed: Surveyed[NormalLeaves],
    planner: Planner,
    rng: np.random.Generator,
) -> FittedNormals:
    """As :func:`posterity.trees.forests.streamed.fit_normal_chunks`, by the workers of Dask.

    Parameters
    ----------
    family, planner, rng
        See :func:`fit_class_partitions`.
    surveyed : Surveyed
        The rows, and what all targets are together.
    """
    rows = _PartitionedRows.of(family, surveyed, planner, OfNumbers())
    of_all = surveyed.targets
    width = normal_forest.LEARNING * rows.plan.n_trees * of_all.mean.shape[1]
    judges = judging.chosen(rows.weights, width)
    grown, parts = rows.grown(judges, rng)
    fitted = judging.normal_forest_of(
        rows.family,
        grown.trees,
        NormalLeaves.joined(parts),
        of_all.square[0] / of_all.count[0],
        rows.judges(judges, grown.seen),
        rows.plan,
    )
    return dataclasses.replace(fitted, oob_log_prob=None)


class _PartitionedRows(NamedTuple, Generic[L]):
    """Rows on workers, a sample of them here, and what the sample has taught."""

    surveyed: Surveyed[Any]
    kind: Kind[L]
    places: NDArray[np.int64]  # of the sample among all rows, increasing
    sample: Block
    family: Family
    plan: Plan

    @classmethod
    def of(
        cls, family: Family, surveyed: Surveyed[Any], planner: Planner, kind: Kind[L]
    ) -> _PartitionedRows[L]:
        N, most = surveyed.partitions.n_rows, streamed.FAMILY_ROWS
        rng = np.random.default_rng(0)
        places = np.arange(N) if most >= N else np.sort(rng.choice(N, most, replace=False))
        sample = surveyed.partitions.chosen(places)
        if not survey.weights_of(sample).any():
            raise ValueError(
                f"A sample of {most} rows holds none whose weight is positive; drop rows of "
                "weight 0 first."
            )
        fitted = family.fitted(sample.X, sample.sample_weight)
        plan = streamed.bounded(planner(fitted), float(surveyed.shares.rows.sum()))
        return cls(surveyed, kind, places, sample, fitted, plan)

    def grown(
        self, judges: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[dealing.Grown[L], list[L]]:
        """Trees, and what their leaves know of all rows."""
        rngs, partitions = rng.spawn(self.plan.n_trees), self.surveyed.partitions
        draws = dealing.Draws.of(self.surveyed.shares, self.plan, rngs)
        places = self.places[judges]
        grown = dealing.grown(partitions, draws, self.family, self.plan, self.kind, rngs, places)
        sizes = [leaves.n_leaves for leaves in grown.leaves]
        count = _LeafCounter(Forest(self.family, grown.trees), sizes, self.kind)
        return grown, partitions.reduce(count, judging.added, description="Counting rows")

    def judges(self, chosen: NDArray[np.int32], seen: NDArray[np.bool_]) -> judging.Judges:
        """Rows of the sample."""
        assert self.sample.y is not None
        target = self.kind.targets(self.sample.y)
        return judging.Judges(self.sample.X[chosen], target[chosen], self.weights[chosen], seen)

    @property
    def weights(self) -> Array:
        """Of the sample."""
        return survey.weights_of(self.sample)


@dataclass(frozen=True, eq=False)
class _LeafCounter(Generic[L]):
    """What the rows of a block add to the leaves of each tree."""

    forest: Forest
    sizes: list[int]
    kind: Kind[L]

    def __call__(self, block: Block) -> list[L]:
        assert block.y is not None
        target, weights = self.kind.targets(block.y), survey.weights_of(block)

        def count(leaf: NDArray[np.int32], rows: slice, n_leaves: int) -> L:
            return self.kind.leaves(leaf, target[rows], weights[rows], n_leaves)

        return judging.counted(self.forest, self.sizes, block.X, count, n_jobs=1)
