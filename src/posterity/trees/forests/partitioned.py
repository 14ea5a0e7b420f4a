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
from posterity.designs import RowBlock
from posterity.designs.dask_pieces import Tally
from posterity.inference.conjugate import apply_rule_of_succession
from posterity.trees.families.family import Family
from posterity.trees.forests import (
    class_tuning,
    dealing,
    judging,
    normal_forest,
    streamed,
    survey,
)
from posterity.trees.forests.class_forest import FittedClasses
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.forest import Forest, ForestPlan, L
from posterity.trees.forests.kinds import ClassTargets, NumberTargets, TargetKind
from posterity.trees.forests.normal_forest import FittedNormals
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.survey import SurveyedRows

Planner = Callable[[Family], ForestPlan]
"""How to grow trees on tests of a family that knows the rows."""


def fit_class_partitions(
    family: Family,
    surveyed: SurveyedRows[Tally],
    planner: Planner,
    rng: np.random.Generator,
) -> FittedClasses:
    """As :func:`posterity.trees.forests.streamed.fit_class_chunks`, by the workers of Dask.

    Parameters
    ----------
    family : Family
        The tests, not fitted yet.
    surveyed : SurveyedRows
        The rows, with numbers of classes for targets, and how often each class counts.
    planner : callable
    rng : numpy.random.Generator
    """
    counts = surveyed.targets[1]
    kind = ClassTargets(len(counts))
    rows = _PartitionedRows.from_survey(family, surveyed, planner, kind)
    judges = judging.choose_rows(rows.weights, class_tuning.TIMES * len(counts))
    grown, parts = rows.grown(judges, rng)
    fitted = judging.build_class_forest(
        rows.family,
        grown.trees,
        ClassLeaves.join(grown.leaves),
        ClassLeaves.join(parts),
        apply_rule_of_succession(counts),
        rows.judges(judges, grown.seen),
        rows.plan,
    )
    return dataclasses.replace(fitted, oob_log_prob=None)


def fit_normal_partitions(
    family: Family,
    surveyed: SurveyedRows[NormalLeaves],
    planner: Planner,
    rng: np.random.Generator,
) -> FittedNormals:
    """As :func:`posterity.trees.forests.streamed.fit_normal_chunks`, by the workers of Dask.

    Parameters
    ----------
    family, planner, rng
        See :func:`fit_class_partitions`.
    surveyed : SurveyedRows
        The rows, and what all targets are together.
    """
    rows = _PartitionedRows.from_survey(family, surveyed, planner, NumberTargets())
    of_all = surveyed.targets
    width = normal_forest.LEARNING * rows.plan.n_trees * of_all.mean.shape[1]
    judges = judging.choose_rows(rows.weights, width)
    grown, parts = rows.grown(judges, rng)
    fitted = judging.build_normal_forest(
        rows.family,
        grown.trees,
        NormalLeaves.join(parts),
        of_all.square[0] / of_all.count[0],
        rows.judges(judges, grown.seen),
        rows.plan,
    )
    return dataclasses.replace(fitted, oob_log_prob=None)


class _PartitionedRows(NamedTuple, Generic[L]):
    """Rows on workers, a sample of them here, and what the sample has taught."""

    surveyed: SurveyedRows[Any]
    kind: TargetKind[L]
    places: NDArray[np.int64]  # of the sample among all rows, increasing
    sample: RowBlock
    family: Family
    plan: ForestPlan

    @classmethod
    def from_survey(
        cls, family: Family, surveyed: SurveyedRows[Any], planner: Planner, kind: TargetKind[L]
    ) -> _PartitionedRows[L]:
        N, most = surveyed.partitions.n_rows, streamed.FAMILY_ROWS
        rng = np.random.default_rng(0)
        places = np.arange(N) if most >= N else np.sort(rng.choice(N, most, replace=False))
        sample = surveyed.partitions.take_rows(places)
        if not survey.block_weights(sample).any():
            raise ValueError(
                f"A sample of {most} rows holds none whose weight is positive; drop rows of "
                "weight 0 first."
            )
        fitted = family.adapt_to(sample.X, sample.sample_weight)
        plan = streamed.limit_samples(planner(fitted), float(surveyed.shares.row_counts.sum()))
        return cls(surveyed, kind, places, sample, fitted, plan)

    def grown(
        self, judges: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[dealing.GrownForest[L], list[L]]:
        """Trees, and what their leaves know of all rows."""
        rngs, partitions = rng.spawn(self.plan.n_trees), self.surveyed.partitions
        draws = dealing.PartitionDraws.from_shares(self.surveyed.shares, self.plan, rngs)
        places = self.places[judges]
        grown = dealing.grow_from_partitions(
            partitions, draws, self.family, self.plan, self.kind, rngs, places
        )
        sizes = [leaves.n_leaves for leaves in grown.leaves]
        count = _LeafCounter(Forest(self.family, grown.trees), sizes, self.kind)
        return grown, partitions.reduce(count, judging.add_counts, description="Counting rows")

    def judges(self, chosen: NDArray[np.int32], seen: NDArray[np.bool_]) -> judging.OutOfBagRows:
        """Rows of the sample."""
        assert self.sample.y is not None
        target = self.kind.targets(self.sample.y)
        return judging.OutOfBagRows(
            self.sample.X[chosen], target[chosen], self.weights[chosen], seen
        )

    @property
    def weights(self) -> Array:
        """Weights of the rows of the sample."""
        return survey.block_weights(self.sample)


@dataclass(frozen=True, eq=False)
class _LeafCounter(Generic[L]):
    """What the rows of a block add to the leaves of each tree."""

    forest: Forest
    sizes: list[int]
    kind: TargetKind[L]

    def __call__(self, block: RowBlock) -> list[L]:
        assert block.y is not None
        target, weights = self.kind.targets(block.y), survey.block_weights(block)

        def count(leaf: NDArray[np.int32], rows: slice, n_leaves: int) -> L:
            return self.kind.leaves(leaf, target[rows], weights[rows], n_leaves)

        return judging.count_in_leaves(self.forest, self.sizes, block.X, count, n_jobs=1)
