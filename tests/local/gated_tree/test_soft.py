"""Trees of gates and experts, against differences, formulas written out and convex problems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy.special import expit
from support.for_each import for_each

from posterity import likelihoods, optimize
from posterity.inference import rows as equal_rows
from posterity.local.gated_tree import hard as logistic_tree_hard
from posterity.local.gated_tree import soft as logistic_tree
from posterity.local.gated_tree import training as logistic_tree_depth
from posterity.local.gated_tree.problem import GatedTreeProblem
from posterity.local.gated_tree.soft import SoftTree
from posterity.local.gated_tree.training import TreeTrainer

TWO, THREE = likelihoods.Bernoulli(), likelihoods.Categorical(3)
either = pytest.mark.parametrize("likelihood", [TWO, THREE], ids=["two", "three"])


def rows(n_classes=2, n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, (n, 2))
    y = 1.0 * (X[:, 0] * X[:, 1] > 0.0) + 1.0 * (n_classes > 2) * (X[:, 0] > 0.5)
    return np.column_stack([X, np.ones(n)]), y, rng.integers(1, 4, n).astype(float)


def problem(likelihood=TWO, depth=2, **options):
    Z, y, counts = rows(getattr(likelihood, "n_classes", 2), **options)
    return GatedTreeProblem.from_rows(Z, y, counts, likelihood, depth=depth, prior_variance=10.0)


def random_tree(p, seed=1):
    return p.center.with_weights(p.draw_start(np.random.default_rng(seed)))


def differences(f, x, h=1e-6):
    return [(f(x + h * e)[0] - f(x - h * e)[0]) / (2 * h) for e in np.eye(len(x))]


@either
@for_each("depth", [0, 1, 2, 3])
def test_gradient_is_what_differences_give(likelihood, depth):
    p = problem(likelihood, depth)
    x = p.draw_start(np.random.default_rng(1))
    np.testing.assert_allclose(p(x)[1], differences(p, x), rtol=1e-6, atol=1e-5)


@either
def test_gradient_of_steep_gates_and_of_a_branch_is_what_differences_give(likelihood):
    whole = problem(likelihood, 2)
    steep = replace(whole, center=replace(whole.center, steepness=3.0))
    for p in (steep, whole.branch_objective(random_tree(whole), 2)):
        x = p.draw_start(np.random.default_rng(2))
        np.testing.assert_allclose(p(x)[1], differences(p, x), rtol=1e-5, atol=1e-4)


@either
def test_rows_in_blocks_are_the_rows(likelihood, monkeypatch):
    whole = problem(likelihood, 2)
    p = whole.branch_objective(random_tree(whole), 1)
    x = p.draw_start(np.random.default_rng(2))
    value, slope = p(x)
    A = p.center.with_weights(x).latents(p.Z)
    monkeypatch.setattr(logistic_tree, "_AT_A_TIME", 100)
    assert len(list(p.center.iterate_blocks(len(p.y)))) > 1
    assert p(x)[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(p(x)[1], slope, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(p.center.with_weights(x).latents(p.Z), A, rtol=1e-12)


def test_one_gate_weighs_two_linear_functions():
    p = problem(depth=1)
    tree = random_tree(p)
    g = expit(p.Z @ tree.gates[0])
    a = (1 - g) * (p.Z @ tree.experts[0, 0]) + g * (p.Z @ tree.experts[1, 0])  # [P9 9.54]
    np.testing.assert_allclose(tree.latents(p.Z)[:, 0], a, rtol=1e-12)


@either
def test_value_is_minus_the_log_of_likelihood_and_prior(likelihood):
    p = problem(likelihood, 2)
    tree = random_tree(p)
    g, g0, g1 = (expit(p.Z @ omega)[:, None] for omega in tree.gates)
    phi0, phi1, phi00, phi01, phi10, phi11 = (p.Z @ phi.T for phi in tree.experts)
    left = (1 - g) * (phi0 + (1 - g0) * phi00 + g0 * phi01)
    A = left + g * (phi1 + (1 - g1) * phi10 + g1 * phi11)  # [P9 9.56]
    np.testing.assert_allclose(tree.latents(p.Z), A, rtol=1e-10, atol=1e-12)
    center, one_row = likelihood.fit_constant(p.y, p.counts)
    away, slopes = tree.experts[:, :, -1].copy(), tree.experts[:, :, :-1]
    away[:2] -= center
    penalty = 0.05 * (np.sum(tree.gates[:, :-1] ** 2) + np.sum(slopes**2))
    penalty += np.sum(tree.gates[:, -1] ** 2) / 8 + 0.5 * np.sum(away**2 / one_row)
    expected = penalty - p.counts @ likelihood.log_prob(p.y, A if A.shape[1] > 1 else A[:, 0])
    assert p(tree.flat)[0] == pytest.approx(expected, rel=1e-12)
    assert p.penalty(tree.flat) == pytest.approx(penalty, rel=1e-12)


def test_a_tree_without_gates_is_penalised_logistic_regression():
    Z, y, counts = rows()
    y = 1.0 * (Z[:, 0] + np.sin(7.0 * Z[:, 1]) > 0.3)
    share = np.average(y, weights=counts)
    variance = np.array([10.0, 10.0, 1.0 / (share * (1 - share))])
    center = np.array([0.0, 0.0, np.log(share / (1 - share))])

    def loss(w):
        a = (2.0 * y - 1.0) * (Z @ w)
        return counts @ np.logaddexp(0.0, -a) + 0.5 * np.sum((w - center) ** 2 / variance)

    best = scipy_optimize.minimize(loss, np.zeros(3), tol=1e-12)
    constant = 0.5 * np.sum(np.log(2 * np.pi * variance))
    for hard in (False, True):
        fit = TreeTrainer(TWO, hard=hard).fit(Z, y, counts, depth=0, rng=np.random.default_rng(0))
        np.testing.assert_allclose(fit.tree.experts[0, 0], best.x, atol=1e-3)
        assert fit.log_posterior == pytest.approx(-best.fun - constant, abs=1e-5)


@for_each("depth", [0, 1, 2])
def test_two_classes_by_softmax_are_two_by_their_difference(depth):
    """Where variances v of softmax experts are 2v of logistic ones, and the gates' are the same.

    Of a softmax only the difference w of two experts counts. The most probable pair with this
    difference has the value that w has.
    """
    one, two = problem(TWO, depth), problem(likelihoods.Categorical(2), depth)
    doubled = one.variance.experts.copy()
    doubled[:, :, :-1] *= 2.0
    one = replace(one, variance=replace(one.variance, experts=doubled))
    tree = random_tree(one)
    away = tree.experts - one.center.experts
    share = two.variance.experts / two.variance.experts.sum(axis=1, keepdims=True)
    pair = SoftTree(tree.gates, two.center.experts + away * share * np.array([-1.0, 1.0])[:, None])
    np.testing.assert_allclose(np.diff(pair.experts, axis=1), tree.experts, atol=1e-12)
    assert two(pair.flat)[0] == pytest.approx(one(tree.flat)[0], rel=1e-12)
    common = two(pair.flat)[1][tree.gates.size :].reshape(pair.experts.shape).sum(axis=1)
    np.testing.assert_allclose(common, 0.0, atol=1e-10)


@either
@for_each("k", [0, 1, 2])
def test_a_branch_is_the_whole_with_all_else_held(likelihood, k):
    p = problem(likelihood, 2)
    tree = random_tree(p) if k else p.center
    branch, rng = p.branch_objective(tree, k), np.random.default_rng(3)
    values, gaps = [], []
    for _ in range(3):
        part = branch.center.with_weights(branch.draw_start(rng))
        values.append(p(tree.with_branch(k, part.gates[0], part.experts).flat)[0])
        gaps.append(values[-1] - branch(part.flat)[0])
    np.testing.assert_allclose(gaps, gaps[0], rtol=0.0, atol=1e-12 * max(values))  # 0 where k = 0


@either
def test_the_log_posterior_never_falls_from_branch_to_branch(likelihood):
    p = problem(likelihood, 3)
    trainer = TreeTrainer(likelihood, n_restarts=0)
    trees = [tree for tree, _ in trainer.grow_branches(p, np.random.default_rng(0))]
    assert len(trees) == 7
    values = np.array([p(tree.flat)[0] for tree in [p.center, *trees]])
    assert np.all(np.diff(values) <= 1e-9)
    assert values[3] < values[1] < values[0] - 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_log_posterior_does_not_fall_either_where_searches_are_cut_short():
    Z, y, counts = rows()
    p = GatedTreeProblem.from_rows(Z, y, counts, TWO, depth=2, prior_variance=1e-6)
    growth = TreeTrainer(TWO, n_restarts=0, max_iter=1).grow_branches(p, np.random.default_rng(0))
    values = np.array([p(tree.flat)[0] for tree in [p.center, *(tree for tree, _ in growth)]])
    assert np.all(np.diff(values) <= 1e-9)


@either
def test_all_weights_together_are_at_least_as_probable_as_branch_by_branch(likelihood):
    Z, y, counts = rows(getattr(likelihood, "n_classes", 2))
    joint, branchwise = (
        TreeTrainer(likelihood, jointly=jointly, n_restarts=0).fit(
            Z, y, counts, depth=2, rng=np.random.default_rng(0)
        )
        for jointly in (True, False)
    )
    assert joint.log_posterior > branchwise.log_posterior + 0.1
    p = problem(likelihood, 2)
    climbed = optimize.minimise_lbfgs(p, branchwise.tree.flat, max_iter=1000, least_gain=1e-7)
    assert joint.log_posterior == pytest.approx(p.log_posterior(climbed.value), abs=1e-2)


def test_an_inner_expert_is_the_sum_of_those_below_it():
    Z, y, counts = rows(3)
    fit = TreeTrainer(THREE).fit(Z, y, counts, depth=2, rng=np.random.default_rng(0))
    phi = fit.tree.experts.copy()
    phi[:2, :, -1] -= THREE.fit_constant(y, counts)[0]
    np.testing.assert_allclose(phi[:2], phi[2::2] + phi[3::2], atol=0.01)
    assert np.abs(phi[:2]).max() > 1.0


def test_the_log_posterior_has_its_constants_and_more_searches_only_add():
    p = problem()
    fits = [
        TreeTrainer(TWO, n_restarts=n, n_jobs=jobs).fit(
            p.Z, p.y, p.counts, depth=2, rng=np.random.default_rng(1)
        )
        for n, jobs in ((0, None), (4, None), (4, 2))
    ]
    x = fits[1].tree.flat
    constant = 0.5 * np.sum(np.log(2 * np.pi * p.variance.flat))
    assert fits[1].log_posterior == pytest.approx(-p(x)[0] - constant)
    assert fits[1].log_posterior > fits[0].log_posterior + 0.1
    np.testing.assert_array_equal(x, fits[2].tree.flat)


def test_a_search_that_is_cut_short_says_so():
    Z, y, counts = rows()
    for jointly, n_warnings in ((True, 1), (False, 3)):
        trainer = TreeTrainer(TWO, jointly=jointly, n_restarts=0, max_iter=2)
        with pytest.warns(optimize.ConvergenceWarning, match="iterations were not") as told:
            fit = trainer.fit(Z, y, counts, depth=2, rng=np.random.default_rng(0))
        assert len(told) == n_warnings
        assert fit.stop_reason == "2 L-BFGS iterations were not enough"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_first_of_several_searches_that_was_cut_short_is_told():
    Z, y, counts = rows()
    trainer = TreeTrainer(TWO, hard=True, jointly=False, n_restarts=0, max_iter=20)
    fit = trainer.fit(Z, y, counts, depth=1, rng=np.random.default_rng(0))
    p = problem(depth=1)
    _, ends = logistic_tree_hard.refit_leaves(p, fit.tree, max_iter=20)
    assert all(end.converged for end in ends)
    assert fit.stop_reason == "20 L-BFGS iterations were not enough"
    assert fit.n_iter > 40


def route(tree, z):
    """The leaf of one row, and the sum of the experts on its way."""
    node, total = 0, np.zeros(len(tree.experts[0])) if len(tree.gates) else tree.experts[0] @ z
    while node < len(tree.gates):
        node = 2 * node + (2 if tree.gates[node] @ z > 0 else 1)
        total = total + tree.experts[node - 1] @ z
    return node - len(tree.gates), total


@either
@for_each("depth", [0, 1, 3])
def test_each_row_goes_to_one_leaf_and_meets_one_function(likelihood, depth):
    p = problem(likelihood, depth)
    tree = random_tree(p)
    hard = logistic_tree_hard.HardTree(tree)
    leaves, latents = zip(*(route(tree, z) for z in p.Z), strict=True)
    np.testing.assert_array_equal(hard.apply(p.Z), leaves)
    np.testing.assert_array_equal(hard.leaf_probabilities(p.Z), np.eye(2**depth)[list(leaves)])
    np.testing.assert_allclose(hard.latents(p.Z), latents, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(hard.latents(np.asfortranarray(p.Z)), hard.latents(p.Z))


@either
def test_sharp_gates_are_hard_gates(likelihood):
    p = problem(likelihood, 3)
    tree = replace(random_tree(p), steepness=1e6)
    hard = logistic_tree_hard.HardTree(tree)
    np.testing.assert_allclose(hard.latents(p.Z), tree.latents(p.Z), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(hard.apply(p.Z), tree.apply(p.Z))


def test_leaves_of_sharp_gates_are_what_they_were():
    p = problem(THREE, 2)
    steep = replace(p, center=replace(p.center, steepness=1e5))
    start = steep.center.with_weights(random_tree(p).flat)
    held = len(start.gates.ravel())

    def experts_only(w):
        value, slope = steep(np.concatenate([start.flat[:held], w]))
        return value, slope[held:]

    best = optimize.minimise_lbfgs(experts_only, start.flat[held:], max_iter=2000)
    tree = start.with_weights(np.concatenate([start.flat[:held], best.x]))
    again, _ = logistic_tree_hard.refit_leaves(p, tree, max_iter=1000)
    np.testing.assert_allclose(again.experts, tree.experts, atol=5e-3)
    np.testing.assert_array_equal(again.experts[:2], tree.experts[:2])


@either
def test_a_leaf_is_the_whole_with_all_else_held(likelihood):
    p = problem(likelihood, 2)
    tree = random_tree(p)
    home, gaps = logistic_tree_hard.HardTree(tree).apply(p.Z), []
    rng = np.random.default_rng(4)
    for _ in range(3):
        experts, value = tree.experts.copy(), 0.0
        for j in range(4):
            leaf = p.leaf_objective(tree, j, np.flatnonzero(home == j))
            w = leaf.draw_start(rng)
            experts[2 + j] = leaf.center.with_weights(w).experts[0]
            value += leaf(w)[0]
        other = replace(tree, experts=experts)
        hard = p.penalty(other.flat) - p.counts @ p.log_prob(
            logistic_tree_hard.HardTree(other).latents(p.Z)
        )
        gaps.append(hard - value)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-10)


def test_a_leaf_without_rows_says_what_the_branch_above_it_says():
    p = problem(THREE, 2)
    tree = random_tree(p)
    tree.gates[1] = [0.0, 0.0, 50.0]
    again, _ = logistic_tree_hard.refit_leaves(p, tree, max_iter=1000)
    np.testing.assert_allclose(again.experts[2], 0.0, atol=1e-4)
    np.testing.assert_allclose(again.sum_to_leaves()[0], tree.experts[0], atol=1e-4)
    assert np.abs(again.experts[3]).max() > 0.5


def test_gates_that_are_made_steeper_first_are_better_steps():
    Z, y, counts = rows(n=200)
    y = 1.0 * (np.floor(1.2 * Z[:, 0]) % 2)
    trainer = TreeTrainer(TWO, n_restarts=2)
    soft = trainer.fit(Z, y, counts, depth=2, rng=np.random.default_rng(0)).tree
    p = GatedTreeProblem.from_rows(Z, y, counts, TWO, depth=2, prior_variance=10.0)
    cut, _ = logistic_tree_hard.refit_leaves(p, soft, max_iter=1000)
    steeper, _ = logistic_tree_hard.harden_tree(p, soft, max_iter=1000)
    values = [
        p.penalty(tree.flat) - counts @ p.log_prob(logistic_tree_hard.HardTree(tree).latents(Z))
        for tree in (cut, steeper.tree)
    ]
    assert values[1] < values[0] - 5.0
    fit = replace(trainer, hard=True).fit(Z, y, counts, depth=2, rng=np.random.default_rng(0))
    assert fit.log_posterior == pytest.approx(p.log_posterior(values[1]))
    assert fit.model.tree.steepness == 1.0


def test_a_part_is_held_out_of_every_class():
    y = np.repeat([0.0, 1.0, 2.0], [50, 9, 2])
    held = equal_rows.draw_held_out_counts(y, np.ones(61), 0.2, rng=np.random.default_rng(0))
    assert set(held) == {0.0, 1.0}
    np.testing.assert_array_equal(np.bincount(y.astype(int), held), [10, 2, 1])


def test_what_is_held_out_of_counts_is_drawn_from_repeated_rows():
    y, counts = np.array([0.0, 0.0, 1.0, 1.0]), np.array([100.0, 300.0, 50.0, 1.0])
    rng = np.random.default_rng(0)
    draws = np.array([equal_rows.draw_held_out_counts(y, counts, 0.5, rng=rng) for _ in range(400)])
    assert np.all((draws >= 0.0) & (draws <= counts))
    np.testing.assert_array_equal(draws[:, :2].sum(axis=1), 200.0)
    np.testing.assert_allclose(draws.mean(axis=0), [50.0, 150.0, 25.5, 0.5], atol=0.6)


@for_each("factor", [0.3, 1e12])
def test_counts_that_cannot_be_drawn_one_by_one_are_held_out_by_rows(factor):
    y, counts = np.repeat([0.0, 1.0], 10), factor * np.arange(1.0, 21.0)
    held = equal_rows.draw_held_out_counts(y, counts, 0.3, rng=np.random.default_rng(0))
    assert np.all((held == 0.0) | (held == counts))
    np.testing.assert_array_equal(np.bincount(y.astype(int), held > 0), [3, 3])


def test_one_row_of_a_class_is_kept_and_nothing_to_hold_out_is_refused():
    y, rng = np.array([0.0, 0.0, 1.0]), np.random.default_rng(0)
    held = equal_rows.draw_held_out_counts(y, np.ones(3), 0.9, rng=rng)
    np.testing.assert_array_equal([held[:2].sum(), held[2]], [1.0, 0.0])
    with pytest.raises(ValueError, match="No row can be held out to choose the depth by"):
        equal_rows.draw_held_out_counts(y[1:], np.ones(2), 0.2, rng=rng)


@either
@for_each("hard", [False, True])
def test_depths_are_scored_on_what_was_held_out(likelihood, hard):
    Z, y, counts = rows(getattr(likelihood, "n_classes", 2))
    held = np.where(np.arange(len(y)) % 4 == 0, np.minimum(counts, 2.0), 0.0)
    trainer = TreeTrainer(likelihood, n_restarts=0, hard=hard)
    scores = logistic_tree_depth.score_depths(
        trainer, Z, y, counts, held, max_depth=1, rng=np.random.default_rng(0)
    )
    rng, rest = np.random.default_rng(0), counts - held
    for depth in range(2):
        fit = trainer.fit(Z[rest > 0], y[rest > 0], rest[rest > 0], depth=depth, rng=rng)
        A = fit.model.latents(Z)
        log_p = likelihood.log_prob(y, A if A.shape[1] > 1 else A[:, 0])
        assert scores[depth] == pytest.approx(held @ log_p / held.sum(), rel=1e-10)
    assert scores[1] > scores[0] + 0.1
