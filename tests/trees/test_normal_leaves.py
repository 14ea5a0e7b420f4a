import numpy as np

from posterity.trees.forests.normal_leaves import NormalLeaves


def some(seed=0, n=300, n_leaves=20):
    rng = np.random.default_rng(seed)
    leaf = rng.integers(n_leaves - 1, size=n).astype(np.int32)  # the last stays empty
    return leaf, rng.normal(100.0, 2.0, size=(n, 2)), rng.integers(0, 4, size=n).astype(np.float64)


def assert_same(found, expected, **tolerance):
    for name in ("count", "mean", "square"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **tolerance)


def test_leaves_are_those_of_repeated_rows():
    leaf, y, w = some()
    leaves = NormalLeaves.from_rows(leaf, y, w, 20)
    for l in range(19):
        here = np.repeat(y[leaf == l], w[leaf == l].astype(int), axis=0)
        assert leaves.count[l] == len(here)
        np.testing.assert_allclose(leaves.mean[l], here.mean(axis=0))
        np.testing.assert_allclose(leaves.square[l], len(here) * here.var(axis=0))
    assert leaves.count[19] == 0.0
    assert not leaves.square[19].any()


def test_streams_add_up_to_one_count():
    whole = some()
    first, second = (
        NormalLeaves.from_rows(*(p[cut] for p in whole), 20) for cut in (slice(90), slice(90, None))
    )
    assert_same(first.add(second), NormalLeaves.from_rows(*whole, 20), rtol=1e-9, atol=1e-9)
    empty = NormalLeaves.from_rows(*(p[:0] for p in whole), 20)
    assert_same(empty.add(first), first, rtol=1e-14)


def test_a_leaf_without_a_row_is_the_leaf_of_the_others():
    leaf, y, w = some()
    leaves = NormalLeaves.from_rows(leaf, y, w, 20)
    rest = w.copy()
    rows = [np.flatnonzero((leaf == l) & (w > 0))[0] for l in range(19)]
    rest[rows] = 0.0
    some_leaves = leaves.take(np.arange(19, dtype=np.int32))
    found = some_leaves.remove_rows(y[rows], w[rows])
    expected = NormalLeaves.from_rows(leaf, y, rest, 20).take(np.arange(19, dtype=np.int32))
    assert_same(found, expected, rtol=1e-9, atol=1e-8)


def test_nothing_is_left_of_a_leaf_without_its_only_row():
    leaf, y = np.zeros(1, dtype=np.int32), np.array([[3.0]])
    rest = NormalLeaves.from_rows(leaf, y, np.ones(1), 1).remove_rows(y, np.ones(1))
    assert rest.count[0] == 0.0
    assert rest.square[0, 0] == 0.0


def test_only_empty_leaves_are_filled():
    leaf, y, w = some()
    filled = NormalLeaves.from_rows(leaf, y, w, 20).fill_empty(np.tile([1.0, 2.0], (20, 1)))
    assert filled.count[19] == 0.0
    assert filled.mean[19].tolist() == [1.0, 2.0]
    assert_same(filled.take([3]), NormalLeaves.from_rows(leaf, y, w, 20).take([3]))


def test_pooled_variance_is_unbiased_and_falls_back_on_the_overall_one():
    leaf, y, w = np.repeat(np.arange(500, dtype=np.int32), 4), None, np.ones(2000)
    y = np.random.default_rng(0).normal(0.0, 3.0, size=(2000, 1))
    pooled = NormalLeaves.from_rows(leaf, y, w, 500).pooled_variance(np.array([50.0]))
    np.testing.assert_allclose(pooled, 9.0, rtol=0.1)
    alone = NormalLeaves.from_rows(np.arange(2000, dtype=np.int32), y, w, 2000)
    assert alone.pooled_variance(np.array([50.0])) == 50.0
    copies = NormalLeaves.from_rows(np.arange(2000, dtype=np.int32), y, 2 * w, 2000)
    assert copies.pooled_variance(np.array([50.0])) == 50.0


def test_the_variance_of_a_constant_target_is_of_the_size_of_rounding():
    leaf = np.zeros(10, dtype=np.int32)
    for value in (0.0, 7.0):
        leaves = NormalLeaves.from_rows(leaf, np.full((10, 1), value), np.ones(10), 1)
        assert 0.0 < leaves.pooled_variance(np.zeros(1))[0] < 1e-28
