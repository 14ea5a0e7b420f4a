"""Haar features against sums of pixels, and as a family of tests."""

import numpy as np
import pytest

from posterity import RandomForestClassifier
from posterity.vision import HaarFeatures, haar

RNG = np.random.default_rng(0)
WINDOWS = RNG.integers(256, size=(6, 2, 9, 8), dtype=np.uint8)


def brute_force(window, test):
    kind, plane, y, x, h, w = test
    total = 0.0
    for top, left, high, wide, weight in haar._KINDS[kind]:
        part = window[plane, y + top * h : y + (top + high) * h, x + left * w :][:, : wide * w]
        total += weight * part.astype(float).sum()
    return total / (window[0].size * window[0].std())


def test_features_are_weighted_sums_over_the_contrast():
    features = HaarFeatures().adapt_to(WINDOWS)
    tests = features.draw(2, 300, np.random.default_rng(1))
    features.check_tests(tests.reshape(-1, 6))
    places, which = np.array([5, 0, 3], dtype=np.int32), np.array([0, 1, 0], dtype=np.int32)
    answers = features.respond(WINDOWS, places, tests, which)
    for i in range(3):
        expected = [brute_force(WINDOWS[places[i]], test) for test in tests[which[i]]]
        np.testing.assert_allclose(answers[:, i], expected, rtol=1e-5, atol=1e-6)
    assert set(tests[..., 0].ravel()) == set(range(len(haar._KINDS)))


def test_the_catalogue_has_every_feature_once():
    features = HaarFeatures((2, 7, 6))
    all_of_them = features.catalogue()
    features.check_tests(all_of_them)
    assert len(np.unique(all_of_them, axis=0)) == len(all_of_them)
    known = set(map(tuple, all_of_them.tolist()))
    drawn = features.draw(1, 500, np.random.default_rng(0))[0]
    large = drawn[drawn[:, 4] * drawn[:, 5] >= 4]
    assert len(large) > 100
    assert all(tuple(test) in known for test in large.tolist())
    assert np.all(HaarFeatures((2, 7, 6), first_plane=1).draw(1, 99, RNG)[..., 1] == 1)


@pytest.mark.parametrize(
    "test", [[9, 0, 0, 0, 2, 2], [0, 2, 0, 0, 2, 2], [0, 0, 8, 0, 2, 2], [0, 0, 0, 0, 2, 5]]
)
def test_features_beyond_the_window_are_refused(test):
    features = HaarFeatures().adapt_to(WINDOWS)
    with pytest.raises(ValueError, match="feature"):
        features.check_tests(np.array([test], dtype=np.int32))


def test_forests_grow_on_windows():
    windows = RNG.integers(100, size=(80, 8, 8), dtype=np.uint8)
    y = np.arange(80) % 2
    windows[y == 1, :, 4:] += np.uint8(60)
    model = RandomForestClassifier(5, splits=HaarFeatures(), max_features=20, random_state=0)
    assert model.fit(windows[:60], y[:60]).score(windows[60:], y[60:]) > 0.9
    with pytest.raises(ValueError, match="windows of"):
        model.predict(windows[:, :6])
