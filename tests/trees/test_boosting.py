"""Boosted steps: screening, the optimum of the sides, and rounds."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from support.for_each import for_each

from posterity.trees.boosting import candidates, class_rows
from posterity.trees.boosting import rounds as boosting
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.class_rows import SoftmaxRows, TwoClasses
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.histograms import RowCounts
from posterity.trees.boosting.tree_records import TreeRules
from posterity.trees.families import columns, projections

PRIOR_ROWS = 0.1


def problem(n=300, n_columns=7, n_classes=2, seed=0):
    """Rows whose classes depend on squares of columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    logits = np.stack([3.0 * np.abs(X[:, c % n_columns]) for c in range(n_classes)], axis=1)
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1).astype(float)
    return X, y


def rows_at(kind, y, weights, shift=None):
    """Rows, some way from where steps begin."""
    rows = kind.start_from_offset(kind.offset(y, weights), y, weights, PRIOR_ROWS)
    if shift is not None:
        rows.move(shift > 0.0, np.linspace(-1.0, 1.0, 2 * rows.latents.shape[1]).reshape(2, -1))
    return rows


def laid_out(X):
    family = columns.Columns().adapt_to(X)
    places = np.arange(len(X), dtype=np.int32)
    catalogue = Catalogue.from_rows(family, X, places, family.catalogue())
    return catalogue, catalogue.encode_rows(X, places)


def boosted(X, y, n_rounds=15, weights=None, kind=TwoClasses, **options):
    catalogue, codes = laid_out(X)
    rows = rows_at(kind, y, np.ones(len(y)) if weights is None else weights)
    n_jobs = options.pop("n_jobs", None)
    rules = boosting.BoostingRules(n_rounds, **options)
    tests, offset = candidates.CodedTests(catalogue, codes, n_jobs), rows.latents[0].copy()
    return catalogue, boosting.boost(tests, rows, offset, rules)


def screened(codes, rows):
    """What the best step of each test gains."""
    slopes, curvatures = (np.column_stack(x) for x in zip(*rows.derivatives(), strict=True))
    rules = TreeRules(max_depth=1, prior_precision=rows.screening_precision)
    with Grower.open(codes) as grower:
        trees = [
            grower.grow(slopes, curvatures, rows.weights, rules, None, np.array([j]))
            for j in range(len(codes))
        ]
    return np.concatenate([tree.gains for tree in trees])


# Derivatives


def test_derivatives_of_two_classes_are_those_of_their_log_probability():
    X, y = problem()
    rows = rows_at(TwoClasses, y, np.ones(300), X[:, 0])
    ((slopes, curvatures),) = rows.derivatives()
    a, s = rows.latents[:, 0], 2.0 * y - 1.0
    np.testing.assert_allclose(slopes, s * expit(-s * a), rtol=1e-12)
    np.testing.assert_allclose(curvatures, expit(a) * expit(-a), rtol=1e-12)
    np.testing.assert_allclose(rows.log_likelihood(), np.sum(log_expit(s * a)), rtol=1e-12)


def test_derivatives_of_many_classes_are_those_of_their_log_probability():
    X, y = problem(n_classes=4)
    rows = rows_at(SoftmaxRows, y, np.ones(300), X[:, 0])
    p = softmax(rows.latents, axis=1)
    share = 3.0 / 4.0
    for c, (slopes, curvatures) in enumerate(rows.derivatives()):
        np.testing.assert_allclose(slopes, np.sqrt(share) * ((y == c) - p[:, c]), rtol=1e-12)
        np.testing.assert_allclose(curvatures, p[:, c] * (1.0 - p[:, c]), rtol=1e-12)
    own = log_softmax(rows.latents, axis=1)[np.arange(300), y.astype(int)]
    np.testing.assert_allclose(rows.log_likelihood(), np.sum(own), rtol=1e-12)


def test_latent_values_beyond_the_exponent_have_finite_log_probabilities():
    y = np.array([0.0, 1.0, 1.0, 0.0])
    for kind in (TwoClasses, SoftmaxRows):
        rows = rows_at(kind, y, np.ones(4))
        L = rows.latents.shape[1]
        push = np.full((2, L), 2000.0) * [[-1.0], [1.0]] * np.linspace(-1.0, 1.0, max(L, 2))[-L:]
        rows.move(y == 0.0, push)
        assert rows.log_likelihood() == pytest.approx(0.0, abs=1e-9)
        assert all(np.all(np.isfinite(d)) for pair in rows.derivatives() for d in pair)


# Screening


@for_each(("kind", "n_classes"), [(TwoClasses, 2), (SoftmaxRows, 2), (SoftmaxRows, 5)])
@for_each("weighted", [False, True])
@for_each("n_columns", [3, 9])
def test_gains_are_those_of_one_newton_step(kind, n_classes, weighted, n_columns):
    X, y = problem(n_columns=n_columns, n_classes=n_classes)
    X[::9, 1] = np.nan
    weights = np.random.default_rng(1).exponential(size=300) if weighted else np.ones(300)
    rows = rows_at(kind, y, weights, X[:, 0])
    _, codes = laid_out(X)
    gains, precision = screened(codes, rows), rows.screening_precision
    derivatives = list(rows.derivatives())

    def worth(side):
        sums = [((weights * side) @ g, (weights * side) @ h + precision) for g, h in derivatives]
        return sum(0.5 * G**2 / H for G, H in sums)

    for j in range(n_columns):
        cuts = [codes[j] <= c for c in np.unique(codes[j])]
        expected = max(worth(left) + worth(~left) for left in cuts) - worth(np.ones(300))
        np.testing.assert_allclose(gains[j], expected, rtol=1e-5, atol=1e-6)


def test_screening_a_softmax_of_two_classes_is_screening_two_classes():
    X, y = problem()
    _, codes = laid_out(X)
    binary, both = (
        screened(codes, rows_at(kind, y, np.ones(300))) for kind in (TwoClasses, SoftmaxRows)
    )
    np.testing.assert_allclose(binary, both, rtol=1e-6, atol=1e-7)


def test_sums_have_room_however_large_weights_are():
    rng = np.random.default_rng(0)
    slopes, curvatures = rng.normal(size=50), rng.exponential(size=50)
    for weights in (np.full(50, 2.0**27), np.full(50, 5e6), np.full(50, 1e-200), np.ones(50)):
        counts, rows = RowCounts.from_weights(weights), np.arange(50)
        words, ((g_unit, h_unit),) = counts.pack(slopes[:, None], curvatures[:, None], rows)
        total = int(np.sum(words))
        G, H = (total >> 32) * g_unit, (total & (2**32 - 1)) * h_unit
        np.testing.assert_allclose(G, weights @ slopes, rtol=1e-6)
        np.testing.assert_allclose(H, weights @ curvatures, rtol=1e-6)


def test_a_whole_weight_screens_as_repeated_rows_to_the_last_bit():
    X, y = problem(n=80)
    weights = np.random.default_rng(2).integers(1, 4, size=80)
    again = np.repeat(np.arange(80), weights)
    _, codes = laid_out(X)
    once = screened(codes, rows_at(TwoClasses, y, weights.astype(float)))
    repeated = np.ascontiguousarray(codes[:, again])
    np.testing.assert_array_equal(
        once, screened(repeated, rows_at(TwoClasses, y[again], np.ones(len(again))))
    )


# The optimum of the sides


@for_each("weighted", [False, True])
def test_the_values_of_both_sides_are_most_probable(weighted):
    X, y = problem()
    weights = np.random.default_rng(1).exponential(size=300) if weighted else np.ones(300)
    rows = rows_at(TwoClasses, y, weights, X[:, 0])
    left = X[:, 1] <= 0.3
    for side, value in zip((left, ~left), rows.optimum(left)[:, 0], strict=True):
        w, a, z = weights[side], rows.latents[side, 0], y[side]
        slope = lambda v: w @ (z - expit(a + v)) - PRIOR_ROWS / 4.0 * v  # noqa: B023, E731
        np.testing.assert_allclose(value, brentq(slope, -50.0, 50.0, xtol=1e-13), atol=1e-10)


@for_each("n_classes", [2, 3, 6])
def test_the_values_of_many_classes_are_most_probable(n_classes):
    X, y = problem(n_classes=n_classes)
    weights = np.random.default_rng(1).exponential(size=300)
    rows = rows_at(SoftmaxRows, y, weights, X[:, 0])
    left = X[:, 1] <= 0.3
    for side, values in zip((left, ~left), rows.optimum(left), strict=True):

        def loss(v, side=side):
            log_p = log_softmax(rows.latents[side] + v, axis=1)
            own = log_p[np.arange(len(log_p)), y[side].astype(int)]
            return -weights[side] @ own + 0.5 * PRIOR_ROWS * 0.5 * v @ v

        best = minimize(loss, np.zeros(n_classes), tol=1e-10)
        np.testing.assert_allclose(values, best.x, atol=1e-4)
        assert loss(values) <= best.fun + 1e-10
        assert np.sum(values) == pytest.approx(0.0, abs=1e-9)


@for_each("kind", [TwoClasses, SoftmaxRows])
def test_a_side_of_one_class_has_a_finite_value_and_an_empty_side_none(kind):
    y = np.array([0.0] * 40 + [1.0] * 10)
    rows = rows_at(kind, y, np.ones(50))
    values = rows.optimum(y == 0.0)
    assert np.all(np.isfinite(values))
    assert np.abs(values).max() < 20.0
    np.testing.assert_array_equal(rows.optimum(np.ones(50, dtype=bool))[1], 0.0)


def test_rows_far_on_the_wrong_side_are_brought_back():
    y = np.array([1.0, 1.0, 0.0, 0.0])
    for kind in (TwoClasses, SoftmaxRows):
        rows = rows_at(kind, y, np.ones(4))
        L = rows.latents.shape[1]
        rows.move(y == 0.0, np.array([[-15.0, 15.0], [15.0, -15.0]])[:, -L:] / L)
        rows.move(y == 0.0, rows.optimum(y == 0.0))
        assert rows.log_likelihood() > -1.0


@pytest.mark.parametrize("kind", [TwoClasses, SoftmaxRows])
def test_steps_that_are_far_too_long_are_taken_back(kind, monkeypatch):
    monkeypatch.setattr(class_rows, "LARGEST_STEP", 1e9)
    monkeypatch.setattr(class_rows, "_optimum", class_rows._optimum.py_func)
    y = np.array([0.0, 0.0, 1.0, 1.0] * 5)
    rows, everywhere = rows_at(kind, y, np.ones(20)), np.ones(20, dtype=bool)
    L = rows.latents.shape[1]
    rows.move(everywhere, np.array([[-6.0, 6.0], [0.0, 0.0]])[:, -L:] / L)
    values = rows.optimum(everywhere)
    slope = lambda v: np.sum(y - expit(6.0 + v)) - PRIOR_ROWS / 4.0 * v  # noqa: E731
    best = brentq(slope, -50.0, 50.0, xtol=1e-13)
    np.testing.assert_allclose(values[0, -1] - (values[0, 0] if L > 1 else 0.0), best, atol=1e-8)


def test_many_classes_with_diagonal_curvatures_reach_nearly_the_same(monkeypatch):
    X, y = problem(n_classes=6)
    left = X[:, 0] <= 0.3
    rows = rows_at(SoftmaxRows, y, np.ones(300))
    exact = rows.gain(left, rows.optimum(left))
    monkeypatch.setattr(class_rows, "_MANY_CLASSES", 5)
    values = rows.optimum(left)
    assert 0.99999 * exact < rows.gain(left, values) <= exact + 1e-9
    np.testing.assert_allclose(np.sum(values, axis=1), 0.0, atol=1e-9)


# Rounds


@for_each(("kind", "n_classes"), [(TwoClasses, 2), (SoftmaxRows, 4)])
@for_each("selection", ["one_step", "full"])
@for_each("learning_rate", [1.0, 0.2])
def test_every_round_raises_the_log_likelihood(kind, n_classes, selection, learning_rate):
    n_rounds = 8 if selection == "one_step" else 3
    X, y = problem(n=40, n_columns=2, n_classes=n_classes)
    _, found = boosted(X, y, n_rounds, kind=kind, selection=selection, learning_rate=learning_rate)
    assert np.all(np.diff(found.log_likelihood) > boosting.LEAST_GAIN)
    np.testing.assert_allclose(found.steps.gains, np.diff(found.log_likelihood))
    assert len(found.steps) == n_rounds


def textbook(X, y, n_rounds):
    """Every threshold between two values, by sums over sorted rows."""
    precision = PRIOR_ROWS / 4.0
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    a, steps = np.full(len(y), np.log(y.mean() / (1.0 - y.mean()))), []
    for _ in range(n_rounds):
        g, h = y - expit(a), expit(a) * expit(-a)
        G, H = (np.cumsum(x[order], axis=0)[:-1] for x in (g, h))
        gains = G**2 / (H + precision) + (g.sum() - G) ** 2 / (h.sum() - H + precision)
        gains[ordered[1:] == ordered[:-1]] = 0.0
        i, j = np.unravel_index(np.argmax(gains), gains.shape)
        left = X[:, j] <= ordered[i, j]
        for side in (left, ~left):
            z, b = y[side], a[side]
            slope = lambda v: np.sum(z - expit(b + v)) - precision * v  # noqa: B023, E731
            a[side] += brentq(slope, -50.0, 50.0, xtol=1e-12)
        steps.append((j, 0.5 * (ordered[i, j] + ordered[i + 1, j])))
    return a, np.array(steps)


def test_training_is_that_of_the_textbook():
    X, y = problem(n=200)  # of so few, every value has a code of its own
    catalogue, found = boosted(X, y, 25)
    a, steps = textbook(X, y, 25)
    np.testing.assert_array_equal(found.steps.tests[:, 0], steps[:, 0])
    np.testing.assert_allclose(found.steps.thresholds, steps[:, 1], rtol=1e-12)
    np.testing.assert_allclose(found.steps.latents(catalogue.family, X)[:, 0], a, atol=1e-8)


@for_each(("kind", "n_classes"), [(TwoClasses, 2), (SoftmaxRows, 4)])
def test_steps_say_where_training_ended(kind, n_classes):
    X, y = problem(n_classes=n_classes)
    X[::9, 1] = np.nan
    catalogue, found = boosted(X, y, kind=kind)
    a = found.steps.latents(catalogue.family, X)
    if n_classes == 2:
        log_p = log_expit((2.0 * y - 1.0) * a[:, 0])
    else:
        log_p = log_softmax(a, axis=1)[np.arange(300), y.astype(int)]
    np.testing.assert_allclose(np.sum(log_p), found.log_likelihood[-1], rtol=1e-10)


def test_a_softmax_of_two_classes_is_the_model_of_two_classes():
    X, y = problem()
    catalogue, binary = boosted(X, y, 40)
    _, both = boosted(X, y, 40, kind=SoftmaxRows)
    np.testing.assert_array_equal(binary.steps.tests, both.steps.tests)
    np.testing.assert_array_equal(binary.steps.thresholds, both.steps.thresholds)
    p1 = expit(binary.steps.latents(catalogue.family, X)[:, 0])
    p = softmax(both.steps.latents(catalogue.family, X), axis=1)
    np.testing.assert_allclose(p[:, 1], p1, atol=1e-8)


def test_the_first_rounds_of_a_long_training_are_a_short_one():
    X, y = problem()
    _, long = boosted(X, y, 20)
    _, short = boosted(X, y, 7)
    for name in ("tests", "thresholds", "values", "gains"):
        np.testing.assert_array_equal(
            getattr(long.steps.truncate(7), name), getattr(short.steps, name)
        )


def best_step(codes, rows, selection):
    catalogue = Catalogue(None, np.arange(len(codes))[:, None], np.zeros((len(codes), 255)))
    with candidates.CodedTests(catalogue, codes, None).open(selection) as find:
        return find(rows).left


@pytest.mark.full
def test_the_choice_by_one_newton_step_is_nearly_the_full_one():
    X, y = problem(n=120, n_columns=4, seed=4)
    _, codes = laid_out(X)
    rows, ratios = rows_at(TwoClasses, y, np.ones(120)), []
    for _ in range(12):
        quick, full = (best_step(codes, rows, kind) for kind in ("one_step", "full"))
        ratios.append(rows.gain(quick, rows.optimum(quick)) / rows.gain(full, rows.optimum(full)))
        rows.move(quick, rows.optimum(quick))
    assert max(ratios) <= 1.0 + 1e-9
    assert min(ratios) > 0.7
    assert np.mean(ratios) > 0.95


def test_the_best_of_all_is_chosen_by_full_optimisation():
    X, y = problem(n=50, n_columns=2)
    _, codes = laid_out(X)
    rows = rows_at(TwoClasses, y, np.ones(50))
    left = best_step(codes, rows, "full")
    best = rows.gain(left, rows.optimum(left))
    for row in codes:
        for c in np.unique(row)[:-1]:
            assert rows.gain(row <= c, rows.optimum(row <= c)) <= best


@for_each(("kind", "n_classes"), [(TwoClasses, 2), (SoftmaxRows, 3)])
def test_a_whole_weight_trains_as_repeated_rows(kind, n_classes):
    X, y = problem(n=80, n_classes=n_classes)
    X = np.round(X, 1)
    weights = np.random.default_rng(2).integers(1, 4, size=80)
    again = np.random.default_rng(3).permutation(np.repeat(np.arange(80), weights))
    _, once = boosted(X, y, 30, weights=weights.astype(float), kind=kind)
    _, repeated = boosted(X[again], y[again], 30, kind=kind)
    np.testing.assert_array_equal(once.steps.tests, repeated.steps.tests)
    np.testing.assert_array_equal(once.steps.thresholds, repeated.steps.thresholds)
    np.testing.assert_allclose(once.steps.values, repeated.steps.values, atol=1e-9)


def test_training_ends_where_nothing_can_be_gained():
    y = np.array([0.0, 1.0] * 20)
    _, found = boosted(np.ones((40, 3)), y)
    assert len(found.steps) == 0
    assert "no further step" in found.stop_reason


def test_a_constant_column_is_never_chosen():
    X, y = problem(n_columns=3)
    X[:, 0] = 4.0
    _, found = boosted(X, y, 20)
    assert not np.any(found.steps.tests == 0)


def test_missing_values_can_tell_classes_apart():
    X, y = problem(n_columns=2)
    X[:, 1] = np.where(y == 1.0, np.nan, X[:, 1])
    catalogue, found = boosted(X, y, 1)
    assert found.steps.tests[0, 0] == 1
    assert found.steps.thresholds[0] == np.inf
    np.testing.assert_array_equal(found.steps.latents(catalogue.family, X)[:, 0] > 0.0, y == 1.0)


# Catalogues


def test_codes_of_a_family_that_answers_with_numbers_agree_with_its_thresholds():
    X, _ = problem(n=400, n_columns=2)
    X[::11, 0] = np.nan
    places = np.arange(0, 400, 3, dtype=np.int32)
    family = projections.Orientations(n_angles=20).adapt_to(X)
    catalogue = Catalogue.from_rows(family, X, places, family.catalogue(), n_offsets=40)
    codes = catalogue.encode_rows(X, places)
    nodes = np.zeros(len(places), dtype=np.int32)
    answers = family.respond(X, places, catalogue.tests[None], nodes)
    assert codes.shape == (20, len(places))
    assert np.all(np.isfinite(catalogue.cuts).sum(axis=1) == 40)
    for c in (0, 20, 39, 40, 254):
        below = answers <= catalogue.cuts[:, c, None]
        np.testing.assert_array_equal(codes <= c, below)


def test_few_thresholds_lie_evenly_among_the_answers():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    family = projections.Orientations(n_angles=4).adapt_to(X)
    places = np.arange(2000, dtype=np.int32)
    catalogue = Catalogue.from_rows(family, X, places, family.catalogue(), n_offsets=9)
    for codes in catalogue.encode_rows(X, places):
        counts = np.bincount(codes)
        assert len(counts) == 10
        assert counts.min() > 60


# A whole fit


def fit_steps(X, y, weights, options, rng):
    given = boosting.GivenRows(X, y, weights)
    return boosting.fit_boosted_steps(columns.Columns(), given, options, rng)[1]


def test_held_out_rows_choose_the_number_of_rounds_and_all_rows_are_used():
    X, y = problem(n=400)
    options = boosting.BoostingOptions(
        boosting.BoostingRules(200, patience=5), validation_fraction=0.3
    )
    weights, rng = np.ones(400), np.random.default_rng
    found = fit_steps(X, y, weights, options, rng(0))
    best = int(np.argmax(found.scores))
    assert 0 < len(found.steps) == best < 200
    assert len(found.scores) == best + 5 + 1
    assert "held out" in found.stop_reason
    plain = boosting.BoostingOptions(boosting.BoostingRules(best))
    again = fit_steps(X, y, weights, plain, rng(1))
    np.testing.assert_array_equal(found.steps.values, again.steps.values)
    np.testing.assert_allclose(found.log_likelihood, again.log_likelihood)


def test_a_row_of_weight_zero_is_absent():
    X, y = problem(n=100)
    weights = np.r_[np.ones(60), np.zeros(40)]
    X[60:] = 1e9
    options, rng = (
        boosting.BoostingOptions(boosting.BoostingRules(10)),
        np.random.default_rng(0),
    )
    found = fit_steps(X, y, weights, options, rng)
    alone = fit_steps(X[:60], y[:60], np.ones(60), options, rng)
    np.testing.assert_array_equal(found.steps.thresholds, alone.steps.thresholds)
    np.testing.assert_array_equal(found.steps.values, alone.steps.values)
