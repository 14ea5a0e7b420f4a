"""Forests on rows of Dask collections, which stay on the workers.

Four passes: a first look; a sample on which families are fitted and forests are judged; trees grow
where their rows arrive; then all rows go down all trees where they lie, and leaves count them. What
comes back are trees, leaves and the sample. The forest depends on how rows are cut into partitions,
and not on workers.

Every tree draws from all partitions: first how many rows of each, by what each has, and then which,
in the partition itself. That is the draw from all rows together, and nobody holds a number for each
of them. Trees of single partitions would cost no transfer, but rows come sorted, by time or by
class, and a tree that knows one partition then knows one class. What travels is what trees draw, a
byte a column where the family has codes, straight from worker to worker.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import Partitions, RowBlock, dask_graph
from posterity.designs.partitions import BlockRecipe
from posterity.trees.families.family import Family
from posterity.trees.forests import out_of_bag, sampling, streamed
from posterity.trees.forests.forest import Forest, ForestPlan, L, TargetKind
from posterity.trees.forests.out_of_bag import F, FittedForest
from posterity.trees.forests.row_counts import CountedRows, PartitionShares
from posterity.trees.forests.sampling import Bag
from posterity.trees.structure import Trees

Planner = Callable[[Family], ForestPlan]
"""Plan the growth of trees on tests of a family that knows the rows."""


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
    judges = out_of_bag.choose_weighted_rows(rows.weights, to_learn)
    grown, parts = rows.grow(judges, rng)
    join = type(parts[0]).join
    fitted = out_of_bag.build_forest(
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
        if not sample.make_weights().any():
            raise ValueError(
                f"A sample of {most} rows holds none whose weight is positive; drop rows of "
                "weight 0 first."
            )
        fitted = family.adapt_to(sample.X, sample.sample_weight)
        plan = streamed.limit_samples(planner(fitted), float(counted.shares.row_counts.sum()))
        return cls(counted, kind, places, sample, fitted, plan)

    def grow(
        self, judges: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[GrownForest[L], list[L]]:
        """Trees, and what their leaves know of all rows."""
        rngs, partitions = rng.spawn(self.plan.n_trees), self.counted.partitions
        draws = PartitionDraws.from_shares(self.counted.shares, self.plan, rngs)
        places = self.places[judges]
        grown = grow_from_partitions(
            partitions, draws, self.family, self.plan, self.kind, rngs, places
        )
        sizes = [leaves.n_leaves for leaves in grown.leaves]
        count = _LeafCounter(Forest(self.family, grown.trees), sizes, self.kind)
        return grown, partitions.reduce(count, out_of_bag.add_counts, description="Counting rows")

    def take_judges(
        self, chosen: NDArray[np.int32], seen: NDArray[np.bool_]
    ) -> out_of_bag.OutOfBagRows:
        """Rows of the sample."""
        assert self.sample.y is not None
        target = self.kind.targets(self.sample.y)
        return out_of_bag.OutOfBagRows(
            self.sample.X[chosen], target[chosen], self.weights[chosen], seen
        )

    @property
    def weights(self) -> Array:
        """Weights of the rows of the sample."""
        return self.sample.make_weights()


@dataclass(frozen=True, eq=False)
class _LeafCounter(Generic[L]):
    """Sums up the rows of a block in the leaves of each tree."""

    forest: Forest
    sizes: list[int]
    kind: TargetKind[L, Any]

    def __call__(self, block: RowBlock) -> list[L]:
        assert block.y is not None
        target, weights = self.kind.targets(block.y), block.make_weights()

        def count(leaf: NDArray[np.int32], rows: slice, n_leaves: int) -> L:
            return self.kind.leaves(leaf, target[rows], weights[rows], n_leaves)

        return out_of_bag.count_in_leaves(self.forest, self.sizes, block.X, count, n_jobs=1)


_MOST_HANDS = 64  # that grow trees at the same time
_FEWEST_HANDS = 8
_MOST_TASKS = 20_000  # which a scheduler takes some seconds to hand out
_ALL = np.iinfo(np.int64).max
_COUNTABLE = 10**9  # the most of which NumPy draws hypergeometric numbers


@dataclass(frozen=True, eq=False)
class PartitionDraws:
    """Numbers of rows that each tree draws from each partition, and seeds for their choice."""

    sizes: NDArray[np.int64]  # (T, P)
    seeds: NDArray[np.int64]  # (T,)
    bootstrap: bool

    @classmethod
    def from_shares(
        cls, shares: PartitionShares, plan: ForestPlan, rngs: Sequence[np.random.Generator]
    ) -> PartitionDraws:
        """Draw for all trees, each with a child of its own generator."""
        children = [rng.spawn(1)[0] for rng in rngs]  # growing starts where it does in memory
        sizes = [_draw_sizes(shares, plan, child) for child in children]
        seeds = [child.integers(_ALL) for child in children]
        return cls(np.array(sizes), np.array(seeds), plan.bootstrap)

    def draw_bag(self, weights: Array, tree: int, number: int) -> Bag:
        """Rows that a tree draws from a partition."""
        size = int(self.sizes[tree, number])
        if size == 0:
            return Bag(np.empty(0, dtype=np.int32), np.empty(0))
        rng = np.random.default_rng((int(self.seeds[tree]), number))
        return sampling.draw_rows(weights, size, rng, bootstrap=self.bootstrap)


@dataclass(frozen=True, eq=False)
class PartitionDraw:
    """Different rows that some trees have drawn from a partition, and the bags of these trees."""

    rows: Any  # prepared
    target: NDArray[Any]
    bags: list[Bag]


class GrownForest(NamedTuple, Generic[L]):
    """Trees, what their leaves know of the rows they grew from, and who has seen the judges."""

    trees: Trees
    leaves: list[L]
    seen: NDArray[np.bool_]  # (T, r)


def grow_from_partitions(
    partitions: Partitions,
    draws: PartitionDraws,
    family: Family,
    plan: ForestPlan,
    kind: TargetKind[L, Any],
    rngs: Sequence[np.random.Generator],
    judges: NDArray[np.int64],
) -> GrownForest[L]:
    """All trees, by one pass over the rows; ``judges`` are the numbers of some rows, increasing."""
    import dask

    hands = _group_trees(plan.n_trees, len(partitions.pieces))
    within = _number_within_partitions(judges, partitions.lengths)
    dealer = _DrawTask(partitions.recipe, draws, family, kind, hands, within)
    grower = _GrowTask(family, plan, kind, list(rngs), hands)
    deal, grow = (dask.delayed(f, traverse=False, pure=False) for f in (dealer, grower))
    run, play, gather = (dask.delayed(f, pure=False) for f in (_draw, _grow, _gather))
    dealt = [run(deal, piece, p) for p, piece in enumerate(partitions.pieces)]
    played = [play(grow, h, [d[h] for d in dealt]) for h in range(len(hands))]
    task = gather(played, [d[len(hands)] for d in dealt])
    found: GrownForest[L] = dask_graph.compute_task(task, description="Growing trees")
    return found


@dataclass(frozen=True, eq=False)
class _DrawTask:
    """The hands that a partition deals, and which of its judges each tree has seen."""

    recipe: BlockRecipe
    draws: PartitionDraws
    family: Family
    kind: TargetKind[Any, Any]
    hands: list[range]  # trees
    within: list[NDArray[np.int64]]  # judges of each partition

    def __call__(self, raw: Any, number: int) -> list[Any]:
        block = self.recipe.make_block(self.recipe.convert_parts(raw, number), number)
        weights, T = block.make_weights(), len(self.draws.seeds)
        bags = [self.draws.draw_bag(weights, tree, number) for tree in range(T)]
        marks = np.zeros((T, len(block)), dtype=np.bool_)
        for mark, bag in zip(marks, bags, strict=True):
            mark[bag.places] = True
        return [*self._draw_rows(block, bags, marks), marks[:, self.within[number]]]

    def _draw_rows(
        self, block: RowBlock, bags: list[Bag], marks: NDArray[np.bool_]
    ) -> list[PartitionDraw | None]:
        """Rows are prepared once, whoever has drawn them; None where nobody has."""
        is_drawn = np.logical_or.reduce(marks)
        if block.y is None or not is_drawn.any():
            return [None for _ in self.hands]
        rows, target = (
            self.family.prepare_rows(block.X[is_drawn]),
            self.kind.targets(block.y[is_drawn]),
        )
        hands: list[PartitionDraw | None] = []
        for trees in self.hands:
            own = slice(trees.start, trees.stop)
            is_own = np.logical_or.reduce(marks[own])
            position = (np.cumsum(is_own) - 1).astype(np.int32)
            placed = [Bag(position[bag.places], bag.weights) for bag in bags[own]]
            hands.append(PartitionDraw(rows[is_own[is_drawn]], target[is_own[is_drawn]], placed))
        return hands


@dataclass(frozen=True, eq=False)
class _GrowTask(Generic[L]):
    """Trees of what all partitions have dealt to one hand."""

    family: Family
    plan: ForestPlan
    kind: TargetKind[L, Any]
    rngs: list[np.random.Generator]
    hands: list[range]

    def __call__(self, hand: int, dealt: list[PartitionDraw | None]) -> list[tuple[Trees, L]]:
        parts: list[PartitionDraw] = [part for part in dealt if part is not None]
        rows = np.concatenate([part.rows for part in parts])
        target = np.concatenate([part.target for part in parts])
        firsts = np.cumsum([0, *(len(part.target) for part in parts[:-1])])
        found = []
        for k, tree in enumerate(self.hands[hand]):
            places = [p.bags[k].places + first for p, first in zip(parts, firsts, strict=True)]
            drawn = np.concatenate(places).astype(np.int32)
            counts = np.concatenate([part.bags[k].weights for part in parts])
            rng = copy.deepcopy(self.rngs[tree])  # a task may be run again, where a worker was lost
            given = (rows, drawn, target[drawn], counts, self.kind, rng)
            found.append(self.plan.grow_tree(self.family, *given))
        return found


def _draw(deal: _DrawTask, raw: Any, number: int) -> list[Any]:
    return deal(raw, number)


def _grow(
    grow: _GrowTask[L], hand: int, dealt: list[PartitionDraw | None]
) -> list[tuple[Trees, L]]:
    return grow(hand, dealt)


def _gather(played: list[list[tuple[Trees, L]]], seen: list[NDArray[np.bool_]]) -> GrownForest[L]:
    trees, leaves = zip(*(one for hand in played for one in hand), strict=True)
    return GrownForest(Trees.join(trees), list(leaves), np.concatenate(seen, axis=1))


def _group_trees(n_trees: int, n_partitions: int) -> list[range]:
    """Groups of trees that grow one after the other: each partition deals to each hand."""
    most = min(_MOST_HANDS, max(_FEWEST_HANDS, _MOST_TASKS // n_partitions))
    ends = np.linspace(0, n_trees, min(n_trees, most) + 1).astype(int).tolist()
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def _number_within_partitions(
    places: NDArray[np.int64], lengths: Sequence[int]
) -> list[NDArray[np.int64]]:
    """The rows of these numbers, increasing, as each partition numbers its own."""
    firsts = np.cumsum([0, *lengths])
    ends = itertools.pairwise(np.searchsorted(places, firsts).tolist())
    return [places[a:b] - first for (a, b), first in zip(ends, firsts[:-1], strict=True)]


def _draw_sizes(
    shares: PartitionShares, plan: ForestPlan, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Number of rows that one tree draws from each partition, (P,)."""
    rows = shares.row_counts
    size = sampling.sample_share(float(rows.sum()), plan.max_samples)
    if plan.bootstrap:
        sizes, present = np.zeros(len(rows), dtype=np.int64), shares.weights > 0.0
        chances = shares.weights[present] / shares.weights.sum()
        sizes[present] = rng.multinomial(size, chances)  # rounding is for the last, which has rows
        return sizes
    if size >= rows.sum():
        return np.full(len(rows), _ALL)
    sampling.require_whole(shares.are_whole)
    copies = rows.astype(np.int64)
    if copies.sum() < _COUNTABLE:
        return rng.multivariate_hypergeometric(copies, size, method="marginals")
    drawn = rng.choice(copies.sum(), size, replace=False)
    owners = np.searchsorted(np.cumsum(copies), drawn, side="right")
    return np.bincount(owners, minlength=len(copies))
