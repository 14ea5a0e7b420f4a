"""Mean field of labels, and how its strengths are learned."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from posterity.vision import RandomField, random_field, random_field_learning
from posterity.vision.random_field import FieldBlocks
from posterity.vision.random_field_learning import LabelledField, learn_random_field

SIDE = random_field._SIDE


def _find_blocks_by_hand(log_p, planes):
    """Mean log-probability and colour of each square, one after the other."""
    height, width, _ = log_p.shape
    corners = [(y, x) for y in range(0, height, SIDE) for x in range(0, width, SIDE)]
    squares = [(slice(y, y + SIDE), slice(x, x + SIDE)) for y, x in corners]
    means = [log_p[at].mean(axis=(0, 1)) for at in squares]
    return np.log(softmax(means, axis=1)), np.array(
        [planes[at].mean(axis=(0, 1)) for at in squares]
    )


def _update_by_hand(field, log_p, color, blocks, q):
    """The distribution of a pixel, pair by pair."""
    similar = [np.exp(-0.5 * np.sum((color - other) ** 2) / field.width**2) for other in blocks[1]]
    total = field.own * log_p
    for j, weight in enumerate(np.array(similar) / np.sum(similar)):
        total = total + weight * (field.pooled * blocks[0][j] + field.agreement * q[j])
        total = total + field.affinities @ q[j] / len(q)
    return softmax(total)


def test_mean_field_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.ones(3), size=(6, 9)))
    planes = rng.normal(scale=8.0, size=(6, 9, 3))
    field = RandomField(0.7, 0.4, 2.0, 9.0, np.array([[1.0, -2, 0.5], [-2, 0, 1], [0.5, 1, 0.3]]))
    blocks = _find_blocks_by_hand(log_p, planes)
    q = np.exp(blocks[0])
    for _ in range(random_field.SWEEPS - 1):
        q = np.array([_update_by_hand(field, *one, blocks, q) for one in zip(*blocks, strict=True)])
    expected = [
        [_update_by_hand(field, log_p[y, x], planes[y, x], blocks, q) for x in range(9)]
        for y in range(6)
    ]
    found = field.smooth(log_p.astype(np.float32), planes.astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_blocks_of_a_large_image_are_larger(monkeypatch):
    monkeypatch.setattr(random_field, "_MOST_BLOCKS", 20)
    blocks = FieldBlocks.from_pixels(np.zeros((40, 50, 2)), np.ones((40, 50, 3)))
    assert blocks.log_p.shape == (4 * 5, 2)
    np.testing.assert_allclose(blocks.colors, 1.0)


def test_a_field_without_strength_leaves_probabilities_alone():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 7)).astype(np.float32)
    planes = np.zeros((5, 7, 3), dtype=np.float32)
    np.testing.assert_allclose(RandomField().smooth(np.log(p), planes), p, atol=2e-5)


def _make_field(rng, noise, fold=0):
    """Two halves of different colour, and log-probabilities that are sometimes wrong."""
    labels = np.repeat([[0, 1]], 15, axis=1).repeat(24, axis=0)
    seen = np.where(rng.random(labels.shape) < noise, 1 - labels, labels)
    log_p = np.log(np.where(seen[..., None] == np.arange(2), 1.0 - noise, noise))
    planes = np.where(labels[..., None] == 0, 20.0, 70.0) + rng.normal(size=(24, 30, 3))
    return LabelledField(log_p.astype(np.float32), planes.astype(np.float32), labels, fold)


def test_learned_smoothing_raises_the_score_and_keeps_edges():
    rng = np.random.default_rng(0)
    field, smooth, alone = learn_random_field([_make_field(rng, 0.3, k) for k in range(2)], rng)
    assert smooth > alone + 0.2
    fresh = _make_field(rng, 0.3)
    found = field.smooth(fresh.log_p, fresh.planes).argmax(axis=-1)
    assert np.mean(found == fresh.labels) > 0.97


def test_there_is_hardly_any_smoothing_where_neighbours_do_not_agree():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(20, 20))
    seen = np.where(rng.random((20, 20)) < 0.1, 1 - labels, labels)
    log_p = np.log(np.where(seen[..., None] == np.arange(2), 0.9, 0.1)).astype(np.float32)
    planes = np.zeros((20, 20, 3), dtype=np.float32)
    field, smooth, alone = learn_random_field([LabelledField(log_p, planes, labels)], rng)
    assert alone <= smooth < alone + 0.02
    np.testing.assert_allclose(field.smooth(log_p, planes), np.exp(log_p), atol=0.1)


def _make_company(rng, fold):
    """Class 0 comes with class 2 and class 1 with class 3; pixels alone do not tell 2 from 3."""
    first = int(rng.integers(2))
    labels = np.repeat([[first, 2 + first]], 10, axis=1).repeat(16, axis=0)
    p = np.where(labels[..., None] >= 2, [0.02, 0.02, 0.48, 0.48], 0.02)
    p = np.where((labels[..., None] < 2) & (labels[..., None] == np.arange(4)), 0.94, p)
    planes = rng.normal(size=(16, 20, 3)) + 50.0 * (labels[..., None] >= 2)
    return LabelledField(np.log(p).astype(np.float32), planes.astype(np.float32), labels, fold)


def test_classes_that_occur_together_are_learned():
    rng = np.random.default_rng(0)
    field, smooth, alone = learn_random_field([_make_company(rng, k % 4) for k in range(16)], rng)
    assert smooth > alone + 0.2
    for fresh in (_make_company(rng, 0) for _ in range(4)):
        found = field.smooth(fresh.log_p, fresh.planes).argmax(axis=-1)
        assert np.mean(found == fresh.labels) > 0.99
    field.check_consistency()
    with pytest.raises(ValueError, match="symmetric"):
        replace(field, affinities=np.triu(np.ones((4, 4)))).check_consistency()


def test_the_gradient_of_the_score_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    drawn = [random_field_learning._DrawnPixels.draw(_make_company(rng, k), rng) for k in range(3)]
    qs = [rng.dirichlet(np.ones(4), size=len(x.blocks.log_p)) for x in drawn]
    terms = random_field_learning._Terms.compute(drawn, qs, 8.0)
    terms = replace(terms, parts=tuple(part.astype(float) for part in terms.parts))
    x, step = rng.normal(size=7), 1e-6
    rows, columns = (0, 2, 1, 3), (1, 2, 3, 0)

    def build(x):
        affinities = np.zeros((4, 4))
        affinities[rows, columns] = x[3:]
        return RandomField(*x[:3], 8.0, affinities)

    _, by_strength, by_affinity = terms.differentiate_score(build(x))
    slopes = [
        (terms.score(build(x + step * e)) - terms.score(build(x - step * e))) / (2 * step)
        for e in np.eye(7)
    ]
    np.testing.assert_allclose([*by_strength, *by_affinity[rows, columns]], slopes, atol=1e-7)
