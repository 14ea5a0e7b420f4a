"""Mean field of labels, and how its strength is learned."""

import numpy as np
import pytest
from scipy.special import softmax

from posterity.vision import RandomField, random_field
from posterity.vision.random_field import LabelledField


def _sweep_by_hand(field, log_p, planes, n_sweeps):
    """Mean field, pixel by pixel and pair by pair."""
    q = softmax(log_p.astype(float), axis=-1)
    height, width, _ = log_p.shape
    offsets = [(s * y, s * x) for y, x in random_field._OFFSETS.tolist() for s in (1, -1)]
    for _ in range(n_sweeps):
        total = log_p.astype(float)
        for y in range(height):
            for x in range(width):
                for down, right in offsets:
                    j, i = y + down, x + right
                    if 0 <= j < height and 0 <= i < width:
                        apart = np.sum((planes[y, x] - planes[j, i]) ** 2.0)
                        weight = field.contrast * np.exp(-0.5 * apart / field.width**2)
                        total[y, x] += (field.agreement + weight) / len(offsets) * q[j, i]
        q = softmax(total, axis=-1)
    return q


@pytest.mark.parametrize("shape", [(6, 9), (4, 2)])
def test_mean_field_is_that_of_the_formula(shape):
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.ones(3), size=shape)).astype(np.float32)
    planes = rng.normal(scale=8.0, size=(*shape, 3)).astype(np.float32)
    field = RandomField(agreement=2.0, contrast=5.0, width=9.0)
    expected = _sweep_by_hand(field, log_p, planes, random_field._SWEEPS)
    np.testing.assert_allclose(field.smooth(log_p, planes), expected, atol=1e-4)


def test_a_field_without_strength_and_one_without_share_leave_probabilities_alone():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 7)).astype(np.float32)
    planes = np.zeros((5, 7, 3), dtype=np.float32)
    for field in (RandomField(), RandomField(1.0, 3.0, share=0.0)):
        np.testing.assert_allclose(field.smooth(np.log(p), planes), p, atol=1e-6)


def _make_field(rng, noise):
    """Two halves of different colour, and log-probabilities that are sometimes wrong."""
    labels = np.repeat([[0, 1]], 15, axis=1).repeat(24, axis=0)
    seen = np.where(rng.random(labels.shape) < noise, 1 - labels, labels)
    log_p = np.log(np.where(seen[..., None] == np.arange(2), 1.0 - noise, noise))
    planes = np.where(labels[..., None] == 0, 20.0, 70.0) + rng.normal(size=(24, 30, 3))
    return LabelledField(log_p.astype(np.float32), planes.astype(np.float32), labels)


def test_learned_smoothing_raises_the_score_and_keeps_edges():
    rng = np.random.default_rng(0)
    field, smooth, alone = RandomField.learn([_make_field(rng, 0.3) for _ in range(2)])
    assert smooth > alone + 0.2
    fresh = _make_field(rng, 0.3)
    found = field.smooth(fresh.log_p, fresh.planes).argmax(axis=-1)
    assert np.mean(found == fresh.labels) > 0.97


def test_there_is_hardly_any_smoothing_where_neighbours_do_not_agree():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(20, 20))
    log_p = np.log(np.where(labels[..., None] == np.arange(2), 0.9, 0.1)).astype(np.float32)
    field, smooth, alone = RandomField.learn(
        [LabelledField(log_p, np.zeros((20, 20, 3), dtype=np.float32), labels)]
    )
    assert alone <= smooth < alone + 0.01
    found = field.smooth(log_p, np.zeros((20, 20, 3), dtype=np.float32))
    np.testing.assert_allclose(found, np.exp(log_p), atol=0.1)
