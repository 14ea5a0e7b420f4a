"""Growing trees for boosting, beside a search through all cuts in plain NumPy."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.trees.boosting import member, screens
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.screens import CodeBlocks
from posterity.trees.boosting.tree_records import TreeRules, sum_by_leaf

PRECISION = 0.7


def problem(n=400, n_tests=7, n_outputs=1, seed=0):
    """Codes, slopes and curvatures on a grid, so that sums are exact and ties cannot differ."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 12, size=(n_tests, n)).astype(np.uint8)
    codes[0] = rng.integers(0, 2, size=n)
    signal = (codes[1] > 5) * 1.0 - (codes[2] > 3) * (codes[3] > 7) * 2.0 + 0.5 * codes[0]
    slopes = np.round((signal[:, None] + rng.normal(size=(n, n_outputs))) * 64) / 64
    curvatures = rng.integers(1, 32, size=(n, n_outputs)) / 64
    weights = rng.integers(0, 4, size=n) / 2
    return codes, slopes, curvatures, weights


def worth(slopes, curvatures, weights, rows):
    """Half of G^2 / H of some rows, all outputs together."""
    G = weights[rows] @ slopes[rows]
    H = weights[rows] @ curvatures[rows] + PRECISION
    return 0.5 * float(np.sum(G**2 / H))


def cuts_of(codes):
    return [(j, c) for j in range(len(codes)) for c in range(int(codes[j].max()))]


def grow_by_hand(codes, slopes, curvatures, weights, depth):
    """Tests and codes of an oblivious tree, with all cuts of all levels tried."""
    nodes, levels = [np.ones(codes.shape[1], bool)], []
    for _ in range(depth):
        gains = []
        for j, c in cuts_of(codes):
            right = codes[j] > c
            parts = [side for rows in nodes for side in (rows & ~right, rows & right)]
            gains.append(sum(worth(slopes, curvatures, weights, rows) for rows in parts))
        j, c = cuts_of(codes)[int(np.argmax(gains))]
        before = sum(worth(slopes, curvatures, weights, rows) for rows in nodes)
        levels.append((j, c, max(gains) - before))
        right = codes[j] > c
        nodes = [side for rows in nodes for side in (rows & ~right, rows & right)]
    return levels


def split_by_hand(codes, slopes, curvatures, weights, rows, least):
    """Gain, test and code of the best cut of one node."""
    best = (0.0, -1, -1)
    for j, c in cuts_of(codes):
        left, right = rows & (codes[j] <= c), rows & (codes[j] > c)
        if min(weights[left].sum(), weights[right].sum()) < least:
            continue
        gain = (
            worth(slopes, curvatures, weights, left)
            + worth(slopes, curvatures, weights, right)
            - worth(slopes, curvatures, weights, rows)
        )
        if gain > best[0] + 1e-9:
            best = (gain, j, c)
    return best


def grow(codes, slopes, curvatures, weights, n_jobs=None, tests=None, seed=0, **rules):
    rules = TreeRules(prior_precision=PRECISION, **rules)
    with Grower.open(codes, n_jobs) as grower:
        rng = np.random.default_rng(seed)
        return grower.grow(slopes, curvatures, weights, rules, rng, tests)


@for_each("n_outputs", [1, 3])
def test_an_oblivious_tree_has_the_best_cut_at_every_level(n_outputs):
    parts = problem(n_outputs=n_outputs)
    tree = grow(*parts, max_depth=4)
    levels = grow_by_hand(*parts, depth=4)
    assert list(zip(tree.tests, tree.codes, strict=True)) == [(j, c) for j, c, _ in levels]
    np.testing.assert_allclose(tree.gains, [gain for *_, gain in levels], rtol=1e-6)
    bits = [parts[0][j] > c for j, c, _ in levels]
    np.testing.assert_array_equal(tree.leaves, sum(b << d for d, b in enumerate(bits)))
    assert tree.n_leaves == 16


@for_each("growth", ["level", "leaf"])
def test_nodes_are_split_where_it_gains_most(growth):
    parts = problem(n_outputs=2)
    tree = grow(*parts, growth=growth, max_depth=7, max_leaf_nodes=7, min_samples_leaf=20.0)
    assert tree.n_leaves == 7
    rows_of = {0: np.ones(400, bool)}
    best = {0: split_by_hand(*parts, rows_of[0], 20.0)}
    for node, children in enumerate(tree.children):
        gain, test, code = best.pop(node)
        assert (tree.tests[node], tree.codes[node]) == (test, code)
        np.testing.assert_allclose(tree.gains[node], gain, rtol=1e-6)
        if growth == "leaf":
            assert gain >= max((other[0] for other in best.values()), default=0.0)
        on_right = parts[0][test] > code
        for child, side in zip(children.tolist(), (~on_right, on_right), strict=True):
            rows_of[child] = rows_of[node] & side
            best[child] = split_by_hand(*parts, rows_of[child], 20.0)
    for leaf in range(7):
        np.testing.assert_array_equal(tree.leaves == leaf, rows_of[~leaf])


@for_each("growth", ["oblivious", "level", "leaf"])
def test_threads_subtraction_and_order_of_rows_change_nothing(growth):
    codes, slopes, curvatures, weights = problem(n_tests=9)
    rules = {"growth": growth, "max_depth": 5, "random_strength": 1.0}
    one = grow(codes, slopes, curvatures, weights, 1, **rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screens, "_WORTH_A_THREAD", 1)
        two = grow(codes, slopes, curvatures, weights, 2, **rules)
        patch.setattr(screens, "_MOST_SUMS", 1)
        alone = grow(codes, slopes, curvatures, weights, 1, **rules)
    order = np.random.default_rng(1).permutation(400)
    other = grow(codes[:, order], slopes[order], curvatures[order], weights[order], 1, **rules)
    for tree in (two, alone, other):
        np.testing.assert_array_equal(tree.tests, one.tests)
        np.testing.assert_array_equal(tree.codes, one.codes)
        np.testing.assert_array_equal(tree.gains, one.gains)
    np.testing.assert_array_equal(other.leaves, one.leaves[order])
    np.testing.assert_array_equal(two.leaves, one.leaves)


def test_rows_without_weight_get_a_leaf_and_nothing_else():
    codes, slopes, curvatures, weights = problem()
    tree = grow(codes, slopes, curvatures, weights, max_depth=3)
    changed = np.where(weights[:, None] > 0.0, slopes, 1e6)
    again = grow(codes, changed, curvatures, weights, max_depth=3)
    np.testing.assert_array_equal(tree.leaves, again.leaves)
    repeated = np.repeat(np.arange(400), (2 * weights).astype(int))
    twice = [x[repeated] for x in (slopes, curvatures)]
    by_copy = grow(codes[:, repeated], *twice, np.full(len(repeated), 0.5), max_depth=3)
    np.testing.assert_array_equal(by_copy.tests, tree.tests)


def test_only_tests_that_are_asked_for_are_tried_and_scores_can_be_random():
    parts = problem()
    some = np.array([5, 0, 4])
    assert set(grow(*parts, tests=some, max_depth=3).tests) <= {0, 4, 5}
    chosen = {
        int(grow(*parts, seed=s, max_depth=1, random_strength=50.0).tests[0]) for s in range(40)
    }
    assert len(chosen) == 7
    assert {int(grow(*parts, seed=s, max_depth=1).tests[0]) for s in range(5)} == {3}


def test_a_level_leaves_enough_rows_on_both_sides():
    parts = problem()
    tree = grow(*parts, max_depth=3, min_samples_leaf=150.0)
    for j, c in zip(tree.tests, tree.codes, strict=True):
        assert 150 <= np.sum(parts[0][j] <= c) <= 250


@for_each("growth", ["oblivious", "level", "leaf"])
@for_each("sign", [1, -1])
def test_bounded_values_are_monotone(growth, sign):
    codes, slopes, curvatures, weights = problem(seed=3)
    monotonic = np.zeros(7, dtype=np.int8)
    monotonic[1:4] = sign
    tree = grow(
        codes, sign * slopes, curvatures, weights, growth=growth, max_depth=5, monotonic=monotonic
    )
    assert set(tree.tests) & {1, 2, 3}
    values = tree.bound_values(np.random.default_rng(0).normal(size=(tree.n_leaves, 1)))
    answers = np.random.default_rng(1).integers(0, 12, size=(200, 7))
    for test in (1, 2, 3):
        rows = np.repeat(answers[:, None], 12, axis=1)
        rows[:, :, test] = np.arange(12)
        found = values[go_down(tree, rows.reshape(-1, 7)), 0].reshape(200, 12)
        assert np.all(sign * np.diff(found, axis=1) >= 0.0)


def go_down(tree, rows):
    if tree.children is None:
        bits = [rows[:, j] > c for j, c in zip(tree.tests, tree.codes, strict=True)]
        return sum(b.astype(int) << d for d, b in enumerate(bits))
    found = []
    for row in rows:
        node = 0
        while node >= 0:
            node = tree.children[node, int(row[tree.tests[node]] > tree.codes[node])]
        found.append(~node)
    return np.array(found)


def test_sums_by_leaf_are_weighted():
    codes, slopes, curvatures, weights = problem(n_outputs=2)
    tree = grow(codes, slopes, curvatures, weights, max_depth=2)
    sums = sum_by_leaf(tree.leaves, slopes, weights, tree.n_leaves)
    expected = [weights[tree.leaves == k] @ slopes[tree.leaves == k] for k in range(4)]
    np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_a_tree_of_constant_tests_or_without_rows_is_one_leaf():
    codes = np.zeros((3, 5), dtype=np.uint8)
    slopes, curvatures = np.ones((5, 1)), np.ones((5, 1))
    for growth in ("oblivious", "leaf"):
        for weights in (np.ones(5), np.zeros(5)):
            tree = grow(codes, slopes, curvatures, weights, growth=growth)
            assert tree.n_leaves == 1
            np.testing.assert_array_equal(tree.leaves, np.zeros(5))


@for_each("rules", [{"growth": "any"}, {"max_depth": 20}, {"prior_precision": 0.0}])
def test_rules_that_cannot_be_followed_are_refused(rules):
    with pytest.raises(ValueError, match=r"must be|at most"):
        TreeRules(**rules)


def test_a_sketch_of_outputs_estimates_what_all_of_them_gain():
    rng = np.random.default_rng(0)
    slopes, curvatures = rng.normal(size=(50, 6)) + 0.5, np.tile(rng.random(6) + 0.1, (50, 1))
    exact = np.sum(slopes.sum(axis=0) ** 2 / curvatures.sum(axis=0))
    found = []
    for _ in range(4000):
        g, h = member.sketch_outputs(slopes, curvatures, np.ones(50), np.arange(6), 2, rng)
        found.append(np.sum(g.sum(axis=0) ** 2 / h.sum(axis=0)))
    np.testing.assert_allclose(np.mean(found), exact, rtol=0.05)


def test_tests_that_share_a_column_are_read_as_if_they_had_their_own():
    rng = np.random.default_rng(0)
    codes, slopes, curvatures, weights = problem(n=3000, n_tests=9, seed=1)
    codes[4:] %= np.array([2, 2, 3, 2, 2], dtype=np.uint8)[:, None]
    slopes += codes[6][:, None] * (codes[7] == 1)[:, None]
    assert CodeBlocks.from_codes(codes).column.max() == 4
    for rules in ({}, {"growth": "leaf"}, {"growth": "level", "min_samples_leaf": 100.0}):
        for tests in (None, rng.permutation(9)[:5]):
            shared = grow(codes, slopes, curvatures, weights, tests=tests, max_depth=4, **rules)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(screens, "_ROWS_A_CODE", 10**6)
                alone = grow(codes, slopes, curvatures, weights, tests=tests, max_depth=4, **rules)
            np.testing.assert_array_equal(shared.leaves, alone.leaves)
            np.testing.assert_array_equal(shared.gains, alone.gains)


def test_the_order_of_outputs_follows_their_slopes_and_not_their_places():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, (3, 40)).astype(np.uint8)
    slopes, w = rng.normal(size=(40, 5)), rng.integers(0, 3, 40)
    order, names = member.order_outputs(codes, slopes, w), rng.permutation(5)
    renamed = member.order_outputs(codes, slopes[:, names], w)
    np.testing.assert_array_equal(names[renamed], order)
    rows = rng.permutation(np.repeat(np.arange(40), w))
    repeated = member.order_outputs(codes[:, rows], slopes[rows], np.ones(len(rows)))
    np.testing.assert_array_equal(repeated, order)
