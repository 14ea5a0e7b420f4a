"""Exact Shapley values of boosted trees: what each column of a row adds to its latent values.

They are path-dependent, as in TreeSHAP: where a column is not known, a row goes both ways at each
of its tests, by the shares of the two children in their node. Shares are of leaf precisions, which
are the curvature of the training rows and the prior of a leaf, as XGBoost counts cover.

Along the path to one leaf the chance of a row to come there is a product over columns: of zero or
one where the column is known, of shares where it is not. The Shapley values of such a product are
sums of the coefficients of a polynomial, and those of a tree are sums over its leaves. An oblivious
tree has few enough leaves that values are found for each of them once, and rows look them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.families.columns import Columns
from posterity.trees.families.family import Family, Tests


def find_shapley_values(trees: BoostedTrees, weak: Family, rows: Any) -> tuple[Array, Array]:
    """Shapley values (n, D, L) of each column, and the expected latent values (L,).

    Expected values and Shapley values of a row sum to its latent values. Members are averaged.

    Parameters
    ----------
    trees : BoostedTrees
        The sum.
    weak : Family
        Its tests, which must be single columns.
    rows : array (n, D)
        Which rows to explain.
    """
    if not isinstance(weak, Columns):
        raise TypeError("Shapley values of columns exist only where splits are of columns.")
    L = trees.values.shape[1]
    found = np.zeros((len(rows), weak.n_columns, L))
    expected = np.sum(trees.offset, axis=0)
    columns = weak.columns_of(trees.tests) if len(trees.tests) else np.empty(0, dtype=np.int32)
    for t in range(trees.n_trees):
        own = slice(trees.nodes[t], trees.nodes[t + 1])
        values = trees.values[trees.leaves[t] : trees.leaves[t + 1]]
        covers = np.mean(trees.precisions[trees.leaves[t] : trees.leaves[t + 1]], axis=1)
        children = None if trees.children is None else trees.children[own]
        paths = _Paths.from_tree(children, covers)
        expected = expected + paths.shares @ values
        if not len(columns[own]):
            continue
        players, which = np.unique(columns[own], return_inverse=True)
        which = which.reshape(-1).astype(np.int64)
        sides = _find_sides(weak, rows, trees.tests[own], trees.thresholds[own])
        if children is None:  # rows with equal bits have equal values
            bits = (np.arange(len(values)) >> np.arange(len(which))[:, None]) & 1
            table = paths.explain(which, bits.astype(np.bool_), values)
            leaf = np.sum(sides.astype(np.int64) << np.arange(len(which))[:, None], axis=0)
            found[:, players] += table[leaf]
        else:
            found[:, players] += paths.explain(which, sides, values)
    return found / trees.n_members, expected / trees.n_members


def _find_sides(weak: Family, rows: Any, tests: Tests, thresholds: Array) -> NDArray[np.bool_]:
    """Whether each row goes right at each of some nodes, (I, n)."""
    places, which = np.arange(len(rows), dtype=np.int32), np.zeros(len(rows), dtype=np.int32)
    answers = np.asarray(weak.respond(rows, places, tests[None], which))
    return np.array(~(answers <= thresholds[:, None]), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The way to each of Q leaves of a tree, of at most d steps; -1 where it is shorter."""

    nodes: NDArray[np.int64]  # (Q, d)
    is_right: NDArray[np.bool_]  # (Q, d)
    ratios: Array  # (Q, d), of the child in its node
    shares: Array  # (Q,), of the leaf in the tree

    @classmethod
    def from_tree(cls, children: NDArray[np.int32] | None, covers: Array) -> _Paths:
        """Paths of an oblivious tree, whose children are None, or of any other."""
        ways = _list_oblivious(covers) if children is None else _list_nodes(children, covers)
        depth = max((len(way) for way in ways), default=0)
        nodes = np.full((len(ways), depth), -1, dtype=np.int64)
        is_right, ratios = np.zeros(nodes.shape, dtype=np.bool_), np.ones(nodes.shape)
        for leaf, way in enumerate(ways):
            for step, (node, side, ratio) in enumerate(way):
                nodes[leaf, step], is_right[leaf, step], ratios[leaf, step] = node, side, ratio
        return cls(nodes, is_right, ratios, np.prod(ratios, axis=1))

    def explain(
        self, players: NDArray[np.int64], on_right: NDArray[np.bool_], values: Array
    ) -> Array:
        """Shapley values (n, m, L) of rows that go right at nodes (I, n) as is said."""
        m = int(players.max()) + 1
        found = np.zeros((on_right.shape[1], m, values.shape[1]))
        sides = np.ascontiguousarray(on_right)
        _add_shapley(self.nodes, self.is_right, self.ratios, players, sides, values, found)
        return found


_Way = list[tuple[int, int, float]]  # node, side and share of the child in it


def _list_oblivious(covers: Array) -> list[_Way]:
    depth = len(covers).bit_length() - 1
    below = [covers.reshape(-1, 1 << d).sum(axis=0) for d in range(depth + 1)]  # by lower bits
    return [
        [
            (d, (leaf >> d) & 1, below[d + 1][leaf % (2 << d)] / below[d][leaf % (1 << d)])
            for d in range(depth)
        ]
        for leaf in range(len(covers))
    ]


def _list_nodes(children: NDArray[np.int32], covers: Array) -> list[_Way]:
    weight = np.zeros(len(children))
    for node in range(len(children) - 1, -1, -1):  # a child that is a node comes later
        weight[node] = sum(weight[c] if c >= 0 else covers[~c] for c in children[node].tolist())
    ways: list[_Way] = [[] for _ in covers]
    to_node: list[_Way] = [[] for _ in children]
    for node, pair in enumerate(children.tolist()):
        for side, child in enumerate(pair):
            cover = weight[child] if child >= 0 else covers[~child]
            way = [*to_node[node], (node, side, float(cover / weight[node]))]
            if child >= 0:
                to_node[child] = way
            else:
                ways[~child] = way
    return ways


@compilation.compile_at_first_call
def _add_shapley(
    nodes: NDArray[np.int64],
    is_right: NDArray[np.bool_],
    ratios: Array,
    players: NDArray[np.int64],
    on_right: NDArray[np.bool_],
    values: Array,
    found: Array,
) -> None:
    """Leaf by leaf: a product over the columns on its path, and the Shapley values of the product.

    With m columns, of which column i contributes o_i if known and z_i if not, that of column j is
    (o_j - z_j) times the sum over k of k! (m - 1 - k)! / m! times the coefficient of t^k in the
    product of (z_i + o_i t) over the others.
    """
    depth, n_players = nodes.shape[1], found.shape[1]
    place, who = np.empty(n_players, dtype=np.int64), np.empty(depth, dtype=np.int64)
    one, zero, terms = np.empty(depth), np.empty(depth), np.empty(depth + 1)
    for i in range(found.shape[0]):
        for leaf in range(len(nodes)):
            place[:] = -1
            m = 0
            for d in range(depth):
                node = nodes[leaf, d]
                if node < 0:
                    break
                player = players[node]
                if place[player] < 0:
                    place[player], who[m], one[m], zero[m] = m, player, 1.0, 1.0
                    m += 1
                at = place[player]
                one[at] *= 1.0 - np.float64(on_right[node, i] ^ is_right[leaf, d])
                zero[at] *= ratios[leaf, d]
            for j in range(m):
                share = _share_product(one, zero, m, j, terms)
                for l in range(values.shape[1]):
                    found[i, who[j], l] += share * values[leaf, l]


@compilation.compile_for_callers
def _share_product(one: Array, zero: Array, m: int, j: int, terms: Array) -> float:
    """Return the Shapley value of column j in the product over m columns."""
    _multiply_out(one, zero, m, j, terms)
    total, weight = 0.0, 1.0 / m
    for k in range(m):
        total += weight * terms[k]
        weight *= (k + 1.0) / max(m - 1.0 - k, 1.0)
    return total * (one[j] - zero[j])


@compilation.compile_for_callers
def _multiply_out(one: Array, zero: Array, m: int, left_out: int, terms: Array) -> None:
    """Coefficients of the product of (z + o t) over all columns but one."""
    terms[0], n = 1.0, 1
    for i in range(m):
        if i == left_out:
            continue
        terms[n] = one[i] * terms[n - 1]
        for k in range(n - 1, 0, -1):
            terms[k] = zero[i] * terms[k] + one[i] * terms[k - 1]
        terms[0] *= zero[i]
        n += 1
