"""Sparse models of any likelihood against brute force, differences and their own theorems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sparse_support import select_laplace, select_normal
from support.for_each import for_each
from support.latents import with_covariance
from weight_oracles import DenseWeights

from posterity import designs, kernels, likelihoods, priors
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import laplace as sparse_laplace
from posterity.sparse import precisions as sparse_precisions
from posterity.sparse import problem as sparse_problem
from posterity.sparse import scores as sparse_scores
from posterity.sparse import sequential as sparse_sequential
from posterity.sparse.engines import LatentOutputs
from posterity.sparse.problem import SparseModel, SparseProblem

CLASSICAL = priors.Sparse()
LIKELIHOODS = {
    "bernoulli": likelihoods.Bernoulli(),
    "poisson": likelihoods.Poisson(),
    "gamma": likelihoods.Gamma(3.0),
    "student": likelihoods.StudentT(0.5, 4.0),
    "normal": likelihoods.Normal(0.3),
}
CONCAVE = {name: kind for name, kind in LIKELIHOODS.items() if kind.log_concave}
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
each_concave = pytest.mark.parametrize("likelihood", CONCAVE.values(), ids=CONCAVE)
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])


def observed(likelihood, a, rng):
    if isinstance(likelihood, likelihoods.Bernoulli):
        return (a + rng.logistic(size=len(a)) > 0.0).astype(float)
    if isinstance(likelihood, likelihoods.Poisson):
        return rng.poisson(np.exp(0.5 * a)).astype(float)
    if isinstance(likelihood, likelihoods.Gamma):
        return rng.gamma(3.0, np.exp(0.5 * a) / 3.0)
    return a + 0.5 * rng.standard_t(4.0, size=len(a))


def linear(likelihood, seed=0, n=60, m=12):
    """Two of m columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-2, 2, m) + rng.normal(size=m)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, observed(likelihood, 1.5 * Z[:, 1] - 2.0 * Z[:, 4], rng)


def bananas(n, seed=0, spread=0.35):
    rng = np.random.default_rng(seed)
    k, angle = rng.integers(2, size=n), rng.uniform(0.0, np.pi, n)
    sign = 1.0 - 2.0 * k
    x = np.column_stack([sign * (np.cos(angle) - 0.5), sign * (np.sin(angle) - 0.25)])
    return x + spread * rng.standard_normal((n, 2)), k.astype(float)


def radial(X, length=0.5):
    return np.exp(-0.5 * cdist(X, X, "sqeuclidean") / length**2)


def candidates_of(X, weights=None, *, offset=True, **options):
    return designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(X), weights, centred=offset, **options
    )


def maximised(X, y, likelihood, weights=None, *, offset=True, prior=CLASSICAL, **options):
    targets = RowTargets.from_observations(y, weights, likelihood, offset=offset)
    return select_laplace(
        candidates_of(X, weights, offset=offset), targets, offset=offset, prior=prior, **options
    )


def fitted(X, y, likelihood, places, precision, *, offset, weights=None):
    """A model of some columns, and the candidates."""
    targets = RowTargets.from_observations(y, weights, likelihood, offset=offset)
    candidates = candidates_of(X, weights, offset=offset)
    Z = np.hstack(
        [candidates.take_columns(np.asarray(places)).copy_to_host(), np.ones((len(y), int(offset)))]
    )
    prior = WeightPrior(
        np.asarray(precision), Z.shape[1], targets.offset_precision if offset else None
    )
    return LaplaceFit.from_problem(WeightProblem(designs.Dense(Z), targets, prior)), candidates


@each_likelihood
@each_offset
def test_sparsity_and_quality_are_those_of_brute_force(likelihood, offset):
    X, y = linear(likelihood)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    h = np.array([3.0, 0.4])
    fit, candidates = fitted(X, y, likelihood, [0, 4], h, offset=offset, weights=w)
    block = next(candidates.blocks())
    S, Q = sparse_scores.Scorer.from_fit(fit).scores(block)

    Z, t = fit.problem.design.Z, fit.problem.targets
    y, a = t.observed_targets, t.latents(Z @ fit.weights.W)
    precision = np.append(h, t.offset_precision[0] if offset else [])
    B = np.diag(w * likelihood.step_curvature(y, a))
    Sigma = np.linalg.inv(np.diag(precision) + Z.T @ B @ Z)
    H = np.diag(precision) - Z.T @ np.diag(w * likelihood.d2(y, a)) @ Z
    c = 0.5 * w * likelihood.d3(y, a) * np.diag(Z @ np.linalg.inv(H) @ Z.T)
    P = B - B @ Z @ Sigma @ Z.T @ B
    columns = block.copy_to_host()
    for j in (1, 2, 7, 11):
        z = columns[:, j]
        assert S[j] == pytest.approx(z @ P @ z, rel=1e-9)
        assert Q[j, 0] == pytest.approx(z @ (w * likelihood.d1(y, a)), rel=1e-9, abs=1e-9)
        assert Q[j, 1] == pytest.approx(z @ (c - B @ Z @ Sigma @ Z.T @ c), rel=1e-8, abs=1e-9)


@each_concave
@each_offset
def test_quality_is_the_slope_of_the_evidence_where_a_column_comes_in(likelihood, offset):
    X, y = linear(likelihood)
    h = np.array([3.0, 0.4])
    fit, candidates = fitted(X, y, likelihood, [0, 4], h, offset=offset)
    S, Q = sparse_scores.Scorer.from_fit(fit).scores(next(candidates.blocks()))
    for j in (1, 2, 7):
        step = 1e-5
        more, twice = (
            fitted(X, y, likelihood, [0, 4, j], [*h, 1.0 / (k * step)], offset=offset)[0]
            for k in (1, 2)
        )
        first, second = (f.log_evidence - fit.log_evidence for f in (more, twice))
        slope = (2.0 * first - 0.5 * second) / step
        expected = 0.5 * (Q[j, 0] ** 2 - S[j]) + Q[j, 0] * Q[j, 1]
        assert slope == pytest.approx(expected, rel=1e-3, abs=1e-3)


@each_likelihood
@each_offset
@for_each("nu", [0.0, 1.5])
def test_at_the_end_the_objective_is_dense_and_level_in_every_precision(likelihood, offset, nu):
    X, y = linear(likelihood)
    prior = priors.Sparse(nu)
    chosen, _ = maximised(X, y, likelihood, offset=offset, prior=prior)
    assert chosen.converged
    assert not offset or {1, 4} <= set(chosen.places)
    Z = (X[:, chosen.places] - chosen.center) / chosen.scale
    t = RowTargets.from_observations(y, None, likelihood, offset=offset)
    A = np.hstack([Z, np.ones((len(y), int(offset)))])

    def objective(log_h):
        variance = np.append(np.exp(-log_h), t.offset_variance if offset else [])[:, None]
        dense = DenseWeights(A, y, np.ones(len(y)), likelihood, variance, t.shift)
        return dense.log_evidence + float(np.sum(prior.penalty(np.exp(log_h))))

    x = np.log(chosen.precision)
    assert chosen.value == pytest.approx(objective(x), abs=1e-7)
    for e in 1e-3 * np.eye(len(x)):
        assert objective(x + e) - objective(x - e) == pytest.approx(0.0, abs=2e-3 * 2e-4)
    for i in range(len(x)):
        fewer = np.where(np.arange(len(x)) == i, 30.0, x)
        gone = float(prior.penalty(np.exp(30.0)))
        assert objective(fewer) - gone <= chosen.value + 1e-6


@each_likelihood
def test_no_step_lowers_the_objective(likelihood, monkeypatch):
    X, y = linear(likelihood, n=40, m=30)
    values = []

    def recorded(function):
        def watch(kept, *args, **options):
            new = function(kept, *args, **options)
            assert new.value >= kept.value
            values.append(new.value)
            return new

        return watch

    for name in ("_improve", "polish_precisions"):
        monkeypatch.setattr(sparse_laplace, name, recorded(getattr(sparse_laplace, name)))
    maximised(X, y, likelihood)
    assert len(values) > 2
    assert np.all(np.diff(values) >= 0.0)


@each_offset
@for_each("weighted", [True, False], ids=["weights", "no weights"])
def test_with_normal_noise_it_is_the_normal_model_of_known_noise(offset, weighted):
    likelihood = likelihoods.Normal(0.3)
    X, y = linear(likelihood)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    chosen, _ = maximised(X, y, likelihood, w, offset=offset, tol=1e-6)
    nothing, _ = maximised(X, y, likelihood, w, offset=offset, max_iter=0)
    known = {"centred": offset, "noise_variance": np.array([0.3]), "prior": CLASSICAL}
    Y, columns = y[:, None], candidates_of(X, w, offset=offset)
    normal = select_normal(columns, Y, w, tol=1e-12, **known)
    none = select_normal(columns, Y, w, max_iter=0, **known)
    assert sorted(chosen.places) == sorted(normal.places)
    h = dict(zip(normal.places, normal.precision, strict=True))
    ours = [h[place] for place in chosen.places]
    np.testing.assert_allclose(0.3 * chosen.precision, ours, rtol=1e-2)
    gained = chosen.value - nothing.value
    assert gained == pytest.approx(normal.value - none.value, abs=1e-5)


@each_likelihood
def test_a_weight_is_a_repetition(likelihood):
    X, y = linear(likelihood, n=40)
    w = np.random.default_rng(2).integers(1, 4, len(y))
    one, _ = maximised(X, y, likelihood, w.astype(float))
    many, _ = maximised(np.repeat(X, w, axis=0), np.repeat(y, w), likelihood)
    np.testing.assert_array_equal(one.places, many.places)
    np.testing.assert_allclose(one.precision, many.precision, rtol=1e-3)
    assert one.value == pytest.approx(many.value, abs=1e-6)


@each_likelihood
@each_offset
def test_rows_that_are_read_in_chunks_give_the_same_model(likelihood, offset):
    X, y = linear(likelihood, n=120, m=25)
    w = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    targets = RowTargets.from_observations(y, w, likelihood, offset=offset)
    chosen, fit = maximised(X, y, likelihood, w, offset=offset)
    for design in (designs.Streamed(designs.Chunks.from_arrays(X, rows=17)), designs.Dense(X)):
        other, streamed = select_laplace(design, targets, offset=offset, prior=CLASSICAL)
        np.testing.assert_array_equal(other.places, chosen.places)
        np.testing.assert_allclose(other.precision, chosen.precision, rtol=1e-4)
        np.testing.assert_allclose(other.center, chosen.center, atol=1e-12)
        np.testing.assert_allclose(other.scale, chosen.scale, rtol=1e-12)
        assert other.value == pytest.approx(chosen.value, abs=1e-8)
        np.testing.assert_allclose(streamed.weights.W, fit.weights.W, rtol=1e-4, atol=1e-8)


def test_streamed_candidates_lead_as_high_as_held_ones():
    X, y = bananas(150)
    K, targets = (
        radial(X),
        RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True),
    )
    held, _ = maximised(K, y, likelihoods.Bernoulli())
    few = candidates_of(K, limit_bytes=8 * len(K) * 64)
    assert not few.is_held
    streamed, fit = select_laplace(few, targets, offset=True, prior=CLASSICAL)
    assert streamed.converged
    assert streamed.value > held.value - 3.0
    S, Q = sparse_scores.Scorer.from_fit(fit).scores(
        candidates_of(K).take_columns(np.arange(len(K)))
    )
    S[streamed.places] = 0.0
    offered = sparse_sequential.gains(sparse_sequential.CURVED, S, Q, np.ones(2), 1.0, CLASSICAL)
    assert offered.max() < 0.05


def test_few_vectors_tell_bananas_apart():
    X, y = bananas(400)
    chosen, fit = maximised(radial(X), y, likelihoods.Bernoulli())
    assert chosen.converged
    assert 2 <= len(chosen.places) <= 15
    right = (fit.latent(fit.problem.design.Z).mean[:, 0] > 0.0) == (y > 0.0)
    assert right.mean() > 0.9


def test_a_search_that_goes_on_from_its_end_stays_there():
    X, y = bananas(150)
    K = radial(X)
    chosen, fit = maximised(K, y, likelihoods.Bernoulli())
    again, refit = maximised(K, y, likelihoods.Bernoulli(), start=chosen)
    np.testing.assert_array_equal(again.places, chosen.places)
    assert again.n_iter <= 2
    assert again.value == pytest.approx(chosen.value, abs=1e-6)
    np.testing.assert_allclose(refit.weights.W, fit.weights.W, rtol=1e-2)


@each_offset
def test_separable_classes_end_with_finite_weights(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = (X[:, 2] > 0.0).astype(float)
    chosen, fit = maximised(X, y, likelihoods.Bernoulli(), offset=offset)
    assert 2 in chosen.places
    assert np.all(np.isfinite(fit.weights.W))
    assert np.all(np.isfinite(chosen.precision) & (chosen.precision > 0.0))
    assert -40.0 * np.log(2.0) < chosen.value < 0.0


def test_two_rows_are_enough_to_run():
    X, y = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 2.0]]), np.array([0.0, 1.0])
    chosen, fit = maximised(X, y, likelihoods.Bernoulli())
    assert set(chosen.places) <= {0}
    assert np.isfinite(fit.log_evidence)
    radial_of_two, _ = maximised(radial(X), y, likelihoods.Bernoulli())
    assert len(radial_of_two.places) <= 2


@each_likelihood
@each_offset
def test_without_signal_nothing_is_kept(likelihood, offset):
    n = 64
    y = observed(likelihood, np.zeros(n), np.random.default_rng(0))
    targets = RowTargets.from_observations(y, None, likelihood, offset=offset)
    d = likelihood.d1(targets.observed_targets, targets.latents(np.zeros((n, 1))))
    X = np.random.default_rng(1).normal(size=(n, 5))
    U = np.column_stack([np.ones(n), d])
    silent = X - U @ np.linalg.lstsq(U, X, rcond=None)[0]
    chosen, fit = maximised(silent, y, likelihood, offset=offset)
    assert len(chosen.places) == 0
    assert chosen.converged
    assert fit.weights.W.shape == (int(offset), 1)
    assert chosen.value == fit.log_evidence
    alone = likelihood.log_prob(y, np.zeros(n)).sum()
    assert offset or chosen.value == pytest.approx(alone, rel=1e-12)


def test_neighbourhoods_of_one_class_do_no_harm():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    X = np.repeat(centres, 15, axis=0) + 0.3 * rng.normal(size=(60, 2))
    y = np.repeat([0.0, 1.0, 1.0, 0.0], 15)
    chosen, fit = maximised(radial(X, 1.0), y, likelihoods.Bernoulli())
    assert chosen.converged
    assert len(chosen.places) <= 6
    assert np.all((fit.latent(fit.problem.design.Z).mean[:, 0] > 0.0) == (y > 0.0))


def test_equal_and_constant_columns_are_not_kept_twice():
    X, y = linear(likelihoods.Bernoulli())
    doubled = np.hstack([X, 3.0 * X + 1.0, np.full((len(y), 2), 7.0)])
    chosen, _ = maximised(doubled, y, likelihoods.Bernoulli())
    assert len(set(chosen.places % X.shape[1])) == len(chosen.places)
    assert chosen.places.max() < 2 * X.shape[1]


@for_each(
    "likelihood",
    [likelihoods.StudentT(), likelihoods.StudentT(None, 4.0), likelihoods.Gamma()],
    ids=["student", "scale of student", "gamma"],
)
def test_parameters_of_the_likelihood_are_learned_with_the_columns(likelihood):
    X, y = linear(likelihood, n=100)
    outputs = LatentOutputs.from_likelihood(y, None, likelihood, offset=True)
    chosen, fit = outputs.select(candidates_of(X), SparseProblem(CLASSICAL, max_iter=200))
    learned = fit.problem.targets.likelihood
    assert chosen.converged
    assert {1, 4} <= set(chosen.places)
    _, bounds = likelihood.search_start(y, np.ones(len(y)))
    inside = (learned.theta > bounds[:, 0]) & (learned.theta < bounds[:, 1])
    np.testing.assert_allclose(fit.gradient()[1][inside], 0.0, atol=2e-4)
    np.testing.assert_allclose(learned.theta, np.clip(learned.theta, *bounds.T), rtol=1e-12)
    held, _ = maximised(X, y, likelihood.search_start(y, np.ones(len(y)))[0])
    assert chosen.value > held.value


def shortlist(model, block, tol):
    """The columns in use, and the best of a block."""
    scorer = sparse_scores.Scorer.from_fit(model.fit)
    S, Q = scorer.scores(block)
    S[np.isin(block.places, model.places)] = 0.0
    gains = sparse_scores.gains(S, Q, CLASSICAL, len(model.places))
    short = sparse_scores.best_places(gains, 20, tol)
    return scorer.shortlist(model, block, short, np.zeros_like(short))


def shortlists(X, places, h, fit, candidates, *, offset, tol):
    """From candidates, and from a design."""
    model = SparseModel(places, np.asarray(h), fit, fit.log_evidence)
    columns = designs.Standardized.from_design(designs.Dense(X), offset=offset)
    problem = SparseProblem(CLASSICAL, offset, tol)
    yield shortlist(model, next(candidates.blocks()), tol)
    yield sparse_scores.shortlist_design(columns, model, problem, 20)


@pytest.fixture
def refused(monkeypatch):
    """A model of no column, which refuses all plans but the one of a given number."""
    X, y = linear(likelihoods.Bernoulli())
    nothing = np.zeros(0, dtype=np.intp)
    fit, candidates = fitted(X, y, likelihoods.Bernoulli(), nothing, np.zeros(0), offset=True)
    kept = SparseModel(nothing, np.zeros(0), fit, fit.log_evidence)
    working = shortlist(kept, next(candidates.blocks()), 1e-2)
    taken = sparse_scores.ShortList.model_at

    def attempt(accepted):
        tried = []

        def refusing(working, h, *args):
            tried.append(h)
            new = taken(working, h, *args)
            return new if len(tried) == accepted else replace(new, value=-np.inf)

        monkeypatch.setattr(sparse_scores.ShortList, "model_at", refusing)
        new = sparse_laplace._improve(kept, working, SparseProblem(CLASSICAL))
        return kept, new, np.array(tried)

    return attempt


def test_plans_that_fail_give_way_to_more_careful_ones(refused):
    kept, _, tried = refused(4)
    in_use = np.isfinite(tried[:, :-1])
    assert in_use[0].sum() > 1
    np.testing.assert_array_equal(in_use[1:].sum(axis=1), 1)
    j = int(np.flatnonzero(in_use[1])[0])
    np.testing.assert_allclose(tried[2:, j] / tried[1, j], [16.0, 64.0])
    for accepted in range(1, 5):
        _, new, plans = refused(accepted)
        assert len(plans) == accepted
        assert new.value > kept.value


def test_a_column_whose_steps_all_fail_is_left_to_itself(refused):
    _, _, tried = refused(4)
    j = int(np.flatnonzero(np.isfinite(tried[1, :-1]))[0])
    kept, new, more = refused(5)
    assert not np.isfinite(more[4, j])
    assert np.isfinite(more[4, :-1]).any()
    assert new.value > kept.value
    kept, same, _ = refused(1000)
    assert same is kept


def test_half_a_step_is_half_its_way_in_logs():
    h = np.array([1.0, np.inf, 4.0, np.inf, 2.0])
    new = np.array([16.0, 1.0, np.inf, np.inf, 2.0])
    np.testing.assert_allclose(
        sparse_problem.interpolate(h, new, 0.5), [4.0, 16.0, 64.0, np.inf, 2.0]
    )
    np.testing.assert_allclose(
        sparse_problem.interpolate(h, new, 0.25), [2.0, 64.0, 16.0, np.inf, 2.0]
    )


def test_a_weak_column_whose_loss_is_a_gain_goes():
    X, y = linear(likelihoods.Bernoulli())
    chosen, _ = maximised(X, y, likelihoods.Bernoulli())
    candidates = candidates_of(X)
    idle = next(j for j in range(X.shape[1]) if j not in chosen.places)
    places = np.append(chosen.places, idle)
    design = designs.Dense(
        np.hstack([candidates.take_columns(places).copy_to_host(), np.ones((len(y), 1))])
    )
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)
    kept = SparseModel.from_columns(
        places, np.append(chosen.precision, 1e3), design, targets, CLASSICAL
    )
    polished = sparse_precisions.polish_precisions(kept, CLASSICAL, np.zeros((0, 2)))
    assert idle not in polished.places
    assert polished.value >= chosen.value - 1e-6


def test_an_end_that_is_not_level_is_told(monkeypatch):
    X, y = linear(likelihoods.Bernoulli())
    assert "no step raises" in maximised(X, y, likelihoods.Bernoulli())[0].stop_reason
    monkeypatch.setattr(sparse_laplace, "polish_precisions", lambda kept, *_, **__: kept)
    chosen, _ = maximised(X, y, likelihoods.Bernoulli(), tol=1.0)
    assert not chosen.converged
    assert "not level" in chosen.stop_reason


def test_passes_that_were_not_enough_are_told():
    X, y = bananas(150)
    chosen, _ = maximised(radial(X), y, likelihoods.Bernoulli(), max_iter=1)
    assert not chosen.converged
    assert "not enough" in chosen.stop_reason


def kept_pairs(distance, likelihood):
    """Rows in pairs, one above and one below a level, under a prior that hardly speaks."""
    y = np.tile([distance, -distance], 10)
    targets = replace(
        RowTargets.from_observations(y, None, likelihood, offset=False), shift=np.zeros(1)
    )
    design = designs.Dense(np.ones((len(y), 1)))
    return SparseModel.from_columns(
        np.array([0]), np.array([1e-9]), design, targets, CLASSICAL, np.zeros((1, 1))
    )


@for_each(("square", "excess"), [(0.5, 0.0), (0.999, 0.5 * np.log(0.02 / 5.0025e-4))])
def test_a_mode_that_is_about_to_vanish_is_worth_no_more_than_others(square, excess):
    """At a distance of sqrt(nu) scales the rows of a Student-t stop to hold the mode."""
    student = kept_pairs(np.sqrt(4.0 * square), likelihoods.StudentT(1.0, 4.0))
    assert student.fit.log_evidence - student.value == pytest.approx(excess, abs=1e-6)
    normal = kept_pairs(np.sqrt(4.0 * square), likelihoods.Normal(1.0))
    assert normal.value == normal.fit.log_evidence


@each_offset
def test_a_working_set_begins_with_the_columns_in_use_at_their_mode(offset):
    likelihood = likelihoods.Bernoulli()
    X, y = linear(likelihood)
    places, h = np.array([4, 0]), np.array([0.4, 50.0])
    fit, candidates = fitted(X, y, likelihood, places, h, offset=offset)
    for working in shortlists(X, places, h, fit, candidates, offset=offset, tol=1e-3):
        np.testing.assert_array_equal(working.places[:2], places)
        n = len(working.places)
        np.testing.assert_array_equal(working.moments.fixed, np.arange(n + offset) >= n)
        used = np.append([0, 1], np.arange(n, n + offset))
        A, B = working.moments.A[np.ix_(used, used)], working.moments.B[used, 0]
        precision = np.append(h, fit.problem.targets.offset_precision[0] if offset else [])
        W = np.linalg.solve(A + np.diag(precision), B)
        np.testing.assert_allclose(W, fit.weights.W[:, 0], rtol=1e-7)
        same = np.full(n + offset, np.inf)
        same[used] = precision
        again = working.model_at(same, SparseProblem(CLASSICAL))
        assert again.value == pytest.approx(fit.log_evidence, abs=1e-9)
        assert again.fit.weights.n_iter == 1


@each_offset
def test_columns_in_use_are_not_offered_again(offset):
    """Under a precision far too large a column in use would gain as if it were out."""
    likelihood = likelihoods.Bernoulli()
    X, y = linear(likelihood)
    places = np.array([4, 1])
    fit, candidates = fitted(X, y, likelihood, places, [1e4, 1e4], offset=offset)
    h = np.full(2, 1e4)
    for working in shortlists(X, places, h, fit, candidates, offset=offset, tol=1e-2):
        assert len(set(working.places)) == len(working.places) > 2


def told_apart(n, seed):
    """Rows that columns can tell apart without an error."""
    U = np.random.default_rng(seed).uniform(-3.0, 3.0, (n, 2))
    return U, (U[:, 1] > np.sin(2.0 * U[:, 0])).astype(float)


@pytest.mark.full
def test_weights_of_classes_that_are_told_apart_do_not_grow_without_end():
    (X, y), (X_new, y_new) = told_apart(200, seed=3), told_apart(600, seed=4)
    kernel = kernels.RBF(1.0)
    chosen, fit = maximised(kernel(X, X), y, likelihoods.Bernoulli())
    assert chosen.converged
    assert np.min(chosen.precision) == pytest.approx(sparse_problem.LEAST_PRECISION, rel=1e-9)
    Z = (kernel(X_new, X[chosen.places]) - chosen.center) / chosen.scale
    mean, covariance = with_covariance(fit.latent(np.hstack([Z, np.ones((600, 1))])))
    predicted = likelihoods.Bernoulli().predict(mean[:, 0], covariance[:, 0, 0])
    loss = -np.mean(predicted.log_prob(y_new))
    assert loss < 0.35  # weights so large that averages over them are a half: 0.64


def test_precisions_of_other_likelihoods_may_be_as_small_as_they_like():
    X, y = linear(likelihoods.Normal(1.0))
    chosen, _ = maximised(X, 1e4 * y, likelihoods.Normal(1.0))
    assert np.min(chosen.precision) < 1e-2 * sparse_problem.LEAST_PRECISION
