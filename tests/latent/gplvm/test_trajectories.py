"""Latent points that move in time, beside dense normal densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

from posterity import kernels
from posterity.latent.gplvm.trajectories import TrajectoryPrior

WHITE = 1e-3
TIMES = np.array([0.0, 0.5, 1.3, 2.0, 0.0, 0.5, 1.3, 2.0, 2.0, 0.0, 5.0])
GROUPS = np.array([7, 7, 7, 7, 2, 2, 2, 2, 5, 5, 5])
KERNEL = 1.5 * kernels.RBF(0.8) + kernels.Linear(0.3)


def bounds(kernel):
    return np.tile(np.log([1e-3, 1e3]), (len(kernel.theta), 1))


def prior(kernel=KERNEL, times=TIMES, groups=GROUPS):
    return TrajectoryPrior(kernel, bounds(kernel), times, groups)


def dense(kernel, times=TIMES, groups=GROUPS):
    """C of all rows at once, zero between groups."""
    K = kernel(times[:, None])
    C = (1 - WHITE) * K + WHITE * np.diag(np.diag(K))
    return np.where(np.equal.outer(groups, groups), C, 0.0)


def draws(shape=(11, 2), seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_log_density_is_that_of_one_dense_normal_a_column():
    X, p = draws(), prior()
    expected = stats.multivariate_normal(np.zeros(11), dense(KERNEL)).logpdf(X.T).sum()
    assert p(X, p.start)[0] == pytest.approx(expected, rel=1e-10)


def test_a_kernel_of_variance_one_gives_points_of_variance_one():
    np.testing.assert_array_equal(np.diag(dense(kernels.RBF(2.0))), 1.0)
    p = prior(kernels.RBF(2.0), TIMES[:1], GROUPS[:1])
    assert p(np.array([[0.7]]), p.start)[0] == pytest.approx(stats.norm.logpdf(0.7))


def test_gradients_agree_with_differences():
    X, p = draws(), prior()
    own = p.start + 0.1
    _, dX, slopes = p(X, own)
    numeric = approx_fprime(X.ravel(), lambda x: p(x.reshape(X.shape), own)[0], 1e-7)
    np.testing.assert_allclose(dX.ravel(), numeric, rtol=1e-4, atol=1e-4)
    numeric = approx_fprime(own, lambda o: p(X, o)[0], 1e-7)
    np.testing.assert_allclose(slopes, numeric, rtol=1e-4, atol=1e-4)


def test_divergence_is_the_dense_formula():
    m, S, p, C = draws(), np.exp(draws(seed=1)), prior(), dense(KERNEL)
    expected = sum(
        0.5
        * (
            np.trace(np.linalg.solve(C, np.diag(S[:, q])))
            + m[:, q] @ np.linalg.solve(C, m[:, q])
            - 11
            + np.linalg.slogdet(C)[1]
            - np.log(S[:, q]).sum()
        )
        for q in range(2)
    )
    assert p.divergence(m, S, p.start)[0] == pytest.approx(expected, rel=1e-10)


def test_divergence_is_the_mean_of_log_density_ratios():
    m, S, p = draws(), 0.1 * np.exp(draws(seed=1)), prior()
    rng = np.random.default_rng(3)
    X = m + np.sqrt(S) * rng.normal(size=(40_000, 11, 2))
    of_posterior = stats.norm.logpdf(X, m, np.sqrt(S)).sum(axis=(1, 2))
    normal = stats.multivariate_normal(np.zeros(11), dense(KERNEL))
    ratios = of_posterior - normal.logpdf(X.transpose(0, 2, 1)).sum(axis=1)
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(p.divergence(m, S, p.start)[0] - ratios.mean()) < 5 * error


def test_gradients_of_the_divergence_agree_with_differences():
    m, S, p = draws(), np.exp(draws(seed=1)), prior()
    own = p.start - 0.1
    _, dm, dS, slopes = p.divergence(m, S, own)
    numeric = approx_fprime(m.ravel(), lambda x: p.divergence(x.reshape(m.shape), S, own)[0], 1e-7)
    np.testing.assert_allclose(dm.ravel(), numeric, rtol=1e-4, atol=2e-4)
    numeric = approx_fprime(S.ravel(), lambda x: p.divergence(m, x.reshape(m.shape), own)[0], 1e-7)
    np.testing.assert_allclose(dS.ravel(), numeric, rtol=1e-4, atol=2e-4)
    numeric = approx_fprime(own, lambda o: p.divergence(m, S, o)[0], 1e-7)
    np.testing.assert_allclose(slopes, numeric, rtol=1e-4, atol=2e-4)


def test_divergence_from_a_single_row_of_variance_one_is_that_of_the_standard_normal():
    p = prior(kernels.RBF(1.0), TIMES[:1], GROUPS[:1])
    m, S = np.array([[0.4]]), np.array([[0.2]])
    expected = 0.5 * (0.2 + 0.16 - 1 - np.log(0.2))
    assert p.divergence(m, S, p.start)[0] == pytest.approx(expected)


def test_groups_are_independent():
    X, p = draws(), prior()
    members = [np.flatnonzero(g == GROUPS) for g in np.unique(GROUPS)]
    parts = [prior(times=TIMES[rows], groups=GROUPS[rows])(X[rows], p.start) for rows in members]
    whole = p(X, p.start)
    assert whole[0] == pytest.approx(sum(part[0] for part in parts))
    np.testing.assert_allclose(whole[2], np.sum([part[2] for part in parts], axis=0))
    for rows, part in zip(members, parts, strict=True):
        np.testing.assert_allclose(whole[1][rows], part[1])


def test_the_order_of_rows_does_not_matter():
    X, p, order = draws(), prior(), np.random.default_rng(1).permutation(11)
    shuffled = prior(times=TIMES[order], groups=GROUPS[order])
    a, b = p(X, p.start), shuffled(X[order], p.start)
    assert a[0] == pytest.approx(b[0])
    np.testing.assert_allclose(a[1][order], b[1])


def test_groups_seen_at_the_same_times_share_a_factor(monkeypatch):
    made = []
    covariance = TrajectoryPrior._covariance
    monkeypatch.setattr(
        TrajectoryPrior,
        "_covariance",
        lambda self, k, t: made.append(len(t)) or covariance(self, k, t),
    )
    p = prior()
    p(draws(), p.start)
    assert sorted(made) == [3, 4]  # three groups, two of them at the same times
    p(draws(seed=1), p.start)
    assert len(made) == 2  # the same parameters: nothing to factorise
    p(draws(), p.start + 0.1)
    assert len(made) == 4


def test_a_held_kernel_has_no_numbers_of_its_own():
    p = prior(kernels.RBF(1.0).fixed())
    value, dX, slopes = p(draws(), p.start)
    assert np.isfinite(value)
    assert dX.shape == (11, 2)
    assert p.names == []
    assert p.limits.shape == (0, 2)
    assert slopes.shape == (0,)


def test_a_long_time_at_rest_keeps_its_factor():
    times = np.linspace(0.0, 1e-3, 200)
    p = prior(kernels.RBF(1.0), times, np.zeros(200, int))
    assert np.isfinite(p(np.zeros((200, 1)), p.start)[0])


def test_the_kernel_that_suits_noisy_points_knows_their_pace():
    rng, t = np.random.default_rng(0), np.arange(80.0)
    smooth = np.sqrt(2.0) * np.column_stack([np.sin(0.16 * t), np.cos(0.16 * t)])
    kernel, limits = kernels.RBF().search_start(t[:, None])
    started = TrajectoryPrior(kernel, limits, t, np.zeros(80, int))
    p = started.fit_start_to(smooth + 0.1 * rng.normal(size=smooth.shape))
    assert 5.0 < p.kernel.length_scale < 20.0
    assert p.white == started.white == WHITE
    np.testing.assert_array_equal(p.limits, limits)


def test_a_held_kernel_suits_any_points():
    p = prior(kernels.RBF(1.0).fixed()).fit_start_to(draws())
    assert p.kernel.length_scale == 1.0


def test_a_larger_white_share_is_part_of_the_density():
    p = TrajectoryPrior(KERNEL, bounds(KERNEL), TIMES, GROUPS, white=0.2)
    K = KERNEL(TIMES[:, None])
    C = np.where(np.equal.outer(GROUPS, GROUPS), 0.8 * K + 0.2 * np.diag(np.diag(K)), 0.0)
    expected = stats.multivariate_normal(np.zeros(11), C).logpdf(draws().T).sum()
    assert p(draws(), p.start)[0] == pytest.approx(expected, rel=1e-10)


def test_variance_is_that_of_the_process_on_average():
    p = prior()
    assert p.variance(p.start) == pytest.approx(np.mean(np.diag(dense(KERNEL))))


def test_further_times_are_those_of_the_joint_normal():
    p, X = prior(), draws((4, 2))
    seen, new = np.array([0.0, 1.0, 2.0, 3.5]), np.array([4.0, 2.5])
    mean, covariance = p.predict_at(X, seen, new, p.start)
    C = dense(KERNEL, np.append(seen, new), np.zeros(6, int))
    A = np.linalg.solve(C[:4, :4], C[:4, 4:])
    np.testing.assert_allclose(mean, A.T @ X, rtol=1e-8)
    np.testing.assert_allclose(covariance, C[4:, 4:] - C[4:, :4] @ A, rtol=1e-8, atol=1e-10)
