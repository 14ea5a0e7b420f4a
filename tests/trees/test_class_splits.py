"""The best split by the likelihood of classes, beside a search that tries all of them."""

import itertools

import numpy as np
import pytest
import tree_oracles
from scipy.special import gammaln
from support.for_each import for_each

from posterity.trees.growth import partition
from posterity.trees.growth.class_terms import ClassCriterion

N_CLASSES = 50


def _problem(rng, sizes, n_classes, n_codes, *, whole=True, missing=0.1):
    m = sum(sizes)
    start = np.concatenate([[0], np.cumsum(sizes)])
    codes = rng.integers(n_codes, size=(4, m)).astype(np.uint8)
    codes[:, rng.random(m) < missing] = 255
    target = rng.integers(n_classes, size=m).astype(np.int32)
    weights = rng.integers(1, 4, size=m).astype(float) if whole else rng.uniform(0.1, 3.0, m)
    return codes, target, weights, start


def _found(problem, min_samples_leaf):
    codes, target, weights, start = problem
    search = ClassCriterion(N_CLASSES).start_search(target, weights)
    return search.split_nodes(codes, target, weights, start, min_samples_leaf)


@for_each("whole", [True, False])
@for_each("min_samples_leaf", [0.0, 1.0, 5.0])
@for_each("missing", [0.0, 0.1])
@for_each(("n_classes", "n_codes"), [(2, 2), (7, 2), (3, 250), (7, 6), (50, 30)])
def test_the_split_of_each_node_is_the_best_of_all(
    n_classes, n_codes, min_samples_leaf, whole, missing
):
    rng = np.random.default_rng(n_classes)
    sizes = [2, 3, 9, 20, 30, 80, 400]
    problem = _problem(rng, sizes, n_classes, n_codes, whole=whole, missing=missing)
    splits = _found(problem, min_samples_leaf)
    for a, (s, e) in enumerate(itertools.pairwise(problem[3])):
        codes, target, weights = problem[0][:, s:e], problem[1][s:e], problem[2][s:e]

        def value(mask, target=target, weights=weights):
            return tree_oracles.class_log_likelihood(target[mask], weights[mask], N_CLASSES)

        if len(set(target)) == 1 or weights.sum() < 2 * min_samples_leaf:
            assert splits.test[a] == partition.CLOSED
            continue
        (k, c), best = tree_oracles.best_split(codes, min_samples_leaf, weights, value)
        assert splits.test[a] == k
        if k >= 0:
            assert splits.code[a] == c
            assert splits.gain[a] == pytest.approx(best - value(slice(None)), abs=1e-8)
            for side, mask in enumerate((codes[k] <= c, codes[k] > c)):
                can = len(set(target[mask])) > 1 and weights[mask].sum() >= 2 * min_samples_leaf
                assert splits.is_open[a, side] == can


def test_a_node_without_a_split_says_whether_others_could_find_one():
    codes = np.zeros((2, 6), dtype=np.uint8)
    target = np.array([0, 1, 0, 0, 0, 0], dtype=np.int32)
    splits = _found((codes, target, np.ones(6), np.array([0, 3, 6])), 1.0)
    assert splits.test.tolist() == [partition.NONE, partition.CLOSED]


def test_equal_splits_give_the_first_test_and_the_lowest_code():
    codes = np.array([[0, 1, 2, 3], [0, 0, 1, 1]], dtype=np.uint8)
    target = np.array([0, 1, 0, 1], dtype=np.int32)
    splits = _found((codes[::-1].copy(), target, np.ones(4), np.array([0, 4])), 2.0)
    assert (splits.test[0], splits.code[0]) == (0, 0)
    splits = _found((codes, target, np.ones(4), np.array([0, 4])), 1.0)
    assert (splits.test[0], splits.code[0]) == (0, 0)


def test_a_split_that_gains_nothing_is_taken():
    """So that what needs two tests at once is found."""
    codes = np.array([[0, 0, 1, 1]], dtype=np.uint8)
    splits = _found((codes, np.array([0, 1, 1, 0], np.int32), np.ones(4), np.array([0, 4])), 1.0)
    assert splits.test[0] == 0
    assert splits.gain[0] == 0.0
    assert splits.is_open.all()


def test_a_weight_is_as_good_as_repeated_rows():
    rng = np.random.default_rng(5)
    codes, target, weights, start = _problem(rng, [10, 40, 300], 5, 40)
    times = weights.astype(int)
    ends = np.concatenate(
        [[0], np.cumsum([times[s:e].sum() for s, e in itertools.pairwise(start)])]
    )
    one = _found((codes, target, weights, start), 3.0)
    many = _found(
        (np.repeat(codes, times, axis=1), np.repeat(target, times), np.ones(times.sum()), ends), 3.0
    )
    assert np.array_equal(one.test, many.test)
    assert np.array_equal(one.code, many.code)
    assert np.allclose(one.gain, many.gain, rtol=1e-12)


@for_each("scale", [1.0, 1e5, 0.37])
def test_weights_beyond_the_table_and_between_whole_numbers_find_the_same(scale):
    rng = np.random.default_rng(6)
    codes, target, weights, start = _problem(rng, [200, 20], 5, 40)
    one = _found((codes, target, weights, start), 1.0)
    scaled = _found((codes, target, scale * weights, start), scale)
    assert np.array_equal(one.test, scaled.test)
    assert np.array_equal(one.code, scaled.code)
    assert np.allclose(scale * one.gain, scaled.gain, rtol=1e-9)


@for_each("whole", [True, False])
@for_each(("n_classes", "min_samples_leaf"), [(2, 1.0), (5, 30.0), (50, 1.0)])
def test_the_split_of_a_level_is_the_best_for_all_nodes_together(
    n_classes, min_samples_leaf, whole
):
    rng = np.random.default_rng(n_classes)
    codes, target, weights, start = _problem(rng, [1, 5, 30, 90], n_classes, 20, whole=whole)
    node = np.repeat(np.arange(4), np.diff(start))

    def value(mask):
        return sum(
            tree_oracles.class_log_likelihood(
                target[mask & (node == a)], weights[mask & (node == a)], N_CLASSES
            )
            for a in range(4)
        )

    search = ClassCriterion(N_CLASSES).start_search(target, weights)
    split = search.split_level(codes, target, weights, start, min_samples_leaf)
    chosen, best = tree_oracles.best_split(codes, min_samples_leaf, weights, value)
    assert (split.test, split.code) == chosen
    assert split.gain == pytest.approx(best - value(np.full(len(target), True)), abs=1e-8)


def test_a_level_of_pure_nodes_is_closed_and_one_of_equal_rows_has_no_split():
    codes = np.zeros((1, 4), dtype=np.uint8)
    target = np.array([0, 0, 1, 1], dtype=np.int32)
    search = ClassCriterion(2).start_search(target, np.ones(4))
    pure = search.split_level(codes, target, np.ones(4), np.array([0, 2, 4]), 1.0)
    assert pure.test == partition.CLOSED
    assert (
        search.split_level(codes, target, np.ones(4), np.array([0, 4]), 1.0).test == partition.NONE
    )


def _evidence(target, weights, prior_weight):
    """Log-probability of the classes in their order, with a symmetric Dirichlet integrated out."""
    a = np.full(N_CLASSES, prior_weight / N_CLASSES)
    n = np.bincount(target, weights=weights, minlength=N_CLASSES)
    return float(np.sum(gammaln(a + n) - gammaln(a)) - gammaln(np.sum(a + n)) + gammaln(a.sum()))


@for_each("whole", [True, False])
@for_each("prior_weight", [0.3, 1.0, 20.0])
@for_each(("n_classes", "n_codes"), [(2, 2), (3, 250), (7, 6)])
def test_with_a_prior_the_split_gains_most_evidence(n_classes, n_codes, prior_weight, whole):
    rng = np.random.default_rng(n_classes)
    problem = _problem(rng, [3, 9, 30, 80, 400], n_classes, n_codes, whole=whole, missing=0.0)
    codes, target, weights, start = problem
    search = ClassCriterion(N_CLASSES, prior_weight).start_search(target, weights)
    splits = search.split_nodes(codes, target, weights, start, 1.0)
    for a, (s, e) in enumerate(itertools.pairwise(start)):
        if splits.test[a] < 0:
            continue

        def value(mask, own=slice(s, e)):
            return _evidence(target[own][mask], weights[own][mask], prior_weight)

        _, best = tree_oracles.best_split(codes[:, s:e], 1.0, weights[s:e], value)
        left = codes[splits.test[a], s:e] <= splits.code[a]
        assert value(left) + value(~left) == pytest.approx(best, abs=1e-8)
        whole_node = value(np.full(e - s, True))
        assert splits.gain[a] == pytest.approx(best - whole_node, abs=1e-8)


def test_a_level_with_a_prior_gains_most_evidence():
    rng = np.random.default_rng(0)
    codes, target, weights, start = _problem(rng, [5, 30, 90], 4, 20)
    node = np.repeat(np.arange(3), np.diff(start))

    def value(mask):
        own = [mask & (node == a) for a in range(3)]
        return sum(_evidence(target[m], weights[m], 1.0) for m in own)

    split = (
        ClassCriterion(N_CLASSES, 1.0)
        .start_search(target, weights)
        .split_level(codes, target, weights, start, 1.0)
    )
    chosen, best = tree_oracles.best_split(codes, 1.0, weights, value)
    assert (split.test, split.code) == chosen
    assert split.gain == pytest.approx(best - value(np.full(len(target), True)), abs=1e-8)
