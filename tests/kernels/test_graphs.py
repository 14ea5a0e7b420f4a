"""Graph kernels count what the graphs share, however their nodes are numbered."""

from collections import Counter

import numpy as np
import pytest
from support.for_each import for_each

from posterity.kernels.graphs import Graph, ShortestPath, WeisfeilerLehman

KERNELS = [WeisfeilerLehman(2), ShortestPath()]


def random_graph(rng, n, labels="CNO"):
    pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 2.0 / n]
    return Graph("".join(rng.choice(list(labels), size=n)), pairs)


@pytest.fixture(scope="module")
def graphs():
    rng = np.random.default_rng(1)
    return [random_graph(rng, n) for n in (1, 2, 3, 5, 8, 9, 12, 12)]


def neighbourhood(graph, node, depth):
    """The tree of walks from a node, in full: what a refined label stands for."""
    if depth == 0:
        return (graph.labels[node],)
    others = [b if a == node else a for a, b in graph.edges if node in (a, b)]
    below = sorted(neighbourhood(graph, other, depth - 1) for other in others)
    return neighbourhood(graph, node, depth - 1), tuple(below)


def walk_trees(graph, iterations):
    depths, nodes = range(iterations + 1), range(len(graph.labels))
    return Counter(repr((h, neighbourhood(graph, v, h))) for h in depths for v in nodes)


def floyd_warshall(graph):
    n = len(graph.labels)
    D = [[0 if i == j else np.inf for j in range(n)] for i in range(n)]
    for i, j in graph.edges:
        D[i][j] = D[j][i] = 1
    for k in range(n):
        D = [[min(D[i][j], D[i][k] + D[k][j]) for j in range(n)] for i in range(n)]
    return D


def labelled_paths(graph):
    D, labels = floyd_warshall(graph), graph.labels
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    joined = [(i, j) for i, j in pairs if D[i][j] < np.inf]
    return Counter((labels[i], labels[j], D[i][j]) for i, j in joined)


def products(bags):
    return np.array([[sum(n * b[f] for f, n in a.items()) for b in bags] for a in bags])


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_weisfeiler_lehman_compares_trees_of_walks(graphs, iterations):
    expected = products([walk_trees(graph, iterations) for graph in graphs])
    K = WeisfeilerLehman(iterations, normalize=False)(graphs)
    np.testing.assert_array_equal(K, expected)


def test_weisfeiler_lehman_has_the_value_of_shervashidze_and_others():
    G = Graph([1, 1, 2, 3, 4, 5], [(0, 4), (1, 4), (2, 3), (2, 5), (3, 4), (3, 5), (4, 5)])
    H = Graph([1, 2, 2, 3, 4, 5], [(0, 4), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)])
    K = WeisfeilerLehman(1, normalize=False)([G, H])
    assert K[0, 1] == 11.0  # (2, 1, 1, 1, 1, 2, 0, 1, 0, 1, 1, 0, 1) with
    assert K[0, 0] == 16.0  # (1, 2, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1)
    assert K[1, 1] == 14.0
    assert WeisfeilerLehman(0, normalize=False)([G, H])[0, 1] == 7.0


def test_shortest_path_counts_labelled_distances(graphs):
    expected = products([labelled_paths(graph) for graph in graphs])
    np.testing.assert_array_equal(ShortestPath(normalize=False)(graphs), expected)


def test_shortest_path_of_a_cycle_is_the_shorter_way_round():
    hexagon = Graph.without_labels(6, [(i, (i + 1) % 6) for i in range(6)])
    assert ShortestPath(normalize=False)([hexagon]) == [[12**2 + 12**2 + 6**2]]


def test_shortest_path_of_water_is_that_of_other_libraries():
    water = Graph("OHH", [(0, 1), (0, 2)])
    hydronium = Graph("OHHH", [(0, 1), (0, 2), (0, 3)])
    K = ShortestPath(normalize=False)([water, hydronium])  # GraKeL's introduction
    np.testing.assert_array_equal(K[0], [12.0, 24.0])
    assert ShortestPath()([water, hydronium])[0, 1] == pytest.approx(0.94280904, abs=1e-8)


def test_unreachable_pairs_share_nothing():
    apart = Graph("CC")
    pair = Graph("CC", [(0, 1)])
    np.testing.assert_array_equal(ShortestPath(normalize=False)([apart, pair]), [[0, 0], [0, 4]])


@pytest.mark.parametrize("kernel", KERNELS)
def test_numbering_of_nodes_does_not_matter(graphs, kernel):
    rng = np.random.default_rng(2)
    renumbered = []
    for graph in graphs:
        new = rng.permutation(len(graph.labels))
        labels = [graph.labels[i] for i in np.argsort(new)]
        renumbered.append(Graph(labels, [(new[i], new[j]) for i, j in reversed(graph.edges)]))
    np.testing.assert_array_equal(kernel(renumbered), kernel(graphs))
    np.testing.assert_array_equal(np.diag(kernel(graphs, renumbered)), 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_labels_matter_only_by_equality(graphs, kernel):
    names = {"C": ("six", 6), "N": 7, "O": None}
    renamed = [Graph([names[label] for label in g.labels], g.edges) for g in graphs]
    np.testing.assert_array_equal(kernel(renamed), kernel(graphs))
    np.testing.assert_array_equal(
        kernel([Graph("CN", [(0, 1)])], [Graph("NC", [(0, 1)]), Graph("XY", [(0, 1)])]), [[1, 0]]
    )


def test_graphs_are_values():
    one, other = Graph("CNO", [(2, 1), (0, 1)]), Graph(["C", "N", "O"], [(0, 1), (1, 2), (1, 0)])
    assert one == other
    assert hash(one) == hash(other)
    assert one.edges == ((0, 1), (1, 2))
    assert one != Graph("CNO", [(0, 1)])


def test_graphs_are_made_of_arrays():
    graph = Graph(np.array([6, 7], dtype=np.int8), np.array([[1, 0], [0, 1]], dtype=np.int32))
    assert graph == Graph((6, 7), ((0, 1),))
    assert repr(graph) == "Graph(labels=(6, 7), edges=((0, 1),))"
    assert Graph.without_labels(np.int64(2)) == Graph([0, 0])


@for_each(
    ("labels", "edges", "sentence"),
    [
        ("CC", [(0, 1), (0, 2)], "edge 1 joins nodes 0 and 2, but the graph has 2 nodes"),
        ("CC", [(-1, 0)], "edge 0 joins nodes -1 and 0, but the graph has 2 nodes"),
        ("CC", [(1, 1)], "edge 0 joins node 1 with itself; leave loops out"),
        ("CC", [(0, 1, 2)], r"edge 0 is \(0, 1, 2\); an edge is two node numbers"),
        ("CC", [(0.0, 1.0)], r"edge 0 is \(0.0, 1.0\); an edge is two node numbers"),
        ("CC", [0, 1], "edge 0 is 0; an edge is two node numbers"),
        (3, [(0, 1)], r"labels=3 is a number; .* write Graph.without_labels\(3, edges\)"),
        ([[1], [2]], [], "the label of node 0 is a list, which cannot be compared"),
        ([1, (2, [3])], [], "the label of node 1 is a tuple, which cannot be compared"),
    ],
)
def test_malformed_graphs_are_refused(labels, edges, sentence):
    with pytest.raises(ValueError, match=sentence):
        Graph(labels, edges)


@for_each("n_nodes", [-1, 2.0, "3"])
def test_a_number_of_nodes_is_whole(n_nodes):
    with pytest.raises(ValueError, match="must be a whole number, zero or more"):
        Graph.without_labels(n_nodes)


@for_each("iterations", [-1, 2.0, None])
def test_a_number_of_iterations_is_whole(iterations):
    with pytest.raises(ValueError, match="must be a whole number, 0 or more"):
        WeisfeilerLehman(iterations)


@for_each("kernel", KERNELS)
def test_rows_that_are_no_graphs_are_named(kernel):
    name = type(kernel).__name__
    with pytest.raises(ValueError, match=rf"^row 1 is a tuple; {name} compares graphs \("):
        kernel([Graph("C"), ("C", [])])
    with pytest.raises(ValueError, match=rf"^X is a Graph; {name} takes a list of graphs \("):
        kernel(Graph("C"))
