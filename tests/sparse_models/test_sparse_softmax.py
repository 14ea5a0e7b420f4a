"""Sparse softmax models against brute force, differences of the evidence, and each other."""

from dataclasses import replace

import numpy as np
import pytest
from sparse_support import Pairs, select_laplace, select_pairs, select_softmax
from support.for_each import for_each
from support.latents import with_covariance
from weight_oracles import DenseWeights

from posterity import designs, kernels, likelihoods, priors
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import blocks as sparse_blocks
from posterity.sparse.problem import SparseModel, SparseProblem, ascend
from posterity.sparse.scores import Scorer
from posterity.sparse.softmax_scores import SharedScores

CLASSICAL = priors.Sparse()
each_kind = pytest.mark.parametrize("select", [select_softmax, select_pairs], ids=["shared", "own"])
each_prior = pytest.mark.parametrize("nu", [0.0, 0.5])
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])


def blobs(n=60, C=3, seed=0, spread=0.8):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    angle = 2.0 * np.pi * np.arange(C) / C
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)[y] + spread * rng.normal(size=(n, 2))
    return X, y.astype(float)


def problem_of(X, y, C, *, weights=None, offset=True, length_scale=1.0, **options):
    columns = designs.KernelColumnSource(kernels.RBF(length_scale), X)
    source = designs.CandidateColumns.from_columns(columns, weights, centred=offset, **options)
    return source, RowTargets.from_observations(
        y, weights, likelihoods.Categorical(C), offset=offset
    )


def fitted(select, X, y, C, *, offset=True, prior=CLASSICAL, settings=None, **options):
    source, targets = problem_of(X, y, C, offset=offset, **options)
    return select(source, targets, offset=offset, prior=prior, **(settings or {}))


def random_rows(n=30, C=3, m=3, seed=1, weighted=True):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m))
    y = np.argmax(Z @ rng.normal(size=(m, C)) + rng.gumbel(size=(n, C)), axis=1).astype(float)
    y[:C] = np.arange(C)
    return Z, y, rng.uniform(0.5, 2.0, n) if weighted else None


# Steps on a frozen curvature


def random_moments(w=6, J=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, w * J))
    B = np.stack([3.0 * X.T @ rng.normal(size=40), 0.3 * rng.normal(size=w * J)], axis=1)
    return sparse_blocks.BlockMoments((X.T @ X).reshape(w, J, w, J), B.reshape(w, J, 2))


def frozen_objective(moments, h, prior):
    J = moments.A.shape[1]
    n = len(h) * J
    used = np.repeat(np.isfinite(h), J)
    H = np.diag(np.repeat(h, J)[used])
    K = moments.A.reshape(n, n)[np.ix_(used, used)] + H
    b, c = moments.B.reshape(n, 2)[used].T
    mean = np.linalg.solve(K, b)
    value = 0.5 * (np.linalg.slogdet(H)[1] - np.linalg.slogdet(K)[1] + b @ mean) + c @ mean
    return value + np.sum(prior.penalty(h)), mean


@each_prior
@for_each("max_steps", [1, 2, 5, 100])
def test_steps_gain_what_the_frozen_objective_gains(nu, max_steps):
    moments, prior = random_moments(), priors.Sparse(nu)
    h = np.array([1.0, np.inf, 300.0, np.inf, np.inf, np.inf])
    steps = sparse_blocks.maximise_block_evidence(moments, h, prior, tol=1e-9, max_steps=max_steps)
    before, (after, mean) = (
        frozen_objective(moments, h, prior)[0],
        frozen_objective(moments, steps.h, prior),
    )
    assert steps.n_steps >= 1
    assert steps.gained == pytest.approx(after - before, rel=1e-9)
    np.testing.assert_allclose(steps.W[np.isfinite(steps.h)].reshape(-1), mean, rtol=1e-8)


def test_steps_take_out_a_column_that_says_nothing():
    moments = random_moments()
    moments.B[2] = 0.0
    A = moments.A.copy()
    A[2, :, [0, 1, 3, 4, 5]] = A[[0, 1, 3, 4, 5], :, 2] = 0.0
    steps = sparse_blocks.maximise_block_evidence(replace(moments, A=A), np.full(6, 2.0), CLASSICAL)
    assert np.isinf(steps.h[2])
    assert steps.converged


def test_steps_pass_over_a_column_that_another_replaces():
    moments = random_moments(w=3)
    twice = [0, 1, 2, 0]
    A, B = moments.A[twice][:, :, twice], moments.B[twice]
    steps = sparse_blocks.maximise_block_evidence(
        sparse_blocks.BlockMoments(A, B), np.full(4, np.inf), CLASSICAL
    )
    assert np.isinf(steps.h[[0, 3]]).sum() == 1


@each_prior
def test_no_precision_on_a_fine_grid_is_better(nu):
    rng = np.random.default_rng(0)
    s, u = rng.gamma(1.0, size=(40, 3)), rng.gamma(1.0, size=(40, 3)) * 1.5 - 0.3
    prior = priors.Sparse(nu)
    h, gain = sparse_blocks.best_precisions(s, u, prior)
    grid = np.geomspace(1e-6, 1e6, 4_001)[:, None] * np.ones(40)
    value = np.maximum(sparse_blocks.gains_at(grid, s, u, prior).max(axis=0), 0.0)
    assert 3 < np.isinf(h).sum() < 37 or nu > 0.0
    np.testing.assert_allclose(gain, value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sparse_blocks.gains_at(h, s, u, prior), gain, atol=1e-12)


def test_a_column_in_for_good_is_as_one_that_is_never_moved():
    moments, precision = random_moments(), np.diag([2.0, 3.0, 5.0])
    rest = moments.without_last(precision)
    A, B = moments.A.reshape(18, 18), moments.B.reshape(18, 2)
    K = np.linalg.inv(A[15:, 15:] + precision)
    np.testing.assert_allclose(
        rest.A.reshape(15, 15), A[:15, :15] - A[:15, 15:] @ K @ A[15:, :15], atol=1e-10
    )
    np.testing.assert_allclose(rest.B.reshape(15, 2), B[:15] - A[:15, 15:] @ K @ B[15:], atol=1e-10)


# Scores


def shared_model(offset, precision=(0.5, 2.0, 1.0)):
    Z, y, weights = random_rows()
    targets = RowTargets.from_observations(y, weights, likelihoods.Categorical(3), offset=offset)
    A = np.hstack([Z[:, :2], np.ones((30, int(offset)))])
    h = np.array(precision[:2])
    return SparseModel.from_columns(np.arange(2), h, designs.Dense(A), targets, CLASSICAL), Z[:, 2:]


@each_offset
def test_shared_scores_are_what_a_dense_posterior_says(offset):
    model, z = shared_model(offset)
    scores = SharedScores(model.fit)
    S, q = scores.exact(z)
    t, Z = model.fit.problem.targets, scores.Z
    A = t.latents(Z @ model.fit.weights.W)
    h = t.curvature(A)
    G = np.einsum("n,njk,nm->jmk", z[:, 0], h, Z).reshape(2, -1)
    dense = np.einsum("n,njk->jk", z[:, 0] ** 2, h)
    Sigma = model.fit.covariance.reshape(G.shape[1], -1)
    np.testing.assert_allclose(S[0], dense - G @ Sigma @ G.T, rtol=1e-8)
    np.testing.assert_allclose(q[0, :, 0], z[:, 0] @ t.slope(A), rtol=1e-10)


@each_offset
def test_shared_scores_are_the_derivative_of_the_evidence(offset):
    model, z = shared_model(offset)
    S, q = SharedScores(model.fit).exact(z)
    Q, C = q[0].T
    p = model.fit.problem
    columns = [p.design.rows(0, 30)[:, :2], z, np.ones((30, int(offset)))]
    both = designs.Dense(np.hstack(columns))
    eps = 1e-6
    grown = SparseModel.from_columns(
        np.arange(3), np.append(model.precision, 1.0 / eps), both, p.targets, CLASSICAL
    )
    expected = 0.5 * (Q @ Q - np.trace(S[0])) + Q @ C
    assert abs(Q @ C) > 1e-2  # else the move of the curvature would not be seen
    assert (grown.value - model.value) / eps == pytest.approx(expected, rel=1e-3)


def pair_problem(offset, *, used=None, C=3):
    Z, y, weights = random_rows()
    targets = RowTargets.from_observations(y, weights, likelihoods.Categorical(C), offset=offset)
    rng = np.random.default_rng(3)
    in_use = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]], dtype=bool) if used is None else used
    A = np.hstack([Z, np.ones((30, int(offset)))])
    both = np.vstack([in_use, np.ones((int(offset), C), dtype=bool)])
    h = np.vstack([rng.uniform(0.5, 2.0, (3, C)), np.ones((int(offset), C))])
    h[3:] /= targets.offset_variance
    return Pairs(A, both, h, targets)


@each_offset
def test_pairs_of_all_classes_are_weights_of_their_own(offset):
    problem = pair_problem(offset, used=np.ones((3, 3), dtype=bool))
    t = problem.targets
    dense = DenseWeights(problem.Z, t.y, t.weights, t.likelihood, 1.0 / problem.precision, t.shift)
    fit = problem.laplace()
    assert fit.log_evidence == pytest.approx(dense.log_evidence, rel=1e-9)
    mean, covariance = with_covariance(fit.latent(problem.Z[:5]))
    np.testing.assert_allclose(mean, dense.latent(problem.Z[:5])[0], atol=1e-6)
    np.testing.assert_allclose(covariance, dense.latent(problem.Z[:5])[1], atol=1e-6)


@each_offset
def test_a_pair_that_is_not_used_is_as_one_of_no_prior_variance(offset):
    problem = pair_problem(offset)
    h = np.where(problem.used, problem.precision, 1e10)
    nearly = replace(problem, used=np.ones_like(problem.used), precision=h).laplace()
    fit = problem.laplace()
    assert fit.log_evidence == pytest.approx(nearly.log_evidence, rel=1e-7)
    np.testing.assert_allclose(fit.weights.W, nearly.weights.W, atol=1e-7)
    np.testing.assert_allclose(fit.weights.W[~problem.used], 0.0)


def test_offsets_of_pairs_are_told_what_offsets_of_contrasts_are():
    _, y, weights = random_rows()
    targets = RowTargets.from_observations(y, weights, likelihoods.Categorical(3), offset=True)
    none = np.zeros((0, 3), dtype=bool)
    problem = replace(pair_problem(True), Z=np.ones((30, 1)), targets=targets)
    problem = replace(
        problem,
        used=np.vstack([none, np.ones((1, 3), dtype=bool)]),
        precision=1.0 / targets.offset_variance[None],
    )
    shared = SparseModel.from_columns(
        np.arange(0), np.zeros(0), designs.Dense(np.ones((30, 1))), targets, CLASSICAL
    )
    assert problem.laplace().log_evidence == pytest.approx(shared.fit.log_evidence, rel=1e-10)


def test_a_start_from_which_no_row_curves_is_given_up():
    problem = pair_problem(True)
    far = problem.laplace(np.where(problem.used, 1e12, 0.0))
    assert far.weights.converged
    assert far.log_evidence == pytest.approx(problem.laplace().log_evidence, rel=1e-9)


def block_of(Z):
    b = Z.shape[1]
    return designs.candidates.CandidateBlock(
        np.arange(b), Z, np.zeros(b), np.ones(b), np.ones(b, dtype=np.bool_)
    )


@each_offset
@for_each("k", [0, 1])
def test_scores_of_pairs_are_the_derivative_of_the_evidence(offset, k):
    problem = pair_problem(offset)
    fit = problem.laplace()
    S, q = Scorer.from_fit(fit).scores(block_of(problem.Z[:, 2:3]), k)
    (Q, C), eps = q[0], 1e-6
    used, h = problem.used.copy(), problem.precision.copy()
    used[2, k], h[2, k] = True, 1.0 / eps
    grown = replace(problem, used=used, precision=h).laplace()
    expected = 0.5 * (Q * Q - S[0]) + Q * C
    assert abs(Q * C) > 1e-3
    assert (grown.log_evidence - fit.log_evidence) / eps == pytest.approx(expected, rel=2e-3)


@each_offset
def test_scores_of_pairs_are_what_a_dense_posterior_says(offset):
    problem = pair_problem(offset)
    fit, z, k = problem.laplace(), problem.Z[:, 2], 0
    S, q = Scorer.from_fit(fit).scores(block_of(z[:, None]), k)
    t = problem.targets
    A = problem.latents(problem.packed(fit.weights.W))
    u = t.likelihood.curvature_shares(t.y, A)
    h = t.weights[:, None, None] * (u[:, :, None] * np.eye(3) - u[:, :, None] * u[:, None, :])
    pairs = np.argwhere(problem.used)[:, ::-1]  # class, column
    D = np.zeros((30, 3, len(pairs)))
    for i, (c, m) in enumerate(pairs):
        D[:, c, i] = problem.Z[:, m]
    H = np.einsum("nci,nck,nkj->ij", D, h, D) + np.diag(problem.packed(problem.precision))
    G = np.einsum("n,nk,nkj->j", z, h[:, k], D)
    assert S[0] == pytest.approx(h[:, k, k] @ z**2 - G @ np.linalg.solve(H, G), rel=1e-8)
    assert q[0, 0] == pytest.approx(t.weights * t.likelihood.d1(t.y, A)[:, k] @ z, rel=1e-9)


# The search


@each_kind
@each_prior
def test_passes_never_lower_the_objective(select, nu):
    X, y = blobs()
    values = [
        fitted(select, X, y, 3, prior=priors.Sparse(nu), settings={"max_iter": i})[0].value
        for i in range(0, 8)
    ]
    assert np.all(np.diff(values) >= 0.0)
    assert values[-1] > values[0] + 5.0


@each_prior
def test_shared_precisions_end_where_the_objective_is_level(nu):
    X, y = blobs()
    prior = priors.Sparse(nu)
    chosen, fit = fitted(select_softmax, X, y, 3, prior=prior, settings={"tol": 1e-7})
    slope = fit.precision_gradient().sum(axis=1) + 0.5 * nu * (1.0 - chosen.precision)
    assert chosen.converged
    assert len(chosen.places) >= 2
    assert chosen.value == pytest.approx(
        fit.log_evidence + np.sum(prior.penalty(chosen.precision)), rel=1e-12
    )
    np.testing.assert_allclose(slope, 0.0, atol=2e-3)


@each_prior
def test_precisions_of_pairs_end_where_the_objective_is_level(nu):
    X, y = blobs()
    prior = priors.Sparse(nu)
    chosen, fit = fitted(select_pairs, X, y, 3, prior=prior, settings={"tol": 1e-7})
    m, p, step = len(chosen.places), fit.problem, 1e-4

    def objective(i, factor):
        h = p.prior.precision.copy()
        h[tuple(i)] *= factor
        again = LaplaceFit.from_problem(
            replace(p, prior=replace(p.prior, precision=h)), fit.weights.W
        )
        return again.log_evidence + np.sum(prior.penalty(h))

    slopes = [
        (objective(i, np.exp(step)) - objective(i, np.exp(-step))) / (2.0 * step)
        for i in np.argwhere(p.prior.mask[:m])
    ]
    assert chosen.converged
    assert len(slopes) >= 2
    assert chosen.value == pytest.approx(objective((0, 0), 1.0), rel=1e-10)
    np.testing.assert_allclose(slopes, 0.0, atol=2e-3)


@each_kind
def test_no_column_that_is_out_gains_at_the_end(select):
    X, y = blobs(n=90)
    source, targets = problem_of(X, y, 3)
    chosen, fit = select(source, targets, offset=True, prior=CLASSICAL, tol=1e-2)
    block = next(source.blocks())
    if select is select_softmax:
        gains = SharedScores(fit).gains(block, np.arange(90), CLASSICAL)
        gains[chosen.places] = 0.0
    else:
        scores = Scorer.from_fit(fit)
        told = [scores.scores(block, k) for k in range(3)]
        gains = np.stack([_curved_gains(S, q) for S, q in told], axis=1)
        gains[chosen.places] *= np.isinf(chosen.precision)
    assert np.max(gains) <= 1e-2


def _curved_gains(S, q):
    u = q[:, 0] ** 2 + 2.0 * q[:, 0] * q[:, 1]
    x = np.where((S > 0.0) & (u > S), u / np.where(S > 0.0, S, 1.0), 1.0)
    return 0.5 * (x - 1.0 - np.log(x))


@each_kind
@each_offset
def test_the_classes_are_treated_alike(select, offset):
    X, y = blobs(C=4, n=80, spread=0.5)
    order = np.array([2, 0, 3, 1])
    chosen, fit = fitted(select, X, y, 4, offset=offset)
    other, moved = fitted(select, X, order[y.astype(int)].astype(float), 4, offset=offset)
    assert other.value == pytest.approx(chosen.value, rel=1e-8)
    assert set(other.places) == set(chosen.places)
    a, b = np.argsort(chosen.places), np.argsort(other.places)
    h = other.precision[b] if select is select_softmax else other.precision[b][:, order]
    np.testing.assert_allclose(h, chosen.precision[a], rtol=1e-4)
    rows = np.append(a, len(a)) if offset else a, np.append(b, len(b)) if offset else b
    Z = np.random.default_rng(0).normal(size=(5, len(rows[0])))
    Za, Zb = np.empty_like(Z), np.empty_like(Z)
    Za[:, rows[0]], Zb[:, rows[1]] = Z, Z
    mean, again = fit.latent(Za).mean, moved.latent(Zb).mean
    np.testing.assert_allclose(again[:, order], mean, rtol=1e-4, atol=1e-4)


@each_offset
def test_two_classes_that_share_columns_are_a_sparse_logistic_model(offset):
    X, y = blobs(C=2, n=70)
    chosen, _ = fitted(select_softmax, X, y, 2, offset=offset, settings={"tol": 1e-7})
    columns = designs.KernelColumnSource(kernels.RBF(1.0), X)
    source = designs.CandidateColumns.from_columns(columns, centred=offset)
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=offset)
    logistic, _ = select_laplace(source, targets, offset=offset, prior=CLASSICAL, tol=1e-7)
    assert chosen.value == pytest.approx(logistic.value, rel=1e-6)
    assert set(chosen.places) == set(logistic.places)
    # The difference of two latent values is sqrt(2) of their contrast.
    a, b = np.argsort(chosen.places), np.argsort(logistic.places)
    np.testing.assert_allclose(chosen.precision[a], 2.0 * logistic.precision[b], rtol=1e-2)


@each_kind
def test_a_weight_of_a_row_counts_as_its_repetition(select):
    y = np.arange(45.0) % 3
    weights = np.where(np.arange(45) % 2 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(45), weights.astype(int))
    Z = np.random.default_rng(0).normal(size=(45, 8)) + np.eye(3, 8)[y.astype(int)] * 2.0
    found = []
    for rows, counts in [(np.arange(45), weights), (twice, None)]:
        columns = designs.MatrixColumnSource(Z[rows])
        source = designs.CandidateColumns.from_columns(columns, counts, centred=True)
        targets = RowTargets.from_observations(
            y[rows], counts, likelihoods.Categorical(3), offset=True
        )
        found.append(select(source, targets, offset=True, prior=CLASSICAL)[0])
    assert len(found[0].places)
    np.testing.assert_array_equal(*(chosen.places for chosen in found))
    assert found[0].value == pytest.approx(found[1].value, rel=1e-8)


@each_kind
def test_columns_that_are_streamed_serve_as_well(select):
    X, y = blobs(n=80)
    held = fitted(select, X, y, 3)[0]
    streamed = fitted(select, X, y, 3, limit_bytes=8 * 80 * 70)[0]
    assert streamed.converged
    assert streamed.value == pytest.approx(held.value, abs=2.0)


@each_kind
@each_offset
def test_three_rows_of_three_classes(select, offset):
    chosen, _ = fitted(select, np.eye(3), np.arange(3.0), 3, offset=offset)
    assert chosen.converged
    assert np.isfinite(chosen.value)
    assert len(chosen.places) <= 3


@each_kind
def test_a_class_of_one_row(select):
    X, y = blobs(n=40, C=2)
    y[0], X[0] = 2.0, [0.0, 4.0]
    chosen, fit = fitted(select, X, y, 3)
    m, _ = with_covariance(fit.latent(np.zeros((1, len(chosen.places) + 1))))
    assert chosen.converged
    assert np.isfinite(m).all()


@each_kind
@each_offset
def test_nothing_is_kept_of_columns_that_say_nothing(select, offset):
    y = np.arange(48.0) % 3
    Z = np.repeat([1.0, -1.0], 24)[:, None]
    source = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=offset)
    targets = RowTargets.from_observations(y, None, likelihoods.Categorical(3), offset=offset)
    chosen, fit = select(source, targets, offset=offset, prior=CLASSICAL)
    assert chosen.converged
    assert len(chosen.places) == 0
    assert chosen.value == pytest.approx(fit.log_evidence)


@each_kind
def test_a_column_given_twice_is_chosen_once(select):
    X, y = blobs()
    Z = np.hstack([X, X])
    source = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=True)
    targets = RowTargets.from_observations(y, None, likelihoods.Categorical(3), offset=True)
    chosen, _ = select(source, targets, offset=True, prior=CLASSICAL)
    used = np.isfinite(chosen.precision.reshape(len(chosen.places), -1))
    of_first = [used[np.isin(chosen.places, [i, i + 2])].sum(axis=0).max() for i in (0, 1)]
    assert of_first == [1, 1]


def test_separable_classes_end_at_finite_weights():
    X, y = blobs(spread=0.05)
    for select in (select_softmax, select_pairs):
        chosen, _ = fitted(select, X, y, 3)
        assert chosen.converged
        assert chosen.value > -15.0


@each_kind
def test_a_start_is_gone_on_from(select):
    X, y = blobs()
    chosen, _ = fitted(select, X, y, 3)
    again, _ = fitted(select, X, y, 3, settings={"start": chosen})
    assert again.n_iter <= 2
    assert again.value == pytest.approx(chosen.value, abs=1e-2)


# The ascent


class _OneBlock:
    def blocks(self):
        yield None


class _Model:
    def __init__(self, value):
        self.value = value


def test_the_boldest_step_that_gains_is_taken_and_no_other():
    tried = []

    def propose(model, block, thorough):
        for value in (model.value - 5.0, model.value + 1.0, model.value + 3.0):
            tried.append(value)
            yield _Model(value)

    problem = SparseProblem(CLASSICAL, tol=0.1, max_iter=2)
    model, end = ascend(_Model(0.0), _OneBlock(), propose, problem)
    assert (model.value, end.converged) == (2.0, False)
    assert tried == [-5.0, 1.0, -4.0, 2.0]
    assert "limit of 2 on passes" in end.stop_reason


def test_a_thorough_look_comes_before_the_end():
    looks = []

    def propose(model, block, thorough):
        looks.append(thorough)
        if len(looks) in (1, 3):
            yield _Model(model.value + 1.0)

    problem = SparseProblem(CLASSICAL, tol=0.1, max_iter=9)
    model, end = ascend(_Model(0.0), _OneBlock(), propose, problem)
    assert (model.value, end.converged, end.n_iter) == (2.0, True, 5)
    assert looks == [False, False, True, False, True]


def test_the_best_precision_has_all_digits():
    """Against a root of the derivative in higher precision."""
    mpmath = pytest.importorskip("mpmath")
    s, u = np.array([[0.7, 3.0, 11.0]]), np.array([[2.0, 40.0, 90.0]])
    (h,), _ = sparse_blocks.best_precisions(s, u, priors.Sparse(0.5))

    def slope(x):
        terms = [si / (x + si) - ui * x / (x + si) ** 2 for si, ui in zip(s[0], u[0], strict=True)]
        return sum(terms) / 2 + mpmath.mpf(0.25) * (1 - x)

    assert float(mpmath.findroot(slope, float(h))) == pytest.approx(h, rel=1e-13)
