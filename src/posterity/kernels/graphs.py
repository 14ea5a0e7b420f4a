"""Kernels on graphs: shared neighbourhoods and shared shortest paths."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csgraph

from posterity.kernels import structured


@dataclass(frozen=True)
class Graph:
    """An undirected graph with a label on every node.

    Parameters
    ----------
    labels : sequence of hashable
        The label of each node; their number is the number of nodes.
    edges : sequence of (int, int)
        The pairs of nodes that are joined, counted from 0. A pair may be given once or in both
        directions; it is kept once, the smaller node first.

    Examples
    --------
    >>> from posterity import kernels
    >>> ethanol = kernels.Graph("CCO", [(0, 1), (1, 2)])
    >>> ethanol.labels
    ('C', 'C', 'O')
    >>> kernels.Graph.without_labels(3, [(1, 0), (0, 1)]).edges
    ((0, 1),)
    """

    labels: Sequence[Hashable]
    edges: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _check_labels(self.labels))
        joined = {_check_edge(i, edge, len(self.labels)) for i, edge in enumerate(self.edges)}
        object.__setattr__(self, "edges", tuple(sorted(joined)))

    @classmethod
    def without_labels(cls, n_nodes: int, edges: Sequence[tuple[int, int]] = ()) -> Graph:
        """A graph whose nodes all bear the same label, 0."""
        if not isinstance(n_nodes, numbers.Integral) or n_nodes < 0:
            raise ValueError(f"n_nodes={n_nodes!r} must be a whole number, zero or more.")
        return cls((0,) * int(n_nodes), edges)


def _check_labels(labels: Any) -> tuple[Hashable, ...]:
    """The labels as a tuple of values that can be compared."""
    if isinstance(labels, numbers.Number):
        raise ValueError(
            f"labels={labels!r} is a number; give one label a node, "
            f"or write Graph.without_labels({labels!r}, edges)."
        )
    values = tuple(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    for i, label in enumerate(values):
        if not _is_hashable(label):
            raise ValueError(
                f"the label of node {i} is {structured.describe_value(label)}, which cannot be "
                "compared; use a number, a string or a tuple of them."
            )
    return values


def _is_hashable(label: Any) -> bool:
    """Whether a label can be looked up; a tuple that holds a list cannot."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _check_edge(i: int, edge: Any, n_nodes: int) -> tuple[int, int]:
    """One edge as two nodes, the smaller first."""
    ends = tuple(edge) if isinstance(edge, Iterable) else ()
    if len(ends) != 2 or not all(isinstance(end, numbers.Integral) for end in ends):
        raise ValueError(f"edge {i} is {edge!r}; an edge is two node numbers, such as (0, 1).")
    a, b = sorted(int(end) for end in ends)
    if a < 0 or b >= n_nodes:
        raise ValueError(
            f"edge {i} joins nodes {ends[0]} and {ends[1]}, but the graph has {n_nodes} nodes, "
            "counted from 0."
        )
    if a == b:
        raise ValueError(f"edge {i} joins node {a} with itself; leave loops out.")
    return a, b


@dataclass(frozen=True, repr=False)
class _GraphKernel(structured.CountKernel):
    """Features of labelled graphs, which do not depend on how the nodes are numbered."""

    _compares: ClassVar[str] = "graphs (posterity.kernels.Graph)"

    def _accepts(self, row: Any) -> bool:
        return isinstance(row, Graph)


@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(_GraphKernel):
    """Graphs are alike when their nodes have like neighbourhoods.

    Each node starts with its label; in each iteration its label becomes a new one that stands for
    the old one and the sorted old labels of its neighbours. The features are the counts of all
    labels, those given and those of every iteration (Shervashidze et al., 2011).

    Parameters
    ----------
    iterations : int, default=3
        How often labels are refined: the radius of the neighbourhoods. 0 counts the given labels.
    normalize : bool, default=True
        Whether every graph has similarity 1 with itself. An empty graph then has similarity 1 with
        empty graphs and 0 with others.

    Examples
    --------
    >>> from posterity import kernels
    >>> ethanol = kernels.Graph("CCO", [(0, 1), (1, 2)])
    >>> ether = kernels.Graph("COC", [(0, 1), (1, 2)])
    >>> kernels.WeisfeilerLehman(iterations=1, normalize=False)([ethanol], [ethanol, ether])
    array([[8., 5.]])
    """

    iterations: int = 3
    normalize: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.iterations, numbers.Integral) or self.iterations < 0:
            raise ValueError(f"iterations={self.iterations!r} must be a whole number, 0 or more.")

    def _features(self, rows: Sequence[Graph]) -> Iterator[list[Hashable]]:
        """(iteration, label) of every node; the labels are numbered over all graphs at once."""
        union = _join_graphs(rows)
        history = [union.labels]
        for _ in range(self.iterations):
            history.append(_refine_labels(history[-1], union))
        for first, end in itertools.pairwise(union.graph_starts):
            yield [(h, c) for h, codes in enumerate(history) for c in codes[first:end].tolist()]


@dataclass(frozen=True, repr=False)
class ShortestPath(_GraphKernel):
    """Graphs are alike when equally labelled nodes lie equally far apart.

    The features are the counts of (label, label, distance) over all ordered pairs of different
    nodes that a path joins, where the distance is the number of edges of the shortest (Borgwardt
    and Kriegel, 2005).

    Parameters
    ----------
    normalize : bool, default=True
        Whether every graph has similarity 1 with itself. A graph without edges then has similarity
        1 with graphs without edges and 0 with others.

    Examples
    --------
    >>> from posterity import kernels
    >>> ethanol = kernels.Graph("CCO", [(0, 1), (1, 2)])
    >>> ether = kernels.Graph("COC", [(0, 1), (1, 2)])
    >>> kernels.ShortestPath(normalize=False)([ethanol], [ethanol, ether])
    array([[8., 4.]])
    """

    normalize: bool = True

    def _features(self, rows: Sequence[Graph]) -> Iterator[list[Hashable]]:
        codes: dict[Hashable, int] = {}
        for graph in rows:
            labels = np.array([codes.setdefault(x, len(codes)) for x in graph.labels], dtype=int)
            yield _list_labelled_distances(graph, labels)


def _list_labelled_distances(graph: Graph, labels: NDArray[np.int_]) -> list[Hashable]:
    """(label, label, distance) of every ordered pair of nodes that a path joins."""
    if not graph.edges:
        return []
    n = len(labels)
    i, j = np.array(graph.edges).T
    adjacency = scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    distances = csgraph.shortest_path(adjacency, directed=False, unweighted=True)
    a, b = np.nonzero(np.isfinite(distances) & (distances > 0.0))
    triples = labels[a].tolist(), labels[b].tolist(), distances[a, b].tolist()
    return list(zip(*triples, strict=True))


@dataclass(frozen=True)
class _JoinedGraphs:
    """Several graphs laid side by side as one; the neighbours of node v are a slice."""

    labels: NDArray[np.int_]  # (V,), equal where the labels given are
    graph_starts: NDArray[np.int_]  # (N + 1,) nodes
    sources: NDArray[np.int_]  # (E,) sorted: the node an edge leaves
    targets: NDArray[np.int_]  # (E,) the node it reaches


def _join_graphs(graphs: Sequence[Graph]) -> _JoinedGraphs:
    """The graphs as one, with every edge in both directions."""
    codes: dict[Hashable, int] = {}
    labels = [codes.setdefault(label, len(codes)) for graph in graphs for label in graph.labels]
    starts = np.cumsum([0, *(len(graph.labels) for graph in graphs)])
    shifts = np.repeat(starts[:-1], [len(graph.edges) for graph in graphs])
    edges = np.array([edge for graph in graphs for edge in graph.edges], dtype=int).reshape(-1, 2)
    one_way = edges + shifts[:, None]
    both_ways = np.concatenate([one_way, one_way[:, ::-1]])
    sources, targets = both_ways[np.argsort(both_ways[:, 0], kind="stable")].T
    return _JoinedGraphs(np.array(labels, dtype=int), starts, sources, targets)


def _refine_labels(labels: NDArray[np.int_], union: _JoinedGraphs) -> NDArray[np.int_]:
    """New labels, equal where a node's own label and those of its neighbours were equal."""
    reached = labels[union.targets]
    around = reached[np.lexsort((reached, union.sources))]
    ends = np.searchsorted(union.sources, np.arange(len(labels)), side="right").tolist()
    codes: dict[Hashable, int] = {}
    new = np.empty_like(labels)
    first = 0
    for v, (own, end) in enumerate(zip(labels.tolist(), ends, strict=True)):
        new[v] = codes.setdefault((own, around[first:end].tobytes()), len(codes))
        first = end
    return new
