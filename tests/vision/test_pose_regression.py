"""Poses from what is seen of a frame and its latent point."""

import numpy as np
import pytest

from posterity.vision.pose_regression import PoseRegression


@pytest.fixture(scope="module")
def frames():
    """What is seen, latent points, and poses that depend on both, in four motions."""
    rng = np.random.default_rng(0)
    points, seen = rng.normal(size=(60, 1)), rng.normal(size=(60, 3)) * [1.0, 5.0, 0.0]
    poses = np.column_stack([np.sin(points) + seen[:, :1], seen[:, 1] - seen[:, 0], np.ones(60)])
    poses[:, :2] += 0.05 * rng.normal(size=(60, 2))
    return seen, points, poses, np.repeat(np.arange(4), 15)


@pytest.fixture(scope="module")
def learned(frames):
    return PoseRegression.from_frames(*frames)


def test_predictions_are_those_of_the_joint_normal(frames, learned):
    """Conditioning of one normal over all frames, written out."""
    seen, points, poses, _ = frames
    new = np.array([[0.3, -2.0, 0.0]]), np.array([[0.5]])
    mean, variance = learned.predict(*new)
    z, x = np.vstack([seen, new[0]]), np.vstack([points, new[1]])
    z = (z - seen.mean(axis=0))[:, :2] / (seen.std(axis=0)[:2] * np.sqrt(2.0))
    K = learned.kernel(np.column_stack([z, np.zeros(len(z)), x]))
    K_noisy = K[:-1, :-1] + learned.noise_variance * np.eye(60)
    weights = np.linalg.solve(K_noisy, K[:-1, -1])
    np.testing.assert_allclose(
        mean[0], poses.mean(0) + weights @ (poses - poses.mean(0)), atol=1e-6
    )
    expected = K[-1, -1] - weights @ K[:-1, -1] + learned.noise_variance
    np.testing.assert_allclose(variance[0], expected * learned.widening, rtol=1e-6)


def test_variances_are_those_of_motions_left_out(frames, learned):
    """By regressions that never saw the motion."""
    _, _, poses, parts = frames
    squares = np.empty((4, 3))
    for part in range(4):
        own = parts == part
        K = learned.kernel(learned.inputs)
        weights = np.linalg.solve(
            K[np.ix_(~own, ~own)] + learned.noise_variance * np.eye(45), K[np.ix_(~own, own)]
        )
        target = poses - poses.mean(axis=0)
        variance = np.diag(K[np.ix_(own, own)]) - np.sum(K[np.ix_(~own, own)] * weights, axis=0)
        error = target[own] - weights.T @ target[~own]
        squares[part] = np.mean(error**2 / (variance + learned.noise_variance)[:, None], axis=0)
    np.testing.assert_allclose(learned.widening, squares.mean(axis=0), rtol=1e-5, atol=1e-12)


def test_coordinates_that_never_change_are_certain(learned, frames):
    mean, variance = learned.predict(frames[0][:2], frames[1][:2])
    np.testing.assert_allclose(mean[:, 2], 1.0)
    np.testing.assert_allclose(variance[:, 2], 0.0, atol=1e-12)
    assert np.all(np.sqrt(variance[:, :2]) < 0.2)
