"""Members that leave rows out: their derivatives, moves, folds, calibration and levels."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, log_softmax
from support.for_each import for_each

from posterity.trees import Columns
from posterity.trees.boosting import calibration, members, objectives
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.member import BoostingPlan, Member, _draw_weights
from posterity.trees.boosting.tree_records import TreeRules

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (X[:, 0] * X[:, 1] > 0.2).astype(np.int64) + (X[:, 2] > 1.0)


def coded(rows=X):
    family, places = Columns().adapt_to(rows), np.arange(len(rows), dtype=np.int32)
    catalogue = Catalogue.from_rows(family, rows, places, family.catalogue())
    return catalogue, catalogue.encode_rows(rows, places)


def fit(y=Y, folds=None, start=None, **plan):
    objective = objectives.class_targets(y, int(y.max()) + 1)
    folds = np.arange(len(y)) % 3 if folds is None else folds
    plan = BoostingPlan(**({"n_rounds": 12, "learning_rate": 0.4} | plan))
    weights, rng = np.ones(len(y)), np.random.default_rng(1)
    table = members.CodedTable(*coded(), weights, folds, np.arange(len(y), dtype=np.int32))
    return members.cross_fit(table, objective, plan, rng, start)


@for_each("y", [np.minimum(Y, 1), Y], ids=["two", "three"])
def test_derivatives_are_those_of_the_log_probability(y):
    objective = objectives.class_targets(y, int(y.max()) + 1)
    n_latents = len(objective.fit_offset(np.ones(len(y))))
    A, every, h = RNG.normal(size=(len(y), n_latents)), np.arange(len(y)), 1e-4
    slopes, curvatures = objective.derivatives(A)
    for c in range(n_latents):
        step = h * np.eye(n_latents)[c]
        low, at, high = (objective.log_prob(A + k * step, every) for k in (-1, 0, 1))
        np.testing.assert_allclose(slopes[:, c], (high - low) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(curvatures[:, c], (2 * at - high - low) / h**2, atol=1e-6)
    offset = objective.fit_offset(np.ones(len(y)))
    p = np.exp(log_softmax(calibration.contrast_classes(offset[None]), axis=1))[0]
    np.testing.assert_allclose(p, (np.bincount(y) + 0.5) / (len(y) + 0.5 * len(p)))


def test_a_row_moves_by_its_leaf_without_the_row():
    """Of a fixed tree this is what training without the row would have moved it by."""
    y, w = np.minimum(Y, 1), np.where(np.arange(90) % 5 == 0, 0.0, 1.0 + np.arange(90) % 2)
    rules = TreeRules(max_depth=2, prior_precision=0.7)
    plan = BoostingPlan(1, 0.3, rules, bootstrap=0.0)
    objective, (_, codes) = objectives.class_targets(y, 2), coded()
    member = Member.start(objective, w, np.random.default_rng(0), None)
    at = member.latents[0, 0]
    with members.Grower.open(codes) as grower:
        member.boost(grower, objective, plan)
    tree, values, precisions = member.rounds[0]
    rights = np.stack([codes[t] > c for t, c in zip(tree.tests, tree.codes, strict=True)])
    leaf = (1 << np.arange(len(rights))) @ rights
    g, h = y - expit(at), expit(at) * expit(-at)
    for i in range(90):
        others = np.where(leaf == leaf[i], w - (np.arange(90) == i) * np.minimum(w, 1.0), 0.0)
        step = 0.3 * (others @ g) / (0.7 + h * others.sum())
        assert member.latents[i, 0] - at == pytest.approx(step, abs=1e-12)
    for k in range(len(values)):
        own = leaf == k
        assert values[k, 0] == pytest.approx(0.3 * (w * g)[own].sum() / (0.7 + h * w[own].sum()))
        assert 0.09 / precisions[k, 0] == pytest.approx(0.09**2 / (0.7 + h * w[own].sum()))


@for_each("options", [{}, {"leaves_own_target_out": False, "subsample": 0.7, "n_tests": 2}])
def test_rows_left_out_have_the_latents_of_the_member_that_left_them_out(options):
    found = fit(patience=None, **options)
    family = coded()[0].family
    each, folds = found.trees.member_latents(family, X), np.arange(90) % 3
    expected = each[folds, np.arange(90)]
    np.testing.assert_allclose(found.held_out_latents, expected, atol=1e-12)
    log_p = log_softmax(expected, axis=1)[np.arange(90), Y]
    assert found.scores[found.n_rounds] == pytest.approx(log_p.mean())
    assert found.scores[found.n_rounds] == max(found.scores)
    assert found.n_rounds == np.argmax(found.scores)
    inverse = found.trees.member_moments(family, X)[1]
    np.testing.assert_allclose(found.held_out_variances, inverse[folds, np.arange(90)])


def test_a_member_does_not_depend_on_targets_that_it_leaves_out():
    w, codes = np.where(np.arange(90) < 20, 0.0, 1.0), coded()[1]
    found = []
    for y in (Y, np.where(w == 0.0, 2 - Y, Y)):
        objective = objectives.class_targets(y, 3)
        member = Member.start(objective, w, np.random.default_rng(0), None)
        with members.Grower.open(codes) as grower:
            for _ in range(3):
                member.boost(grower, objective, BoostingPlan(3, 0.4))
        found.append(member)
    np.testing.assert_array_equal(found[0].latents, found[1].latents)


def test_training_ends_when_rows_left_out_gain_no_more():
    noise = RNG.integers(2, size=90)
    found = fit(noise, patience=3, n_rounds=100)
    assert found.stop_reason == "rows held out gained nothing in 3 rounds"
    assert len(found.scores) == found.n_rounds + 4
    alone = fit(noise, np.full(90, members.NO_FOLD))
    assert alone.n_rounds == 12
    assert len(alone.scores) == 0
    assert np.isnan(alone.held_out_latents).all()


def test_trees_start_at_the_latents_that_are_given():
    start = RNG.normal(size=(90, 3))
    found = fit(start=members.StartingPoint.at_latents(start), patience=None)
    each = found.trees.member_latents(coded()[0].family, X)
    expected = start + each[np.arange(90) % 3, np.arange(90)]
    np.testing.assert_allclose(found.held_out_latents, expected, atol=1e-12)


def test_fewer_thresholds_send_rows_the_way_of_their_codes():
    rows = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    catalogue, codes = coded(rows)
    thin, fewer = catalogue.thin(codes, 10)
    assert fewer.max() == 11
    answers = np.array([*rows.T, *(np.where(np.isnan(x), -np.inf, x) for x in rows.T)])
    answers = answers[catalogue.tests[:, 0]]
    for cuts, answer, code in zip(thin.cuts, answers, fewer, strict=True):
        for c in range(11):
            np.testing.assert_array_equal(code <= c, answer <= cuts[c])


# Folds


def test_few_rows_have_ten_members_and_many_one():
    plans = [members.FoldPlan.choose(n, None) for n in (20, 2000, 4000, 10**6)]
    assert [plan.n_members for plan in plans] == [10, 7, 3, 1]
    assert [plan.fraction for plan in plans] == [0.1, 1 / 7, 0.1, 0.1]
    assert members.FoldPlan.choose(10, 1) == members.FoldPlan(1, 0.0)


def test_folds_hold_a_share_of_every_class_and_whole_groups():
    y = np.array([0.0] * 40 + [1.0] * 10 + [2.0])
    folds = members.FoldPlan(5, 0.2).draw(y, np.arange(len(y)), np.random.default_rng(0))
    assert folds[50] == members.NO_FOLD
    assert (np.bincount(folds[:40]) == 8).all()
    assert (np.bincount(folds[40:50]) == 2).all()
    groups = np.repeat(np.arange(17, dtype=np.int32), 3)
    grouped = members.FoldPlan(5, 0.2).draw(y, groups, np.random.default_rng(0))
    assert (grouped.reshape(17, 3) == grouped[::3, None]).all()
    none = members.FoldPlan(5, 0.2).draw(np.arange(2.0), np.arange(2), np.random.default_rng(0))
    assert (none == members.NO_FOLD).all()


def test_second_members_leave_out_whole_groups():
    groups = np.repeat(np.arange(50), 4)
    folds = (np.arange(50) % 5)[groups]
    second = members.draw_second_folds(folds, groups, 0.5, np.random.default_rng(0))
    assert (second.reshape(50, 4) == second[::4, None]).all()
    shared = second != members.NO_FOLD
    assert 10 < shared[::4].sum() < 40
    np.testing.assert_array_equal(second[shared], (folds[shared] + 1) % 5)
    assert members.draw_second_folds(folds % 2, groups, 0.5, np.random.default_rng(0)) is None


# Calibration


def test_the_slope_of_the_calibration_is_that_of_its_loss():
    A, v, w = RNG.normal(size=(90, 3)), RNG.gamma(1.0, size=90), RNG.gamma(1.0, size=90)
    x = np.array([0.3, -0.4])

    def value(x):
        return calibration._compute_loss(A, v, Y, w, x)[0]

    slope = calibration._compute_loss(A, v, Y, w, x)[1]
    np.testing.assert_allclose(slope, optimize.approx_fprime(x, value, 1e-7), atol=1e-6)


def test_the_calibration_is_where_its_loss_is_flat():
    latents, v, w = RNG.normal(size=(90, 3)), RNG.gamma(1.0, size=90), RNG.gamma(1.0, size=90)
    found = calibration.ClassCalibration.learn(latents, v, Y, w)
    x = np.log([found.sharpness, found.variance_factor])
    A = calibration.contrast_classes(latents)
    np.testing.assert_allclose(calibration._compute_loss(A, v, Y, w, x)[1], 0.0, atol=1e-10)


def test_latents_that_are_too_small_are_scaled_up():
    rng = np.random.default_rng(2)
    a = 3.0 * rng.normal(size=20_000)
    y = (rng.random(20_000) < expit(a)).astype(np.int64)
    found = calibration.ClassCalibration.learn(
        a[:, None] / 4.0, np.zeros(20_000), y, np.ones(20_000)
    )
    assert found.sharpness == pytest.approx(4.0, rel=0.05)
    assert calibration.ClassCalibration.learn(
        np.empty((0, 1)), np.empty(0), y[:0], np.empty(0)
    ) == (calibration.ClassCalibration(1.0, 1.0))


def test_probabilities_are_means_over_uncertain_latents():
    """By quadrature: the closed form is off by 0.02 at most, the epistemic part by 0.05."""
    sure = calibration.ClassCalibration(1.5, 0.8)
    a, v = np.array([0.0, 0.5, 2.0, -4.0]), np.array([0.3, 1.0, 2.0, 1.0])
    log_p, epistemic = calibration.predict_log_probabilities(sure, a[:, None], v)
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    p = expit(1.5 * a[:, None] + np.sqrt(1.5**2 * 0.8 * v)[:, None] * z)
    weights = weights / weights.sum()
    mean = p @ weights
    np.testing.assert_allclose(np.exp(log_p[:, 1]), mean, atol=0.02)
    inner = stats.entropy(np.stack([p, 1.0 - p])) @ weights
    share = 1.0 - inner / stats.entropy(np.stack([mean, 1.0 - mean]))
    np.testing.assert_allclose(epistemic, share, atol=0.05)
    alike = calibration.predict_log_probabilities(sure, np.column_stack([-a, a]) / 2.0, v / 2.0)
    np.testing.assert_allclose(alike[1], epistemic, atol=0.1)


def test_bootstrap_weights_of_a_weight_are_those_of_repeated_rows():
    """A sum of exponential numbers: equal in distribution, so not in each draw."""
    weights = np.repeat([0.0, 1.0, 4.0], 4000)
    drawn = _draw_weights(weights, BoostingPlan(1, 0.1), np.random.default_rng(0)).reshape(3, -1)
    np.testing.assert_allclose(drawn.mean(axis=1), [0.0, 1.0, 4.0], rtol=0.1)
    np.testing.assert_allclose(drawn.var(axis=1), [0.0, 1.0, 4.0], rtol=0.15)
