"""Sums of boosted trees, of one or several members: what training returns, and how rows are read.

Trees that are oblivious have one test a level, and the answers of a row are the bits of its leaf.
Rows answer each different test once, and all trees compare codes of one byte: how many of the
thresholds of its test an answer exceeds.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.boosting import splitting
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.tree_records import GrownTree
from posterity.trees.families import family

Round = tuple[GrownTree, Array, Array]
"""A tree, the values (n_leaves, L) of its leaves, and their precisions (n_leaves, L)."""

_TEST_TYPES = (np.int32, np.int64, np.float64)
_ANSWERS_AT_ONCE = 500_000  # what a cache holds
_NUMBERS_OF_PAGE = 80_000  # values of leaves, and their variances
_FEW_ROWS = 8  # for which loops over the rows of a block are not worth their start


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """T trees of I nodes and Q leaves in all, in K members whose sums are averaged.

    A row goes to the first child of a node where its answer is at most the threshold, and else,
    also where it has no answer, to the second. In an oblivious tree, whose ``children`` are not
    written, answers to its tests are the bits of the leaf, from the lowest on.
    """

    offset: Array  # (K, L)
    members: NDArray[np.int64]  # (K + 1,), member k has trees members[k] to members[k + 1] - 1
    nodes: NDArray[np.int64]  # (T + 1,), likewise the nodes of each tree
    leaves: NDArray[np.int64]  # (T + 1,), likewise its leaves
    tests: family.Tests  # (I, P)
    thresholds: Array  # (I,)
    children: NDArray[np.int32] | None  # (I, 2), ~l for leaf l, both counted in their tree
    gains: Array  # (I,), nats that each split brought in training
    values: Array  # (Q, L)
    precisions: Array  # (Q, L), of values

    @classmethod
    def from_rounds(
        cls, catalogue: Catalogue | Sequence[Catalogue], offset: Array, rounds: Sequence[Round]
    ) -> BoostedTrees:
        """One member; a catalogue for all trees, or one for each."""
        by_tree = [catalogue] * len(rounds) if isinstance(catalogue, Catalogue) else catalogue
        first = catalogue if isinstance(catalogue, Catalogue) else (catalogue[0])
        L = len(offset)
        trees = [tree for tree, _, _ in rounds]
        tests = [c.tests[t.tests] for c, t in zip(by_tree, trees, strict=True)]
        cuts = [c.cuts[t.tests, t.codes] for c, t in zip(by_tree, trees, strict=True)]
        children = [t.children for t in trees if t.children is not None]
        return cls(
            offset=np.array(offset, dtype=np.float64)[None],
            members=np.array([0, len(trees)]),
            nodes=_count_up(len(t.tests) for t in trees),
            leaves=_count_up(t.n_leaves for t in trees),
            tests=np.concatenate([first.tests[:0], *tests]),
            thresholds=np.concatenate([np.empty(0), *cuts]),
            children=np.concatenate(children) if children else None,
            gains=np.concatenate([np.empty(0), *(t.gains for t in trees)]),
            values=np.concatenate([np.empty((0, L)), *(v for _, v, _ in rounds)]),
            precisions=np.concatenate([np.empty((0, L)), *(p for _, _, p in rounds)]),
        )

    @classmethod
    def join(cls, parts: Sequence[BoostedTrees]) -> BoostedTrees:
        """All members of several sums."""
        with_nodes = [part.children for part in parts if part.children is not None]
        return cls(
            offset=np.concatenate([part.offset for part in parts]),
            members=_join_counts([part.members for part in parts]),
            nodes=_join_counts([part.nodes for part in parts]),
            leaves=_join_counts([part.leaves for part in parts]),
            tests=np.concatenate([part.tests for part in parts]),
            thresholds=np.concatenate([part.thresholds for part in parts]),
            children=np.concatenate(with_nodes) if with_nodes else None,
            gains=np.concatenate([part.gains for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            precisions=np.concatenate([part.precisions for part in parts]),
        )

    def append(self, other: BoostedTrees) -> BoostedTrees:
        """The trees of each member, and after them those that another sum has of it."""
        both, n = BoostedTrees.join([self, other]), self.n_trees
        ends = zip(*(itertools.pairwise(part.members) for part in (self, other)), strict=True)
        order = [(np.arange(*own), n + np.arange(*more)) for own, more in ends]
        counts = np.diff(self.members) + np.diff(other.members)
        kept = both._keep_trees(np.concatenate([t for pair in order for t in pair]), counts)
        return replace(kept, offset=self.offset + other.offset)

    @property
    def n_members(self) -> int:
        """Number of sums that are averaged, K."""
        return len(self.offset)

    @property
    def n_trees(self) -> int:
        """Number of trees in all members, T."""
        return len(self.nodes) - 1

    def member_latents(self, weak: family.Family, rows: Any) -> Array:
        """The sum of each member, (K, n, L)."""
        return self._sum_leaves(weak, rows, self.values) + self.offset[:, None]

    def variances(self, weak: family.Family, rows: Any) -> Array:
        """Uncertainty of leaf values, (n, L): inverse precisions summed over the trees of a
        member, and their mean over members."""
        return np.mean(self._sum_leaves(weak, rows, 1.0 / self.precisions), axis=0)

    def member_moments(self, weak: family.Family, rows: Any) -> tuple[Array, Array]:
        """The sum of each member, (K, n, L), and what leaf values leave open of it."""
        inverse = self._sum_leaves(weak, rows, 1.0 / self.precisions)
        return self.member_latents(weak, rows), inverse

    def moments(self, weak: family.Family, rows: Any) -> tuple[Array, Array]:
        """Latents (n, L), and the mean over outputs of what leaf values leave open, (n,)."""
        sums = np.mean(self._sum_leaves(weak, rows, self._moment_table), axis=0)
        return sums[:, :-1] + np.mean(self.offset, axis=0), sums[:, -1].copy()

    def staged_moments(self, weak: family.Family, rows: Any) -> Iterator[tuple[Array, Array]]:
        """``moments`` after the first round of all members, the second, and so on."""
        offset = np.mean(self.offset, axis=0)
        sums = np.zeros((len(rows), len(offset) + 1))
        for number in range(int(np.diff(self.members).max(initial=0))):
            one = self._take_trees(self.members[:-1] + number, self.members[1:])
            sums = sums + np.mean(one._sum_leaves(weak, rows, one._moment_table), axis=0)
            yield sums[:, :-1] + offset, sums[:, -1].copy()

    @functools.cached_property
    def _moment_table(self) -> Array:
        """Values of leaves, and the mean of their inverse precisions, (Q, L + 1)."""
        return np.column_stack([self.values, np.mean(1.0 / self.precisions, axis=1)])

    def truncate(self, n_rounds: int) -> BoostedTrees:
        """The first trees of each member only: what training of this many rounds gives."""
        kept = np.concatenate(
            [
                np.arange(a, min(a + n_rounds, b))
                for a, b in zip(self.members[:-1], self.members[1:], strict=True)
            ]
        )
        counts = np.minimum(np.diff(self.members), n_rounds)
        return self._keep_trees(kept, counts)

    def keep_members(self, n_members: int) -> BoostedTrees:
        """The first members only."""
        kept = self._keep_trees(
            np.arange(self.members[n_members]), np.diff(self.members[: n_members + 1])
        )
        return replace(kept, offset=self.offset[:n_members])

    def _take_trees(self, which: NDArray[np.int64], ends: NDArray[np.int64]) -> BoostedTrees:
        """At most one tree of each member."""
        exists = which < ends
        return self._keep_trees(which[exists], exists.astype(np.int64))

    def _keep_trees(self, kept: NDArray[np.int64], counts: NDArray[np.int64]) -> BoostedTrees:
        """Some trees, with the number of each member."""
        nodes, leaves = _list_ranges(self.nodes, kept), _list_ranges(self.leaves, kept)
        return replace(
            self,
            members=_count_up(counts),
            nodes=_count_up(np.diff(self.nodes)[kept]),
            leaves=_count_up(np.diff(self.leaves)[kept]),
            tests=self.tests[nodes],
            thresholds=self.thresholds[nodes],
            children=None if self.children is None else self.children[nodes],
            gains=self.gains[nodes],
            values=self.values[leaves],
            precisions=self.precisions[leaves],
        )

    def _sum_leaves(self, weak: family.Family, rows: Any, table: Array) -> Array:
        """Entries of a table (Q, L) at the leaves of each row, summed by member, (K, n, L)."""
        K, L, n = self.n_members, table.shape[1], len(rows)
        total, ends = np.zeros((K, n, L)), (self.members, self.nodes, self.leaves)
        tests, which, edges, cuts = self._code_table
        if not len(tests):
            return total
        at_once = max(1, min(n, _ANSWERS_AT_ONCE // len(tests)))
        for first in range(0, n, at_once):
            places = np.arange(first, min(first + at_once, n), dtype=np.int32)
            answers = weak.respond(rows, places, tests[None], np.zeros(len(places), np.int32))
            answers = np.ascontiguousarray(answers, dtype=np.float64)
            own = total[:, first : first + len(places)]
            if self.children is None:
                is_few = len(places) <= _FEW_ROWS
                add = splitting.add_oblivious_by_row if is_few else splitting.add_oblivious
                add(answers, edges, which, cuts, ends, table, own)
            else:
                splitting.add_trees(
                    answers, which, self.thresholds, self.children, ends, table, own
                )
        return total

    @functools.cached_property
    def _code_table(self) -> tuple[family.Tests, NDArray[np.int64], Array, NDArray[np.int64]]:
        """Each test once (U, P), which of them each node asks, the thresholds of each (U, E)
        increasing to +inf, and the place of a node's own among them."""
        tests, which = np.unique(self.tests, axis=0, return_inverse=True)
        which = which.reshape(-1).astype(np.int64)
        own = [np.unique(self.thresholds[which == u]) for u in range(len(tests))]
        edges = np.full((len(tests), 1 + max((len(e) for e in own), default=0)), np.inf)
        cuts = np.empty(len(which), dtype=np.int64)
        for u, e in enumerate(own):
            edges[u, : len(e)] = e
            cuts[which == u] = np.searchsorted(e, self.thresholds[which == u])
        return tests, which, edges, cuts

    def check_consistency(self) -> None:
        """Raise ValueError unless every tree has tests, thresholds and as many values as leaves."""
        require, require_array = validation.require, validation.require_array
        require_array(self.offset, "offset", np.float64, (None, None))
        K, L = self.offset.shape
        for counts, name in (
            (self.members, "members"),
            (self.nodes, "nodes"),
            (self.leaves, "leaves"),
        ):
            require_array(counts, name, np.int64, (None,))
            rises = len(counts) and counts[0] == 0 and np.all(np.diff(counts) >= 0)
            require(bool(rises), f"{name} do not increase from 0.")
        require(len(self.members) == K + 1, "there are not as many members as offsets.")
        require(int(self.members[-1]) == self.n_trees, "members and trees differ in number.")
        require(len(self.leaves) == len(self.nodes), "nodes and leaves are of different trees.")
        n_nodes, n_leaves = int(self.nodes[-1]), int(self.leaves[-1])
        require_array(self.tests, "tests", _TEST_TYPES, (n_nodes, None))
        require_array(self.thresholds, "thresholds", np.float64, (n_nodes,))
        require(not np.isnan(self.thresholds).any(), "a threshold is not a number.")
        require_array(self.gains, "gains", np.float64, (n_nodes,))
        require_array(self.values, "values", np.float64, (n_leaves, L))
        require_array(self.precisions, "precisions", np.float64, (n_leaves, L))
        if self.children is None:
            right = np.diff(self.leaves) == 1 << np.minimum(np.diff(self.nodes), 62)
            require(bool(np.all(right)), "an oblivious tree has not 2^depth leaves.")
            return
        require_array(self.children, "children", np.int32, (n_nodes, 2))
        own_nodes = np.repeat(np.diff(self.nodes), np.diff(self.nodes))[:, None]
        own_leaves = np.repeat(np.diff(self.leaves), np.diff(self.nodes))[:, None]
        number = (np.arange(n_nodes) - np.repeat(self.nodes[:-1], np.diff(self.nodes)))[:, None]
        is_node = self.children >= 0
        # A child that is a node comes later: no path goes round.
        fits = np.where(
            is_node,
            (self.children > number) & (self.children < own_nodes),
            ~self.children < own_leaves,
        )
        require(bool(np.all(fits)), "a child is not in its tree.")
        require(bool(np.all(np.diff(self.leaves) >= 1)), "a tree has no leaf.")

    def page_form(self, tests: list[int]) -> Form:
        """Return the form of the sums, of as many members as a page has room for."""
        if self.children is not None:
            raise page_forms.NoFormError(
                "Boosted trees that are not oblivious cannot run in a page."
            )
        n_values = self.values.shape[1] + 1
        room = _NUMBERS_OF_PAGE // n_values
        n_members = max(1, int(np.sum(self.leaves[self.members[1:]] <= room)))
        some = self.keep_members(n_members)
        page_forms.check_size(len(some.values) * n_values // 2, f"{some.n_trees:,} trees")
        note = f"This panel uses {n_members} of the {self.n_members} members of the model."
        return {
            "members": n_members,
            "offset": np.mean(some.offset, axis=0).tolist(),
            "tests": tests,
            "depths": np.diff(some.nodes),
            "which": some.tests[:, 0],
            "thresholds": some.thresholds,
            "values": some.values.astype(np.float32),
            "variances": np.mean(1.0 / some.precisions, axis=1).astype(np.float32),
            **({} if n_members == self.n_members else {"note": note}),
        }


def _count_up(numbers: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(list(numbers))]).astype(np.int64)


def _join_counts(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return _count_up(np.concatenate([np.diff(part) for part in parts]))


def _list_ranges(starts: NDArray[np.int64], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers from starts[w] to starts[w + 1] - 1, for one w after the other."""
    ranges = [np.arange(starts[w], starts[w + 1]) for w in which]
    return np.concatenate([np.empty(0, dtype=np.int64), *ranges])
