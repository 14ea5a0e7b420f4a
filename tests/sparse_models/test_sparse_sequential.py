"""The compiled steps against dense formulas: sparsity, quality, gains and where they end."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy import stats

from posterity import priors
from posterity.sparse import sequential
from posterity.sparse import steps as sparse_steps
from posterity.sparse.sequential import CURVED, KNOWN, LEARNED, Moments

CLASSICAL = priors.Sparse()


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def columns(rng, n=40, w=12, K=1, used=(1, 4, 7)):
    """Correlated columns, and targets of which a few columns explain much."""
    Z = rng.normal(size=(n, w)) + 0.7 * rng.normal(size=(n, 1))
    Y = Z[:, list(used)] @ rng.normal(size=(len(used), K)) * 2.0 + rng.normal(size=(n, K))
    return Z, Y


def moments(Z, Y, kind):
    E = np.sum(Y**2, axis=0) if kind == LEARNED else None
    return Moments.from_products(Z.T @ Z, Z.T @ Y, kind=kind, E=E, n=float(len(Z)))


def dense_evidence(Z, Y, h, kind):
    """log N(Y | 0, noise (I + Z H^-1 Z^T)), noise one or at its best, by SciPy."""
    used = np.isfinite(h)
    C = np.eye(len(Z)) + (Z[:, used] / h[used]) @ Z[:, used].T
    total = 0.0
    for y in Y.T:
        noise = 1.0 if kind == KNOWN else y @ np.linalg.solve(C, y) / len(y)
        total += stats.multivariate_normal(cov=noise * C).logpdf(y)
    return total


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("kind", [KNOWN, LEARNED])
def test_the_evidence_is_that_of_the_dense_normal(rng, kind, K):
    Z, Y = columns(rng, K=K)
    h = np.full(12, np.inf)
    h[[1, 5, 7]] = [0.3, 2.0, 40.0]
    value = sequential.evidence(moments(Z, Y, kind), h)
    if kind == KNOWN:  # it is without the targets' own constants
        value += np.sum(stats.norm.logpdf(Y))
    assert value == pytest.approx(dense_evidence(Z, Y, h, kind), rel=1e-10)


@pytest.mark.parametrize("nu", [0.0, 0.3])
@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("kind", [KNOWN, LEARNED])
def test_a_column_gains_what_its_best_precision_adds_to_the_dense_evidence(rng, kind, K, nu):
    Z, Y = columns(rng, K=K)
    prior = priors.Sparse(nu)
    h = np.full(12, np.inf)
    h[[1, 5]] = [0.3, 2.0]
    m, state = sequential._start_state(moments(Z, Y, kind), h, prior)
    found = sequential.gains(kind, state.S, state.Q, state.E, float(len(Z)), prior)
    before = dense_evidence(Z, Y, h, kind)
    assert m == 2
    for j in (0, 4, 7, 9):

        def value(log_h, j=j):
            at = h.copy()
            at[j] = np.exp(log_h)
            return before - dense_evidence(Z, Y, at, kind) - float(np.sum(prior.penalty(at[j])))

        grid = np.linspace(-8.0, 14.0, 60)
        start = grid[np.argmin([value(x) for x in grid])]
        best = scipy_optimize.minimize_scalar(
            value, bounds=(start - 0.5, start + 0.5), method="bounded", options={"xatol": 1e-9}
        )
        assert found[j] == pytest.approx(max(0.0, -best.fun), abs=1e-5)


def test_sparsity_and_quality_are_those_of_the_dense_covariance(rng):
    Z, Y = columns(rng)
    h = np.full(12, np.inf)
    h[[1, 5, 7]] = [0.3, 2.0, 40.0]
    _, state = sequential._start_state(moments(Z, Y, KNOWN), h, CLASSICAL)
    C = np.eye(len(Z)) + (Z[:, [1, 5, 7]] / h[[1, 5, 7]]) @ Z[:, [1, 5, 7]].T
    np.testing.assert_allclose(state.S, np.diagonal(Z.T @ np.linalg.solve(C, Z)), rtol=1e-9)
    np.testing.assert_allclose(state.Q, Z.T @ np.linalg.solve(C, Y), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("nu", [0.0, 0.2])
@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("kind", [KNOWN, LEARNED])
def test_rank_one_changes_lead_to_the_state_that_a_factorisation_has(rng, kind, K, nu):
    Z, Y = columns(rng, w=20, K=K)
    problem, prior = moments(Z, Y, kind), priors.Sparse(nu)
    h = np.full(20, np.inf)
    h[::2] = 3.0  # some come in, some go out, all are moved
    m, state = sequential._start_state(problem, h, prior)
    n_steps, _ = sparse_steps.take_steps(state, m, 1e-6, 60)
    again_m, again = sequential._start_state(problem, h, prior)
    assert n_steps > 10
    assert sorted(state.order[:again_m]) == sorted(again.order[:again_m])
    np.testing.assert_allclose(state.S, again.S, rtol=1e-7)
    np.testing.assert_allclose(state.Q, again.Q, rtol=1e-7, atol=1e-8)
    if kind == LEARNED:
        np.testing.assert_allclose(state.E, again.E, rtol=1e-9)
    back = np.argsort(state.order[:again_m])
    np.testing.assert_allclose(
        state.Sigma[:again_m, :again_m][np.ix_(back, back)],
        again.Sigma[:again_m, :again_m],
        rtol=1e-6,
        atol=1e-10,
    )


@pytest.mark.parametrize("among", [0, 12])
@pytest.mark.parametrize("nu", [0.0, 0.2])
@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("kind", [KNOWN, LEARNED])
def test_every_step_raises_the_objective_by_what_it_says(rng, kind, K, nu, among):
    Z, Y = columns(rng, K=K)
    problem, prior = moments(Z, Y, kind), priors.Sparse(nu, among)
    h = np.where(np.arange(12) < 9, 30.0, np.inf)  # some have to go
    value = sequential.evidence(problem, h) + prior.log_density_of_choice(h)
    while True:
        step = sequential.maximise_evidence(problem, h, prior, tol=1e-9, max_steps=1)
        if not step.n_steps:
            break
        now = sequential.evidence(problem, step.h) + prior.log_density_of_choice(step.h)
        assert now - value == pytest.approx(step.gained, abs=1e-7)
        assert now > value
        h, value = step.h, now


@pytest.mark.parametrize("kind", [KNOWN, LEARNED])
def test_the_end_is_a_maximum_over_every_precision(rng, kind):
    Z, Y = columns(rng)
    problem = moments(Z, Y, kind)
    end = sequential.maximise_evidence(problem, np.full(12, np.inf), CLASSICAL, tol=1e-12)
    assert end.converged
    value = sequential.evidence(problem, end.h)
    for j in range(12):
        for other in (1e-4, 1e-2, 1.0, 1e2, 1e4, np.inf, end.h[j] * 1.01, end.h[j] / 1.01):
            at = end.h.copy()
            at[j] = other
            assert sequential.evidence(problem, at) <= value + 1e-8


def test_the_move_of_the_curvature_counts_in_the_gain():
    S, Q = np.array([2.0]), np.array([[3.0, 0.5]])
    bare = sequential.gains(CURVED, S, Q * [1.0, 0.0], np.ones(2), 1.0, CLASSICAL)
    moved = sequential.gains(CURVED, S, Q, np.ones(2), 1.0, CLASSICAL)
    for u, gain in ((9.0, bare), (12.0, moved)):  # q^2, and q^2 + 2 q c
        assert gain[0] == pytest.approx(0.5 * (u / 2.0 - 1.0 - np.log(u / 2.0)))


def test_a_column_that_is_fixed_is_not_moved(rng):
    Z, Y = columns(rng)
    problem = Moments.from_products(
        Z.T @ Z, Z.T @ Y, kind=KNOWN, fixed=np.array([True] + [False] * 11)
    )
    h = np.full(12, np.inf)
    h[0] = 5.0
    assert sequential.maximise_evidence(problem, h, CLASSICAL).h[0] == 5.0


def test_of_equal_columns_one_is_enough(rng):
    Z, Y = columns(rng)
    twice = np.hstack([Z, Z])
    end = sequential.maximise_evidence(moments(twice, Y, LEARNED), np.full(24, np.inf), CLASSICAL)
    inside = np.flatnonzero(np.isfinite(end.h))
    assert len(np.unique(inside % 12)) == len(inside)
    once = sequential.maximise_evidence(moments(Z, Y, LEARNED), np.full(12, np.inf), CLASSICAL)
    assert sequential.evidence(moments(twice, Y, LEARNED), end.h) == pytest.approx(
        sequential.evidence(moments(Z, Y, LEARNED), once.h)
    )


def test_targets_without_noise_end_at_the_floor(rng):
    Z, _ = columns(rng)
    Y = Z[:, [2]] * 3.0
    end = sequential.maximise_evidence(moments(Z, Y, LEARNED), np.full(12, np.inf), CLASSICAL)
    assert np.flatnonzero(np.isfinite(end.h)).tolist() == [2]


def test_too_few_steps_are_said(rng):
    Z, Y = columns(rng)
    end = sequential.maximise_evidence(
        moments(Z, Y, LEARNED), np.full(12, np.inf), CLASSICAL, max_steps=2
    )
    assert (end.converged, end.n_steps) == (False, 2)


def test_columns_that_explain_nothing_do_not_pay_their_price():
    kept = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z, Y = rng.normal(size=(100, 300)), rng.normal(size=(100, 1))
        Y += Z[:, [7, 70, 170]] @ np.array([[1.0], [-2.0], [3.0]])
        prior = priors.Sparse(among=300)
        end = sequential.maximise_evidence(moments(Z, Y, LEARNED), np.full(300, np.inf), prior)
        kept.append(set(np.flatnonzero(np.isfinite(end.h)).tolist()))
    assert all({7, 70, 170} <= some for some in kept)
    assert np.mean([len(some) for some in kept]) < 3.5


def test_an_offset_is_not_among_the_columns_that_pay(rng):
    Z, Y = columns(rng)
    fixed = np.array([True] + [False] * 11)
    problem = Moments.from_products(Z.T @ Z, Z.T @ Y, kind=KNOWN, fixed=fixed)
    h = np.where(fixed, 5.0, np.inf)
    prior = priors.Sparse(among=11)
    step = sequential.maximise_evidence(problem, h, prior, max_steps=1)
    gain = sequential.evidence(problem, step.h) - sequential.evidence(problem, h)
    assert step.gained == pytest.approx(gain - np.log(11.0), abs=1e-8)


def test_what_a_column_would_gain_is_less_its_price():
    S, Q = np.array([2.0, 2.0]), np.array([[5.0], [1.5]])
    free = sequential.gains(KNOWN, S, Q, np.ones(1), 1.0, CLASSICAL)
    paid = sequential.gains(KNOWN, S, Q, np.ones(1), 1.0, priors.Sparse(among=20), 3)
    assert free[0] > np.log(17.0 / 4.0) > free[1] > 0.0
    np.testing.assert_allclose(paid, [free[0] - np.log(17.0 / 4.0), 0.0])


def test_columns_that_fit_exactly_and_depend_on_each_other_have_precisions_all_the_same(rng):
    x = np.linspace(0.0, 1.0, 12)
    Z = np.column_stack([x**k for k in range(12)])
    Y = np.column_stack([x + 0.1 * x**7])
    for kind in (KNOWN, LEARNED):
        problem = moments(Z, 1e6 * Y, kind)
        end = sequential.maximise_evidence(problem, np.full(12, 1e-3), CLASSICAL)
        inside = np.isfinite(end.h)
        assert np.all(end.h[inside] >= 1e-14 * np.diagonal(problem.A)[inside])
        assert np.isfinite(sequential.evidence(problem, end.h))
