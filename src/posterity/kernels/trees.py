"""A kernel on trees: shared fragments."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.kernels import structured
from posterity.kernels.parameters import positive

Tree: TypeAlias = tuple[Any, ...]
"""(label, *children): the label is a string, a child a tree or, where it is a leaf, a string."""


class _FlatTrees(NamedTuple):
    """Trees as flat arrays of their inner nodes, children before parents.

    Children are inner nodes too: a leaf is known by the production of its parent.
    """

    starts: NDArray[np.int_]  # (N + 1,) first node of each tree
    productions: NDArray[np.int_]  # (V,) equal where nodes have equal label and labels of children
    by_production: NDArray[
        np.int_
    ]  # (V,) the nodes of each tree, counted in it, sorted by production
    child_starts: NDArray[np.int_]  # (V + 1,) first child of each node
    children: NDArray[np.int_]  # (C,) nodes, counted within their tree


@dataclass(frozen=True, repr=False)
class SubsetTree(structured.DecayKernel):
    """Labelled ordered trees are alike when they have the same fragments.

    A fragment is a piece of a tree that contains, of every node, either all children or none. It
    is a feature with the weight decay^(size / 2) for each occurrence, where its size is the number
    of nodes that have their children in it (Collins and Duffy, 2002). Only nodes of equal
    label and equal labels of children are compared.

    A tree is a tuple, (label, child, ...), and a leaf a string; a leaf and an inner node of the
    same label are different. :func:`parse_tree` reads bracketed strings.

    Parameters
    ----------
    decay : float, default=0.5
        How much less a fragment counts for each node in it; at most 1, where large fragments, which
        only equal trees share, outweigh the others.
    normalize : bool, default=True
        Whether every tree has similarity 1 with itself.

    Examples
    --------
    >>> from posterity import kernels
    >>> barking, singing = ("S", ("N", "dogs"), ("V", "bark")), ("S", ("N", "dogs"), ("V", "sing"))
    >>> kernels.SubsetTree(decay=1.0, normalize=False)([barking], [barking, singing])
    array([[6., 3.]])
    >>> kernels.SubsetTree(decay=1.0)([barking], [barking, singing])
    array([[1. , 0.5]])
    """

    _compares: ClassVar[str] = "trees, nested tuples as parse_tree makes them of bracketed strings"

    decay: float = positive(0.5, neutral=0.5, bounds=(0.01, 1.0))
    normalize: bool = True

    @property
    def _least_power(self) -> int:
        return 1  # the size of a node with its children

    def _accepts(self, row: Any) -> bool:
        return isinstance(row, tuple) and bool(row) and isinstance(row[0], str)

    def _sums(self, X: Sequence[Tree], Z: Sequence[Tree]) -> tuple[Array, Array]:
        codes: dict[Hashable, int] = {}
        forest_X = _flatten_trees(X, codes)
        forest_Z = forest_X if Z is X else _flatten_trees(Z, codes)
        return _compare_pairs(forest_X, forest_Z, self.decay, Z is X)

    def _self_sums(self, X: Sequence[Tree]) -> tuple[Array, Array]:
        return _compare_with_self(_flatten_trees(X, {}), self.decay)


def parse_tree(text: str) -> Tree:
    """The tree that a bracketed string describes, as in treebanks.

    Parameters
    ----------
    text : str
        ``(label child ...)``, where a child is such a bracket or, where it is a leaf, a word.

    Returns
    -------
    tuple
        (label, child, ...), as :class:`SubsetTree` takes it.

    Examples
    --------
    >>> from posterity import kernels
    >>> kernels.parse_tree("(S (NP dogs) (VP bark))")
    ('S', ('NP', 'dogs'), ('VP', 'bark'))
    """
    open_nodes: list[list[Any]] = [[]]
    for found in re.finditer(r"[()]|[^\s()]+", text):
        if found[0] == "(":
            open_nodes.append([])
        elif found[0] != ")":
            open_nodes[-1].append(found[0])
        elif len(open_nodes) == 1:
            raise ValueError(f"the bracket closed at character {found.start()} was never opened.")
        else:
            node = tuple(open_nodes.pop())
            _check_parsed(node, found.start())
            open_nodes[-1].append(node)
    if len(open_nodes) > 1:
        raise ValueError(f"the text ends while {len(open_nodes) - 1} brackets are still open.")
    trees = open_nodes[0]
    if len(trees) != 1 or isinstance(trees[0], str):
        raise ValueError(f"{text!r} is not one tree in brackets, such as '(S (NP dogs))'.")
    return trees[0]


def _check_parsed(node: Tree, end: int) -> None:
    if not node or not isinstance(node[0], str):
        raise ValueError(
            f"the bracket closed at character {end} has no label: write (label child)."
        )
    if len(node) == 1:
        raise ValueError(
            f"the bracket closed at character {end} has no children: write the leaf "
            f"{node[0]!r} without brackets."
        )


def _flatten_trees(trees: Sequence[Tree], codes: dict[Hashable, int]) -> _FlatTrees:
    """The trees as flat arrays; ``codes`` numbers the productions, and may be shared."""
    starts, productions, by_production, counts, children = [0], [], [], [0], []
    for row, tree in enumerate(trees):
        nodes = _inner_nodes(tree, row)
        own = [codes.setdefault(_production_of(node), len(codes)) for node, _ in nodes]
        productions += own
        by_production += np.argsort(own, kind="stable").tolist()
        counts += [len(below) for _, below in nodes]
        children += [child for _, below in nodes for child in below]
        starts.append(len(productions))
    arrays = starts, productions, by_production, np.cumsum(counts), children
    return _FlatTrees(*(np.array(values, dtype=np.int64) for values in arrays))


def _inner_nodes(tree: Tree, row: int) -> list[tuple[Tree, list[int]]]:
    """Every inner node with the positions of its inner children, from right to left; children
    come before parents.
    """
    found: list[tuple[Tree, list[int]]] = []
    to_visit: list[tuple[Any, list[int]]] = [(tree, [])]
    while to_visit:
        node, siblings = to_visit.pop()
        _check_node(node, row)
        siblings.append(len(found))
        found.append((node, []))
        inner = [child for child in node[1:] if not isinstance(child, str)]
        to_visit += [(child, found[-1][1]) for child in inner]
    last = len(found) - 1
    return [(node, [last - child for child in below]) for node, below in reversed(found)]


def _check_node(node: Any, row: int) -> None:
    """Raise unless this is a tuple of a label and at least one child."""
    if not isinstance(node, tuple):
        raise ValueError(
            f"row {row} has a node that is {structured.describe_value(node)}; "
            "a node is a tuple, (label, child, ...), or a string where it is a leaf."
        )
    if not node or not isinstance(node[0], str):
        raise ValueError(f"row {row} has the node {node!r:.60}, which has no string as its label.")
    if len(node) == 1:
        raise ValueError(
            f"row {row} has the node {node!r}, without children; write a leaf as {node[0]!r}."
        )


def _production_of(node: Tree) -> Hashable:
    """The label of a node and those of its children; inner ones are marked by a tuple."""
    return node[0], *(child if isinstance(child, str) else child[:1] for child in node[1:])


@compilation.compile_at_first_call
def _compare_pairs(X: _FlatTrees, Z: _FlatTrees, decay: float, same: bool) -> tuple[Array, Array]:
    """Every tree of X with every one of Z: the sum over pairs of equal fragments of
    decay^(size - 1), and decay times its derivative; (N, M) each.

    Where X and Z are the same trees, the lower half is copied from the upper.
    """
    N, M = len(X.starts) - 1, len(Z.starts) - 1
    K, dK = np.empty((N, M)), np.empty((N, M))
    for n in range(N):
        for m in range(n if same else 0, M):
            K[n, m], dK[n, m] = _compare_pair(X, n, Z, m, decay)
            if same:
                K[m, n], dK[m, n] = K[n, m], dK[n, m]
    return K, dK


@compilation.compile_at_first_call
def _compare_with_self(X: _FlatTrees, decay: float) -> tuple[Array, Array]:
    """Every tree with itself, as in ``_compare_pairs``; (N,) each."""
    N = len(X.starts) - 1
    K, dK = np.empty(N), np.empty(N)
    for n in range(N):
        K[n], dK[n] = _compare_pair(X, n, X, n, decay)
    return K, dK


@compilation.compile_at_first_call
def _compare_pair(
    X: _FlatTrees, n: int, Z: _FlatTrees, m: int, decay: float
) -> tuple[float, float]:
    """C[u, v] sums decay^(size - 1) over equal fragments with roots u and v; dC is its derivative
    in log decay. Only nodes of equal production are visited; for the others C is zero.
    """
    first_X, end_X = X.starts[n], X.starts[n + 1]
    first_Z, end_Z = Z.starts[m], Z.starts[m + 1]
    C = np.zeros((end_X - first_X, end_Z - first_Z))
    dC = np.zeros_like(C)
    candidates = Z.by_production[first_Z:end_Z]
    sorted_productions = Z.productions[first_Z:end_Z][candidates]
    total, slope = 0.0, 0.0
    for u in range(end_X - first_X):
        production = X.productions[first_X + u]
        at = np.searchsorted(sorted_productions, production)
        while at < len(candidates) and sorted_productions[at] == production:
            v = candidates[at]
            product, d_log = 1.0, 0.0
            child_u, child_v = X.child_starts[first_X + u], Z.child_starts[first_Z + v]
            for c in range(X.child_starts[first_X + u + 1] - child_u):
                below = X.children[child_u + c], Z.children[child_v + c]
                either = 1.0 + decay * C[below]  # the child is cut off, or goes on
                product *= either
                d_log += decay * (C[below] + dC[below]) / either
            C[u, v], dC[u, v] = product, product * d_log
            total += C[u, v]
            slope += dC[u, v]
            at += 1
    return total, slope
