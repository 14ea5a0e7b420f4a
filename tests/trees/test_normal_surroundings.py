import numpy as np
from support.for_each import for_each

from posterity.trees.forests.normal_forest import TreePredictions
from posterity.trees.forests.normal_leaves import NormalLeaves, widen_small_leaves


def grown(seed=0, n_leaves=60):
    """Two random trees, whose nodes come before their children, and the parents of all nodes."""
    rng, parents = np.random.default_rng(seed), {}
    children, ends = [[0, 0], [0, 0]], [(i, side) for i in (0, 1) for side in (0, 1)]
    while len(ends) < n_leaves:
        i, side = ends.pop(rng.integers(len(ends)))
        children[i][side], parents[len(children)] = len(children), i
        ends += [(len(children), 0), (len(children), 1)]
        children.append([0, 0])
    for l, (i, side) in enumerate(ends):
        children[i][side], parents[~l] = ~l, i
    return np.array(children, dtype=np.int32), parents


def leaves_below(children, node):
    if node < 0:
        return [~node]
    return [l for child in children[node] for l in leaves_below(children, child)]


def rows(n=150, n_leaves=60, seed=1):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(n_leaves, size=n).astype(np.int32)
    return leaf, rng.normal(50.0, 2.0, size=(n, 2)), rng.integers(1, 3, size=n).astype(np.float64)


def test_leaves_take_the_rows_of_the_smallest_node_that_has_enough():
    (children, parents), (leaf, y, w) = grown(), rows()
    leaves = NormalLeaves.from_rows(leaf, y, w, 60)
    assert (leaves.count == 0.0).any()
    assert (leaves.count >= 5.0).any()
    wider = widen_small_leaves(leaves, children)
    for l in range(60):
        node = ~l
        while np.sum(w[np.isin(leaf, leaves_below(children, node))]) < 5.0:
            node = parents[node]
        here = np.isin(leaf, leaves_below(children, node))
        expected = NormalLeaves.from_rows(np.zeros(here.sum(), dtype=np.int32), y[here], w[here], 1)
        assert wider.count[l] == expected.count[0]
        np.testing.assert_allclose(wider.mean[l], expected.mean[0], rtol=1e-12)
        np.testing.assert_allclose(wider.square[l], expected.square[0], rtol=1e-9)


def test_the_leaves_themselves_stay_as_they_are():
    children, _ = grown()
    leaves = NormalLeaves.from_rows(*rows(), 60)
    before = leaves.count.copy(), leaves.mean.copy(), leaves.square.copy()
    widen_small_leaves(leaves, children)
    for part, old in zip((leaves.count, leaves.mean, leaves.square), before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_filling_empty_leaves_changes_nothing_around_them():
    children, _ = grown()
    leaves = NormalLeaves.from_rows(*rows(), 60)
    wider = widen_small_leaves(leaves, children)
    again = widen_small_leaves(leaves.fill_empty(wider.mean), children)
    np.testing.assert_array_equal(wider.square, again.square)


def test_a_tree_of_one_leaf_and_one_of_few_rows_keep_what_they_have():
    leaves = NormalLeaves.from_rows(
        np.zeros(3, dtype=np.int32), np.arange(3.0)[:, None], np.ones(3), 1
    )
    assert widen_small_leaves(leaves, np.empty((0, 2), dtype=np.int32)).count.tolist() == [3.0]
    pair = NormalLeaves.from_rows(
        np.array([0, 0, 1], dtype=np.int32), np.eye(3)[:, :1], np.ones(3), 2
    )
    assert widen_small_leaves(pair, np.array([[~0, ~1]], dtype=np.int32)).count.tolist() == [
        3.0,
        3.0,
    ]


@for_each("own", [0.0, 1.0])
def test_members_have_the_mean_of_the_leaf_and_the_spread_around_it(own):
    (children, _), (leaf, y, w) = grown(), rows()
    leaves = NormalLeaves.from_rows(leaf, y, w, 60)
    wider = widen_small_leaves(leaves, children)
    members = TreePredictions.from_leaves(leaves, wider, leaf[None, :], y, w, own * w, np.ones(2))
    near = wider.take(leaf).remove_rows(y, own * w)
    np.testing.assert_allclose(members.leaves.count[0], near.count)
    np.testing.assert_allclose(members.leaves.square[0], near.square)
    assert members.used.all()
    alone = 0
    for i in range(150):
        rest = np.where(np.arange(150) == i, (1.0 - own) * w, w)
        mine = NormalLeaves.from_rows(leaf, y, rest, 60).take(leaf[[i]])
        alone += mine.count[0] == 0.0
        expected = mine.mean[0] if mine.count[0] > 0.0 else near.mean[i]
        np.testing.assert_allclose(members.leaves.mean[0, i], expected, rtol=1e-9)
    assert alone == own * np.sum(np.bincount(leaf) == 1)
