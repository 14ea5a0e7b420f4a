"""Sums of boosted trees: what rows get from them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_expit
from support.for_each import for_each

from posterity.trees.boosting import candidates
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.tree_records import TreeRules
from posterity.trees.families import columns, projections


def problem(n=120, n_outputs=2, growth="oblivious", n_rounds=5, seed=0):
    """Rows with missing values, a catalogue, and rounds on random slopes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    weak = columns.Columns().adapt_to(X)
    places = np.arange(n, dtype=np.int32)
    catalogue = Catalogue.from_rows(weak, X, places, weak.catalogue())
    rounds = []
    with Grower.open(catalogue.encode_rows(X, places)) as grower:
        for number in range(n_rounds):
            slopes = rng.normal(size=(n, n_outputs)) + np.isnan(X[:, :1])
            rules = TreeRules(growth=growth, max_depth=1 + number % 3)
            tree = grower.grow(slopes, np.ones_like(slopes), np.ones(n), rules, rng)
            values = rng.normal(size=(tree.n_leaves, n_outputs))
            rounds.append((tree, values, rng.random(values.shape) + 1.0))
    return X, catalogue, rounds


def sum_by_hand(rounds, offset, part=1):
    """Offset and the values of the leaves that rows had when trees grew."""
    return offset + sum(r[part][r[0].leaves] for r in rounds)


@for_each("growth", ["oblivious", "leaf"])
@for_each("n_outputs", [1, 3])
def test_rows_get_the_leaves_that_they_had_when_trees_grew(growth, n_outputs):
    X, catalogue, rounds = problem(growth=growth, n_outputs=n_outputs)
    offset = np.linspace(1.0, 2.0, n_outputs)
    trees = BoostedTrees.from_rounds(catalogue, offset, rounds)
    trees.check_consistency()
    weak = catalogue.family
    np.testing.assert_allclose(trees.moments(weak, X)[0], sum_by_hand(rounds, offset), rtol=1e-12)
    inverses = [(tree, None, 1.0 / precision) for tree, _, precision in rounds]
    expected = sum_by_hand(inverses, 0.0, part=2)
    np.testing.assert_allclose(trees.variances(weak, X), expected, rtol=1e-12)
    for number, (A, _) in enumerate(trees.staged_moments(weak, X), start=1):
        np.testing.assert_allclose(A, sum_by_hand(rounds[:number], offset), rtol=1e-12)
        cut = trees.truncate(number)
        cut.check_consistency()
        np.testing.assert_allclose(cut.moments(weak, X)[0], A, rtol=1e-12)
    np.testing.assert_allclose(trees.truncate(0).moments(weak, X)[0], np.tile(offset, (120, 1)))
    for row in range(5):  # one row at a time
        one = trees.moments(weak, X[row : row + 1])[0]
        np.testing.assert_allclose(one[0], sum_by_hand(rounds, offset)[row], rtol=1e-12)


@for_each("growth", ["oblivious", "leaf"])
def test_members_are_averaged(growth):
    X, catalogue, rounds = problem(growth=growth)
    weak, offset = catalogue.family, np.zeros(2)
    members = [BoostedTrees.from_rounds(catalogue, offset + k, rounds[: 2 + k]) for k in range(3)]
    joined = BoostedTrees.join(members)
    joined.check_consistency()
    each = np.stack([member.moments(weak, X)[0] for member in members])
    np.testing.assert_allclose(joined.member_latents(weak, X), each, rtol=1e-12)
    np.testing.assert_allclose(joined.moments(weak, X)[0], each.mean(axis=0), rtol=1e-12)
    cut = [member.truncate(3).moments(weak, X)[0] for member in members]
    np.testing.assert_allclose(joined.truncate(3).moments(weak, X)[0], np.mean(cut, axis=0))
    *_, (last, _) = joined.staged_moments(weak, X)
    np.testing.assert_allclose(last, joined.moments(weak, X)[0], rtol=1e-12)


def test_what_compiled_code_would_read_wrongly_is_refused():
    _, catalogue, rounds = problem(growth="leaf")
    trees = BoostedTrees.from_rounds(catalogue, np.zeros(2), rounds)
    round_trip = trees.children.copy()
    round_trip[1, 0] = 0
    broken = {
        "children": round_trip,
        "values": trees.values[1:],
        "thresholds": np.full_like(trees.thresholds, np.nan),
        "members": np.array([0, 99]),
        "nodes": trees.nodes[::-1].copy(),
        "leaves": trees.leaves[:-1],
        "tests": trees.tests[1:],
    }
    for name, value in broken.items():
        with pytest.raises(ValueError, match=r"\w"):
            replace(trees, **{name: value}).check_consistency()
    _, catalogue, rounds = problem()
    oblivious = BoostedTrees.from_rounds(catalogue, np.zeros(2), rounds)
    with pytest.raises(ValueError, match="2\\^depth leaves"):
        replace(oblivious, nodes=np.array([0, 0, 0, 0, 0, 9])).check_consistency()


@for_each("growth", ["oblivious", "leaf"])
def test_trees_of_fresh_tests_move_rows_as_they_predict(growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y, weights = (X[:, 0] * X[:, 1] > 0.0) * 1.0, rng.integers(0, 3, size=500).astype(float)
    weak = projections.Projections(n_columns=2).adapt_to(X)

    def derivatives(A):
        p = expit(A)
        return y[:, None] - p, p * (1.0 - p)

    start = rng.normal(size=(500, 1))
    tree = TreeRules(growth=growth, max_depth=3)
    rules = candidates.FreshRules(15, 8, learning_rate=0.5, tree=tree, n_rows=200, n_offsets=20)
    trees, A = candidates.boost_fresh_tests(weak, X, derivatives, weights, start, rules, rng)
    trees.check_consistency()
    np.testing.assert_allclose(start + trees.moments(weak, X)[0], A, atol=1e-12)
    before, after = (weights @ log_expit((2.0 * y - 1.0) * a[:, 0]) for a in (start, A))
    assert after > 0.5 * before
