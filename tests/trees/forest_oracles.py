"""Trees written down by hand and walked one row at a time."""

import numpy as np

from posterity.trees.structure import Trees


def trees_of(roots, tests, thresholds, children, n_leaves):
    return Trees(
        np.array(roots, dtype=np.int32),
        np.array(tests, dtype=np.int32).reshape(-1, 1),
        np.array(thresholds, dtype=np.float64),
        np.array(children, dtype=np.int32).reshape(-1, 2),
        np.zeros(len(thresholds), dtype=np.float32),
        n_leaves,
    )


def random_tree(n_inner, edges, rng):
    """A tree of any shape, its thresholds among the edges of its columns."""
    children, leaves = np.full((n_inner, 2), -1), 0
    open_links = []
    for node in range(n_inner):
        if node:
            a, side = open_links.pop(rng.integers(len(open_links)))
            children[a, side] = node
        open_links += [(node, 0), (node, 1)]
    for a, side in open_links:
        children[a, side] = ~leaves
        leaves += 1
    columns = rng.integers(len(edges), size=n_inner)
    finite = [row[row < np.inf] for row in edges]
    thresholds = [rng.choice([*finite[d], np.inf]) for d in columns]
    return trees_of([0 if n_inner else -1], columns, thresholds, children, max(leaves, 1))


def walked(trees, answer):
    """The leaf of one row in each tree; answer(test) is what the row says."""
    leaves = []
    for root in trees.roots:
        node = root
        while node >= 0:
            value = answer(trees.tests[node])
            node = trees.children[node][0 if value <= trees.thresholds[node] else 1]
        leaves.append(~node)
    return leaves
