import numpy as np
import pytest

from posterity.trees.forests.class_leaves import ClassLeaves, LeafTables


def some(seed=0, n=500, n_leaves=40, n_classes=6):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(n_leaves, size=n).astype(np.int32)
    target = (rng.integers(n_classes, size=n) * (leaf % 3 > 0)).astype(np.int32)
    return leaf, target, rng.integers(0, 4, size=n).astype(np.float64)


def brute(leaf, target, weights, n_leaves=40, n_classes=6):
    table = np.zeros((n_leaves, n_classes))
    np.add.at(table, (leaf, target), weights)
    return table


def test_counts_are_those_of_a_dense_table():
    data = some()
    leaves = ClassLeaves.from_rows(*data, 40, 6)
    np.testing.assert_array_equal(leaves.dense(), brute(*data))
    np.testing.assert_array_equal(leaves.totals(), brute(*data).sum(axis=1))
    assert (leaves.counts > 0).all()
    by_leaf = np.split(leaves.classes.astype(int), leaves.start()[1:-1])
    assert all(np.all(np.diff(classes) > 0) for classes in by_leaf)


def test_streams_add_up_to_one_count():
    whole, cut = some(), 200
    first = ClassLeaves.from_rows(*(part[:cut] for part in whole), 40, 6)
    second = ClassLeaves.from_rows(*(part[cut:] for part in whole), 40, 6)
    expected, found = ClassLeaves.from_rows(*whole, 40, 6), first.add(second)
    for name in ("sizes", "classes", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_leaves_of_several_trees_are_numbered_through():
    parts = [ClassLeaves.from_rows(*some(seed), 40, 6) for seed in range(3)]
    expected = np.concatenate([part.dense() for part in parts])
    np.testing.assert_array_equal(ClassLeaves.join(parts).dense(), expected)


def test_counts_take_the_smallest_type_that_holds_them():
    def kind(weight, target=0):
        one = np.zeros(1, dtype=np.int32)
        return ClassLeaves.from_rows(one, one + target, np.array([weight]), 1, 70_000)

    kinds = [kind(w).counts.dtype for w in (255.0, 256.0, 70_000.0, 0.5, 1e12)]
    assert kinds == [np.uint8, np.uint16, np.uint32, np.float64, np.float64]
    assert [kind(1.0, c).classes.dtype for c in (255, 256, 65_536)] == [
        np.uint8,
        np.uint16,
        np.uint32,
    ]


@pytest.fixture(params=[1.0, 2.5], ids=["plain", "sharpened"])
def sharpness(request):
    return request.param


def test_average_is_the_mean_of_smoothed_leaves(sharpness):
    rng = np.random.default_rng(1)
    leaves, base, s = ClassLeaves.from_rows(*some(), 41, 6), rng.dirichlet(np.ones(6)), 0.7
    found = rng.integers(41, size=(9, 30)).astype(np.int32)  # leaf 40 is empty
    log_p = np.empty((30, 6))
    epistemic = LeafTables.from_leaves(leaves, base, s).log_average(found, sharpness, log_p)
    counts = leaves.dense()
    each = (counts + s * base) / (counts.sum(axis=1, keepdims=True) + s)
    mean = each[found].mean(axis=0)
    expected = mean**sharpness / np.sum(mean**sharpness, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)

    def entropy(p):
        return -np.sum(p * np.log(p), axis=-1)

    within = entropy(each[found]).mean(axis=0)
    np.testing.assert_allclose(epistemic, 1.0 - within / entropy(mean), rtol=1e-10, atol=1e-12)


def test_one_tree_does_not_disagree_with_itself():
    leaves, found = ClassLeaves.from_rows(*some(), 40, 6), np.arange(40, dtype=np.int32)[None]
    log_p = np.empty((40, 6))
    epistemic = LeafTables.from_leaves(leaves, np.full(6, 1 / 6), 1.0).log_average(
        found, 1.0, log_p
    )
    np.testing.assert_allclose(epistemic, 0.0, atol=1e-12)
