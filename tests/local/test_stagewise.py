"""Units added one at a time to a sum whose earlier terms stay."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from support.for_each import for_each

from posterity import StagewiseClassifier, features, likelihoods, optimize
from posterity.inference import learned_features, rows
from posterity.local import screening, stage_validation, stagewise

LIKELIHOODS = [
    likelihoods.Bernoulli(),
    likelihoods.Categorical(3),
    likelihoods.Normal(),
    likelihoods.Poisson(),
    likelihoods.StudentT(),
    likelihoods.Gamma(),
]
every_likelihood = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda likelihood: type(likelihood).__name__
)
every_kind = pytest.mark.parametrize("kind", [features.LearnedArctan, features.LearnedRadial])


def observed(likelihood, n=120, seed=0):
    """Rows of two columns, and what the likelihood may observe there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a = 2.0 * np.arctan(3.0 * X[:, 0]) * np.exp(-0.5 * X[:, 1] ** 2)
    if isinstance(likelihood, likelihoods.Coupled):
        return X, likelihood.sample(np.column_stack([a, -a, 0.0 * a]), rng=rng).astype(float)
    known = likelihood.with_parameters(np.log(np.full(len(likelihood.names), 4.0)))
    return X, known.sample(a, rng=rng).astype(float)


def fitted(X, y, likelihood, kind=features.LearnedArctan, counts=None, seed=0, **options):
    counts = np.ones(len(y)) if counts is None else counts
    unit = kind(1, n_restarts=options.pop("n_restarts", 1)).fit(X, sample_weight=counts)
    n_stages = options.pop("n_stages", 4)
    fitter = stagewise.prepare_stages(unit, X, y, counts, likelihood, **options)
    return fitter.fit(n_stages, np.random.default_rng(seed))


def problem_of(likelihood, kind=features.LearnedArctan, seed=0, base=True):
    X, y = observed(likelihood, 40)
    rng, unit = np.random.default_rng(seed), kind(1).fit(X)
    tuned = likelihood.search_start(y, np.ones(40))[0]
    C = np.size(tuned.fit_constant(y, np.ones(40))[0])
    return learned_features.LearnedFeatureProblem.from_rows(
        unit,
        unit.standardise(X),
        y,
        rng.uniform(0.5, 2.0, 40),
        tuned,
        weight_information=1.0,
        fit_intercept=True,
        base=0.3 * rng.normal(size=(40, C)) if base else None,
    )


def moved(problem, offset):
    """With the prior of a single offset about another value."""
    return replace(problem, mean=np.append(problem.mean[:-1], offset))


def numeric_gradient(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


@every_kind
@every_likelihood
def test_gradient_about_a_given_part_is_what_differences_give(likelihood, kind):
    problem = problem_of(likelihood, kind)
    x = 0.3 * np.random.default_rng(1).normal(size=len(problem.mean))
    numeric = numeric_gradient(lambda x: problem(x)[0], x)
    np.testing.assert_allclose(problem(x)[1], numeric, rtol=2e-6, atol=2e-6)


@every_likelihood
def test_a_given_part_is_added_to_the_latent_values(likelihood):
    problem = problem_of(likelihood)
    x = 0.3 * np.random.default_rng(1).normal(size=len(problem.mean))
    A = replace(problem, base=None).latents(x) + problem.base
    np.testing.assert_allclose(problem.latents(x), A)
    a = problem.likelihood.shape_latents(A)
    loss = -problem.counts @ problem.likelihood.log_prob(problem.y, a)
    assert problem(x)[0] == pytest.approx(loss + 0.5 * x @ x)
    np.testing.assert_allclose(problem.join(*problem.split(x)), x)


@for_each("likelihood", [likelihoods.Bernoulli(), likelihoods.Poisson()])
def test_screening_is_a_newton_step_of_weight_and_offset(likelihood):
    problem, theta = problem_of(likelihood), np.array([1.0, -0.5, 0.2])
    screen = screening.CandidateScreen.from_problem(moved(problem, 0.4))
    W, b, gain = screen.take_newton_steps(problem.units, theta)
    z = problem.units.evaluate_columns(problem.U, theta)
    Z, a = np.column_stack([z, np.ones(40)]), problem.base[:, 0] + 0.4
    h = -problem.counts * likelihood.d2(problem.y, a)
    precision = np.diag(problem.spread[3:] ** -2.0)
    q = Z.T @ (problem.counts * likelihood.d1(problem.y, a))
    step = np.linalg.solve((Z.T * h) @ Z + precision, q)
    np.testing.assert_allclose([W[0, 0], b[0, 0] - 0.4], step)
    # of the gain, without what the offset alone would add
    alone = 0.5 * q[1] ** 2 / (h.sum() + precision[1, 1])
    assert gain[0] == pytest.approx(0.5 * q @ step - alone)


def test_screening_by_blocks_of_rows_is_screening_at_once(monkeypatch):
    screen = screening.CandidateScreen.from_problem(problem_of(likelihoods.Poisson()))
    whole = screen.choose_start(np.random.default_rng(0))
    monkeypatch.setattr(screening, "_BLOCK", 7 * 63)
    np.testing.assert_allclose(screen.choose_start(np.random.default_rng(0)), whole, rtol=1e-10)


def test_screening_takes_the_candidate_that_promises_most():
    screen = screening.CandidateScreen.from_problem(problem_of(likelihoods.Bernoulli()))
    crowd, thetas = screen.draw_candidates(np.random.default_rng(3))
    W, b, gains = screen.take_newton_steps(crowd, thetas.ravel())
    assert len(gains) == 63
    theta, (w, offset) = screen.problem.split(screen.choose_start(np.random.default_rng(3)))
    best = np.argmax(gains)
    np.testing.assert_allclose(theta, thetas[best])
    np.testing.assert_allclose([w, offset], [W[best], b[best]])
    singly = [screen.take_newton_steps(screen.problem.units, theta)[2][0] for theta in thetas]
    np.testing.assert_allclose(gains, singly)


def test_candidates_are_as_wide_as_the_rows_and_narrower():
    problem = problem_of(likelihoods.Normal(), features.LearnedRadial)
    screen = screening.CandidateScreen.from_problem(problem)
    _, thetas = screen.draw_candidates(np.random.default_rng(0))
    widths = np.unique(np.exp(thetas[:, -1]).round(6))
    np.testing.assert_allclose(widths, np.sqrt(2.0 / np.array([32, 16, 8, 4, 2, 1])), rtol=1e-5)
    places = {tuple(u) for u in problem.U.round(9)}
    assert all(tuple(center) in places for center in thetas[:, :-1].round(9))


def test_candidates_lie_where_rows_count():
    problem = problem_of(likelihoods.Normal(), features.LearnedRadial)
    counts = np.where(np.arange(40) == 7, 1e9, 1e-9)
    screen = screening.CandidateScreen.from_problem(replace(problem, counts=counts))
    _, thetas = screen.draw_candidates(np.random.default_rng(0))
    np.testing.assert_allclose(thetas[:, :-1], np.tile(problem.U[7], (63, 1)))


@for_each(("offset", "fraction"), [(-1.0, 1.0), (-1.5, 0.5), (-3.0, 0.25), (0.0, 0)])
def test_a_step_that_is_too_long_is_shortened_or_not_made(offset, fraction):
    """Equal counts under an offset that is too low: the exponential rises above its parabola."""
    X, n = np.linspace(-1.0, 1.0, 20)[:, None], 20
    unit = features.LearnedArctan(1).fit(X)
    problem = learned_features.LearnedFeatureProblem.from_rows(
        unit,
        unit.standardise(X),
        np.ones(n),
        np.ones(n),
        likelihoods.Poisson(),
        weight_information=1.0,
        fit_intercept=True,
    )
    screen = screening.CandidateScreen.from_problem(moved(problem, offset))
    crowd, thetas = screen.draw_candidates(np.random.default_rng(0))
    W, b, gains = screen.take_newton_steps(crowd, thetas.ravel())
    _, made = screen.problem.split(screen.choose_start(np.random.default_rng(0)))
    best = np.argmax(gains)
    step = np.array([W[best], b[best] - offset])
    np.testing.assert_allclose(made - [[0.0], [offset]], fraction * step, atol=1e-12)


@every_kind
@every_likelihood
def test_the_log_likelihood_rises_with_every_stage(likelihood, kind):
    X, y = observed(likelihood)
    fit = fitted(X, y, likelihood, kind, n_stages=5)
    values = [step.log_likelihood for step in fit.steps]
    assert fit.n_units >= 2
    assert np.all(np.diff(values) > 0.0)


@for_each("likelihood", [likelihoods.Normal(), likelihoods.Gamma(), likelihoods.StudentT()])
def test_what_a_likelihood_leaves_open_is_at_its_best_after_every_stage(likelihood):
    X, y = observed(likelihood)
    for step, A in zip(
        (fit := fitted(X, y, likelihood)).steps, fit.iterate_latents(X), strict=True
    ):
        slopes = step.likelihood.parameter_derivatives(y, A[:, 0])[0].sum(axis=1)
        inside = np.abs(step.likelihood.theta - np.log(1e3)) > 1e-6  # the most freedom there is
        assert np.all(np.abs(slopes[inside]) < 0.1), slopes
    assert fit.steps[-1].likelihood != fit.steps[0].likelihood


def test_the_noise_is_that_of_the_residuals():
    X, y = observed(likelihoods.Normal())
    fit = fitted(X, y, likelihoods.Normal())
    expected = np.mean((y - fit.latents(X)[:, 0]) ** 2)
    assert fit.steps[-1].likelihood.noise_variance == pytest.approx(expected, rel=1e-4)


def test_a_unit_is_as_sharp_as_the_noise_that_it_leaves_allows():
    X = np.linspace(-3.0, 3.0, 100)[:, None]
    y = np.exp(-0.5 * (X[:, 0] - 1.0) ** 2 / 0.25)
    fit = fitted(X, y, likelihoods.Normal(), features.LearnedRadial, n_stages=1)
    np.testing.assert_allclose(fit.latents(X)[:, 0], y, atol=2e-3)


def test_given_parameters_of_a_likelihood_stay():
    X, y = observed(likelihoods.Normal())
    fit = fitted(X, y, likelihoods.Normal(3.0))
    assert all(step.likelihood == likelihoods.Normal(3.0) for step in fit.steps)


def test_a_bump_is_found_where_it_is():
    rng = np.random.default_rng(0)
    X = rng.uniform(-5.0, 5.0, (400, 1))
    a = 6.0 * np.exp(-0.5 * (X[:, 0] - 2.0) ** 2 / 0.7**2) - 3.0
    y = (rng.random(400) < expit(a)) * 1.0
    fit = fitted(X, y, likelihoods.Bernoulli(), features.LearnedRadial, n_stages=1)
    center, log_width = fit.thetas[0]
    assert center * X.std() + X.mean() == pytest.approx(2.0, abs=0.15)
    assert np.exp(log_width) * X.std() == pytest.approx(0.7, rel=0.25)
    assert fit.weights[0, 0] == pytest.approx(6.0, rel=0.25)
    assert fit.steps[1].offset[0] == pytest.approx(-3.0, rel=0.25)


@for_each("order", [1, -1])
def test_the_deepest_of_several_valleys_is_kept(order):
    X = np.linspace(-4.0, 4.0, 81)[:, None]
    y = 2.0 * np.exp(-4.0 * (X[:, 0] - 2.0) ** 2) + np.exp(-4.0 * (X[:, 0] + 2.0) ** 2)
    unit, counts = features.LearnedRadial(1).fit(X), np.ones(81)
    fitter = stagewise.prepare_stages(unit, X, y, counts, likelihoods.Normal(0.01), max_iter=300)
    problem = fitter.problem(np.zeros((81, 1)), fitter.constant(fitter.likelihood))
    W = np.array([[0.5], [0.0]])
    centers = np.array([2.0, -2.0])[::order] / X.std()
    best = fitter.race_starts(problem, [problem.join([u, -1.5], W) for u in centers])
    assert problem.split(best.x)[0][0] * X.std() == pytest.approx(2.0, abs=0.05)


def test_the_rate_of_counts_is_recovered():
    rng = np.random.default_rng(1)
    X = rng.uniform(-4.0, 4.0, (600, 1))
    a = 1.0 + 2.0 * np.exp(-((X[:, 0] - 2.0) ** 2)) - 2.0 * np.exp(-((X[:, 0] + 2.0) ** 2))
    y = rng.poisson(np.exp(a)).astype(float)
    fit = fitted(X, y, likelihoods.Poisson(), features.LearnedRadial, n_stages=6)
    error = fit.latents(X)[:, 0] - a
    assert np.sqrt(np.mean(error**2)) < 0.12 < 0.15 * np.std(a)


def test_a_longer_fit_begins_with_the_shorter_one():
    X, y = observed(likelihoods.Bernoulli())
    short = fitted(X, y, likelihoods.Bernoulli(), n_stages=2)
    long = fitted(X, y, likelihoods.Bernoulli(), n_stages=5)
    assert (short.n_units, long.n_units) == (2, 5)
    for one, other in zip(short.steps, long.steps[:3], strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.offset, other.offset)
    cut = long.truncate(2)
    assert cut.stop_reason == "cut to 2 of 5 units"
    np.testing.assert_array_equal(cut.latents(X), short.latents(X))
    np.testing.assert_array_equal(list(long.iterate_latents(X))[2], short.latents(X))
    assert long.truncate(5) is long


def test_latent_values_are_the_sum_of_the_formula():
    X, y = observed(likelihoods.Categorical(3))
    fit = fitted(X, y, likelihoods.Categorical(3), n_stages=3)
    U = (X - X.mean(axis=0)) / X.std(axis=0)
    total = fit.steps[-1].offset + sum(
        np.arctan(U @ theta[:-1] + theta[-1])[:, None] * w
        for theta, w in zip(fit.thetas, fit.weights, strict=True)
    )
    np.testing.assert_allclose(fit.latents(X), total)
    columns = fit.joint_units().transform(X) @ fit.weights + fit.steps[-1].offset
    np.testing.assert_allclose(columns, total)


def test_two_classes_by_softmax_are_two_classes_by_sigmoid():
    X, y = observed(likelihoods.Bernoulli(), 300)
    one = fitted(X, y, likelihoods.Bernoulli(), n_stages=3)
    two = fitted(X, y, likelihoods.Categorical(2), n_stages=3)
    a, A = one.latents(X)[:, 0], two.latents(X)
    np.testing.assert_allclose(expit(A[:, 1] - A[:, 0]), expit(a), atol=5e-3)
    for sigmoid, softmax in zip(one.steps, two.steps, strict=True):
        assert softmax.log_likelihood == pytest.approx(sigmoid.log_likelihood, abs=2e-2)


def test_two_classes_are_screened_alike_by_softmax_and_sigmoid():
    X, y = observed(likelihoods.Bernoulli(), 60)
    promised = []
    for likelihood in (likelihoods.Bernoulli(), likelihoods.Categorical(2)):
        unit = features.LearnedArctan(1).fit(X)
        problem = learned_features.LearnedFeatureProblem.from_rows(
            unit,
            unit.standardise(X),
            y,
            np.ones(60),
            likelihood,
            weight_information=1.0,
            fit_intercept=True,
        )
        screen = screening.CandidateScreen.from_problem(problem)
        crowd, thetas = screen.draw_candidates(np.random.default_rng(0))
        W, _, gains = screen.take_newton_steps(crowd, thetas.ravel())
        promised.append((W[:, -1] - (W[:, 0] if W.shape[1] == 2 else 0.0), gains))
    np.testing.assert_allclose(promised[1][0], promised[0][0], rtol=1e-10)
    np.testing.assert_allclose(promised[1][1], promised[0][1], rtol=1e-10)


@pytest.mark.full(but=1)
@every_likelihood
def test_results_are_the_same_for_any_number_of_jobs(likelihood):
    X, y = observed(likelihood)
    one, two = (fitted(X, y, likelihood, n_restarts=2, n_stages=2, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.latents(X), two.latents(X))


def test_separable_rows_keep_finite_weights():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    fit = fitted(X, (X[:, 0] > 0.0) * 1.0, likelihoods.Bernoulli(), n_stages=20)
    assert 2.0 < np.abs(fit.latents(X)).max() < 100.0
    assert -1.0 < fit.steps[-1].log_likelihood < 0.0


def test_stages_end_where_nothing_is_left_to_gain():
    X, y = np.ones((30, 2)), np.r_[np.zeros(10), np.ones(20)]
    fit = fitted(X, y, likelihoods.Bernoulli(), n_stages=5)
    assert fit.n_units == 0
    assert fit.stop_reason == "no further unit gained more than 0.001 nats"
    assert fit.joint_units() is None
    np.testing.assert_allclose(fit.latents(X), np.log(2.0))
    assert fit.thetas.shape == (0, 3)
    assert fit.weights.shape == (0, 1)


def test_equal_targets_need_no_unit():
    X = np.arange(20.0)[:, None]
    fit = fitted(X, np.full(20, 7.0), likelihoods.Normal())
    assert fit.n_units == 0
    np.testing.assert_allclose(fit.latents(X), 7.0)


def test_a_search_that_is_cut_short_says_so():
    X, y = observed(likelihoods.Bernoulli())
    with pytest.warns(optimize.ConvergenceWarning, match="2 L-BFGS iterations were not enough"):
        fitted(X, y, likelihoods.Bernoulli(), n_stages=1, max_iter=2)


@pytest.mark.full
def test_memory_grows_with_the_rows_not_with_the_candidates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 2))
    y = (rng.random(len(X)) < expit(3.0 * X[:, 0] * X[:, 1])) * 1.0
    unit = features.LearnedRadial(1, n_restarts=1).fit(X)
    likelihood = likelihoods.Bernoulli()
    tracemalloc.start()
    fitter = stagewise.prepare_stages(unit, X, y, np.ones(len(y)), likelihood, max_iter=300)
    fitter.fit(3, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_candidates = 8 * 63 * len(X)  # bytes: one column for each
    assert peak < 0.8 * of_candidates


def test_held_out_rows_are_a_fraction_of_each_group_and_never_all_of_one():
    groups = np.repeat([0.0, 1.0, 2.0], [50, 20, 1])
    held = rows.draw_held_out_rows(groups, 0.2, np.random.default_rng(0))
    assert [int(held[groups == g].sum()) for g in range(3)] == [10, 4, 0]
    other = rows.draw_held_out_rows(groups, 0.2, np.random.default_rng(1))
    assert not np.array_equal(held, other)
    most = rows.draw_held_out_rows(groups, 0.999, np.random.default_rng(0))
    assert [int((~most)[groups == g].sum()) for g in range(3)] == [1, 1, 1]


def test_folds_hold_out_each_row_once_with_its_share_of_every_group():
    groups = np.repeat([0.0, 1.0, 2.0], [50, 20, 1])
    folds = rows.draw_folds(groups, 0.2, np.random.default_rng(0))
    assert [np.bincount(folds[groups == g], minlength=5).tolist() for g in (0, 1)] == [
        [10] * 5,
        [4] * 5,
    ]
    assert folds[-1] == -1  # the only one of its group is never held out
    assert rows.draw_folds(np.zeros(3), 0.1, np.random.default_rng(0)).max() == 2
    with pytest.raises(ValueError, match="no class has two different rows among the 3"):
        rows.draw_folds(np.arange(3.0), 0.5, np.random.default_rng(0))


def test_nothing_to_hold_out_is_refused_with_a_sentence():
    assert rows.draw_held_out_rows(np.zeros(3), 0.1, np.random.default_rng(0)).sum() == 1
    with pytest.raises(ValueError, match="no class has two different rows among the 3"):
        rows.draw_held_out_rows(np.arange(3.0), 0.5, np.random.default_rng(0))


def test_held_out_rows_choose_the_units_and_tell_the_noise():
    """Against a loop over the folds, one fit of every length for each."""
    X, y = observed(likelihoods.Normal(), 60)
    folds = np.arange(60) % 3
    units = [features.LearnedArctan(1, n_restarts=0).fit(X[folds != k]) for k in range(3)]
    counts, normal = np.ones(60), likelihoods.Normal()
    trials = [
        stagewise.prepare_stages(unit, X[kept], y[kept], counts[kept], normal)
        for unit, kept in zip(units, (folds != k for k in range(3)), strict=True)
    ]
    whole = stagewise.prepare_stages(features.LearnedArctan(1).fit(X), X, y, counts, normal)
    rng = np.random.default_rng(0)
    found = stage_validation.validate_stages(whole, trials, X, folds, n_stages=3, rng=rng)
    children = np.random.default_rng(0).spawn(3)
    fits = [trial.fit(3, child) for trial, child in zip(trials, children, strict=True)]
    for k, likelihood in enumerate(found.likelihoods):
        errors = [y[folds == f] - fit.truncate(min(k, fit.n_units)).latents(X[folds == f])[:, 0]
                  for f, fit in enumerate(fits)]  # fmt: skip
        squares = np.concatenate(errors) ** 2
        assert likelihood.noise_variance == pytest.approx(squares.mean(), rel=1e-3)
        density = -0.5 * (np.log(2.0 * np.pi * squares.mean()) + 1.0)
        assert found.scores[k] == pytest.approx(density, abs=1e-4)
    best = found.log_probs[np.argmax(found.scores)]
    behind = [best - row for row in found.log_probs]
    near = [d.mean() <= stats.sem(d) for d in behind]
    assert found.n_units == near.index(True)
    applied = found.apply(whole.fit(2, np.random.default_rng(1)))
    assert applied.n_validated == 60.0
    assert [step.likelihood for step in applied.steps] == list(found.likelihoods[:3])


def draw_discs(n, seed=0):
    """Rows inside and outside of a circle, with some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.hypot(*X.T) < 1.2) ^ (rng.random(n) < 0.05)


def test_a_learning_rate_shrinks_the_first_unit_and_constant():
    X, y = draw_discs(80)
    whole, part = (
        StagewiseClassifier(1, n_restarts=0, learning_rate=rate, random_state=0).fit(X, y)
        for rate in (1.0, 0.25)
    )
    constant = np.log(y.mean() / (1 - y.mean()))
    np.testing.assert_allclose(part.coef_, 0.25 * whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(
        part.intercept_, constant + 0.25 * (whole.intercept_ - constant), rtol=1e-3
    )


def test_short_searches_of_shrunken_units_do_not_warn_and_predict():
    X, y = draw_discs(300)
    model = StagewiseClassifier(
        80, n_restarts=0, learning_rate=0.2, subsample=0.5, max_iter=8, random_state=0
    ).fit(X[:200], y[:200])
    assert np.all(np.diff(model.log_likelihoods_[::10]) > 0.0)
    assert model.score(X[200:], y[200:]) > 0.85


@pytest.mark.parametrize("name", ["learning_rate", "subsample"])
def test_rates_and_shares_above_one_are_refused(name):
    X, y = draw_discs(20)
    with pytest.raises(ValueError, match=f"{name}=1.5 must be at most 1"):
        StagewiseClassifier(1, **{name: 1.5}).fit(X, y)
