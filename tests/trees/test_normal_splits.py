"""The best split by the likelihood of normal leaves, beside a search that tries all of them."""

import itertools

import numpy as np
import pytest
import tree_oracles
from scipy import stats
from support.for_each import for_each

from posterity.trees.growth import partition
from posterity.trees.growth.normal_terms import NormalCriterion

CRITERIA = [NormalCriterion(own_variance=False), NormalCriterion(prior_weight=2.0)]


def _problem(rng, sizes, n_outputs=2, n_codes=30):
    m = sum(sizes)
    codes = rng.integers(n_codes, size=(3, m)).astype(np.uint8)
    codes[:, rng.random(m) < 0.1] = 255
    target = 1e3 + rng.normal(size=(m, n_outputs)) * [3.0, 0.1][:n_outputs]
    target += codes[0][:, None] / 20.0
    return codes, target, rng.uniform(0.5, 3.0, m), np.concatenate([[0], np.cumsum(sizes)])


def _log_likelihood(criterion, root, target, weights):
    """Of normal leaves, by the densities of SciPy."""
    if not len(target):
        return 0.0
    mean = np.average(target, axis=0, weights=weights)
    SS = weights @ (target - mean) ** 2
    own = (SS + criterion.prior_weight * root) / (weights.sum() + criterion.prior_weight)
    v = own if criterion.own_variance else root
    return float(np.sum(weights @ stats.norm.logpdf(target, mean, np.sqrt(v))))


def _root(target, weights):
    mean = np.average(target, axis=0, weights=weights)
    return np.average((target - mean) ** 2, axis=0, weights=weights)


@for_each("criterion", CRITERIA)
@for_each("min_samples_leaf", [1.0, 5.0])
def test_the_split_of_each_node_is_the_best_of_all(criterion, min_samples_leaf):
    rng = np.random.default_rng(3)
    codes, target, weights, start = _problem(rng, [2, 8, 30, 120])
    search = criterion.start_search(target, weights)
    splits = search.split_nodes(codes, target, weights, start, min_samples_leaf)
    root = _root(target, weights)
    for a, (s, e) in enumerate(itertools.pairwise(start)):
        Y, w = target[s:e], weights[s:e]

        def value(mask, Y=Y, w=w):
            return _log_likelihood(criterion, root, Y[mask], w[mask])

        if w.sum() < 2 * min_samples_leaf:
            assert splits.test[a] == partition.CLOSED
            continue
        chosen, best = tree_oracles.best_split(codes[:, s:e], min_samples_leaf, w, value)
        assert (splits.test[a], splits.code[a]) == chosen
        if chosen[0] >= 0:
            assert splits.gain[a] == pytest.approx(best - value(slice(None)), rel=1e-7)


@for_each("criterion", CRITERIA)
def test_the_split_of_a_level_is_the_best_for_all_nodes_together(criterion):
    rng = np.random.default_rng(4)
    codes, target, weights, start = _problem(rng, [1, 9, 70])
    node, root = np.repeat(np.arange(3), np.diff(start)), _root(target, weights)

    def value(mask):
        parts = [mask & (node == a) for a in range(3)]
        return sum(_log_likelihood(criterion, root, target[p], weights[p]) for p in parts)

    split = criterion.start_search(target, weights).split_level(codes, target, weights, start, 4.0)
    chosen, best = tree_oracles.best_split(codes, 4.0, weights, value)
    assert (split.test, split.code) == chosen
    assert split.gain == pytest.approx(best - value(np.full(len(node), True)), rel=1e-7)


@for_each("criterion", CRITERIA)
def test_a_weight_is_as_good_as_repeated_rows(criterion):
    rng = np.random.default_rng(5)
    codes, target, weights, start = _problem(rng, [50])
    times = np.ceil(weights).astype(int)
    many = np.repeat(target, times, axis=0)
    one = criterion.start_search(target, times.astype(float)).split_nodes(
        codes, target, times.astype(float), start, 3.0
    )
    other = criterion.start_search(many, np.ones(len(many))).split_nodes(
        np.repeat(codes, times, axis=1), many, np.ones(len(many)), np.array([0, len(many)]), 3.0
    )
    assert (one.test[0], one.code[0]) == (other.test[0], other.code[0])
    assert one.gain[0] == pytest.approx(other.gain[0], rel=1e-9)


@for_each("criterion", CRITERIA)
def test_equal_numbers_close_a_node_and_an_output_that_never_changes_has_no_say(criterion):
    rng = np.random.default_rng(6)
    codes, target, weights, start = _problem(rng, [40], n_outputs=1)
    flat = np.full_like(target, 0.1)
    closed = criterion.start_search(flat, weights).split_nodes(codes, flat, weights, start, 1.0)
    assert closed.test.tolist() == [partition.CLOSED]
    assert (
        criterion.start_search(flat, weights).split_level(codes, flat, weights, start, 1.0).test
        == partition.CLOSED
    )
    both = np.hstack([flat, target])
    alone = criterion.start_search(target, weights).split_nodes(codes, target, weights, start, 1.0)
    beside = criterion.start_search(both, weights).split_nodes(codes, both, weights, start, 1.0)
    assert (alone.test, alone.code) == (beside.test, beside.code)
    assert beside.gain == pytest.approx(alone.gain)


def test_only_leaves_of_their_own_variance_part_rows_by_their_spread():
    rng = np.random.default_rng(7)
    codes = np.sort(rng.integers(100, size=(1, 2000)).astype(np.uint8))
    target = np.where(codes[0] < 50, 0.1, 3.0)[:, None] * rng.normal(size=(2000, 1))
    ones, start = np.ones(2000), np.array([0, 2000])
    own = NormalCriterion().start_search(target, ones)
    assert own.split_nodes(codes, target, ones, start, 1.0).code[0] == 49
    assert own.split_level(codes, target, ones, start, 1.0).code == 49


def test_a_side_that_is_equal_throughout_is_not_open():
    codes = np.array([[0, 0, 0, 1, 1, 1]], dtype=np.uint8)
    target = np.array([[1.0], [1.0], [1.0], [5.0], [6.0], [7.0]])
    splits = (
        NormalCriterion()
        .start_search(target, np.ones(6))
        .split_nodes(codes, target, np.ones(6), np.array([0, 6]), 1.0)
    )
    assert splits.is_open.tolist() == [[False, True]]
