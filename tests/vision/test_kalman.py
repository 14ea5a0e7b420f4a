"""The filter against conditioning of the joint normal of all frames at once."""

import numpy as np
import pytest

from posterity.vision.kalman import (
    ConstantVelocityFilter,
    NormalState,
    measure_surprise,
    mix_states,
)

PERSISTENCE = 0.8
KICKS = np.array([0.5, 2.0])


def start():
    return NormalState.at_rest(np.array([1.0, -2.0]), np.array([1.0, 2.0]), np.array([0.5, 3.0]))


def joint_of_states(n):
    """Mean and covariance of the states of n + 1 frames, built by simulating linear maps."""
    first = start()
    move = np.block(
        [[np.eye(2), PERSISTENCE * np.eye(2)], [np.zeros((2, 2)), PERSISTENCE * np.eye(2)]]
    )
    kick = np.vstack([0.5 * np.eye(2), np.eye(2)])
    # Every state is a linear function of the first one and of all gains of velocity.
    maps = [np.hstack([np.eye(4), np.zeros((4, 2 * n))])]
    for t in range(n):
        now = move @ maps[-1]
        now[:, 4 + 2 * t : 6 + 2 * t] += kick
        maps.append(now)
    A = np.vstack(maps)
    source = np.zeros((4 + 2 * n, 4 + 2 * n))
    source[:4, :4] = first.covariance
    source[4:, 4:] = np.diag(np.tile(KICKS, n))
    mean = A @ np.concatenate([first.mean, np.zeros(2 * n)])
    return mean, A @ source @ A.T


def test_filter_conditions_the_joint_normal():
    rng, n = np.random.default_rng(0), 5
    measured = rng.normal(size=(n, 2)) * 3
    noises = [np.diag(rng.uniform(0.5, 2.0, 2)) + 0.2 for _ in range(n)]
    seen = [True, False, True, True, False]  # prediction only where nothing is measured
    motion, state = ConstantVelocityFilter(KICKS, persistence=PERSISTENCE), start()
    for z, noise, given in zip(measured, noises, seen, strict=True):
        state = motion.predict(state)
        state = motion.correct(state, z, noise) if given else state

    mean, covariance = joint_of_states(n)
    rows = [4 * (t + 1) + k for t in range(n) if seen[t] for k in range(2)]
    last = slice(4 * n, 4 * n + 4)
    S = covariance[np.ix_(rows, rows)].copy()
    for place, t in enumerate(t for t in range(n) if seen[t]):
        S[2 * place : 2 * place + 2, 2 * place : 2 * place + 2] += noises[t]
    gain = np.linalg.solve(S, covariance[rows, last]).T
    z = np.concatenate([measured[t] for t in range(n) if seen[t]])
    np.testing.assert_allclose(state.mean, mean[last] + gain @ (z - mean[rows]))
    expected = covariance[last, last] - gain @ covariance[rows, last]
    np.testing.assert_allclose(state.covariance, expected, atol=1e-12)


def test_prediction_comes_to_rest_and_grows_uncertain():
    motion = ConstantVelocityFilter(KICKS, persistence=PERSISTENCE)
    state = NormalState(np.array([0.0, 0.0, 5.0, -5.0]), np.eye(4))
    variances = []
    for _ in range(40):
        state = motion.predict(state)
        variances.append(state.position_covariance[0, 0])
    assert np.all(np.diff(variances) > 0)
    np.testing.assert_allclose(state.position, np.array([5.0, -5.0]) * 0.8 / 0.2, rtol=1e-3)


def test_surprise_is_the_mahalanobis_distance():
    rng = np.random.default_rng(1)
    B = rng.normal(size=(4, 4))
    state, noise = NormalState(rng.normal(size=4), B @ B.T), np.array([[2.0, 0.5], [0.5, 1.0]])
    gap = np.array([1.0, 2.0]) - state.position
    expected = gap @ np.linalg.inv(state.position_covariance + noise) @ gap
    assert measure_surprise(state, np.array([1.0, 2.0]), noise) == pytest.approx(expected)


def test_mixture_has_the_moments_of_samples():
    rng = np.random.default_rng(2)
    first = NormalState(np.array([0.0, 1.0]), np.array([[2.0, 0.3], [0.3, 1.0]]))
    second = NormalState(np.array([4.0, -1.0]), np.array([[0.5, -0.1], [-0.1, 0.2]]))
    mixed = mix_states(first, second, 0.3)
    n = 40000
    rows = np.vstack(
        [
            rng.multivariate_normal(first.mean, first.covariance, int(0.3 * n)),
            rng.multivariate_normal(second.mean, second.covariance, int(0.7 * n)),
        ]
    )
    np.testing.assert_allclose(mixed.mean, rows.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(mixed.covariance, np.cov(rows.T), atol=0.1)
