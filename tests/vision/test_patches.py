"""Gabor features against convolution, and classes of small images."""

import numpy as np
import pytest
from scipy import ndimage

import posterity
from posterity import BayesianLogisticRegression, StagewiseClassifier
from posterity.vision import Gabor, PatchClassifier


def draw_patches(n, size=24, seed=0):
    """Stripes of two directions under noise."""
    rng = np.random.default_rng(seed)
    tilted = np.arange(n) % 2 == 1
    waves = np.sin(np.arange(size) + rng.uniform(0, 6, size=(n, 1, 1))) * np.ones((n, size, size))
    waves[tilted] = waves[tilted].transpose(0, 2, 1)
    noisy = 128 + 20 * waves + 30 * rng.normal(size=waves.shape)
    return noisy.clip(0, 255).astype(np.uint8), np.where(tilted, "rows", "columns")


@pytest.fixture(scope="module")
def fitted():
    X, y = draw_patches(60)
    units = StagewiseClassifier(20, n_restarts=0, learning_rate=0.5, random_state=0)
    return PatchClassifier((24, 24), features=Gabor((6, 4)), classifier=units).fit(X, y)


def test_the_default_classifier_tells_stripes_apart():
    X, y = draw_patches(30, size=12)
    model = PatchClassifier((12, 12), features=Gabor((6,), n_orientations=2), random_state=0)
    units = model._default_classifier()
    assert (units.n_units, units.learning_rate, units.subsample) == (300, 0.1, 0.5)
    model._default_classifier = lambda: units.set_params(n_units=20)
    assert np.mean(model.fit(X, y).predict(X) == y) > 0.9


def test_features_are_magnitudes_of_convolutions():
    rng = np.random.default_rng(1)
    patch = rng.integers(0, 256, size=(30, 30), dtype=np.uint8)
    answers = Gabor((5,), n_orientations=2, equalize=False).fit_transform(patch[None])
    wavelength, spread = 6.0, 0.56 * 6.0
    reach = int(np.ceil(2.5 * spread))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    for k, (u, v) in enumerate([(x, y), (y, -x)]):
        window = np.exp(-(u**2 + 0.5 * v**2) / (2 * spread**2))
        wave = window * np.exp(2j * np.pi * u / wavelength)
        wave = (wave - window * wave.sum() / window.sum()) / window.sum()
        parts = [
            ndimage.correlate(patch / 255.0, part, mode="reflect")
            for part in (wave.real, wave.imag)
        ]
        places = np.array([3, 9, 15, 21, 27])
        expected = np.hypot(*parts)[np.ix_(places, places)]
        found = answers.reshape(2, 5, 5)[k]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_defaults_have_1064_features_with_names():
    X = draw_patches(2, size=60)[0]
    gabor = Gabor().fit(X)
    names = gabor.get_feature_names_out()
    assert gabor.transform(X).shape == (2, 1064)
    assert len(set(names)) == 1064
    assert names[0] == "gabor12_0deg_0_0"
    assert names[-1] == "gabor4_135deg_3_3"


def test_features_do_not_depend_on_exposure():
    patch = draw_patches(1)[0].astype(float)
    darker = (20 + 0.5 * patch).astype(np.uint8)
    brighter = (20 + 0.5 * patch).astype(np.uint8) * np.uint8(1) + np.uint8(90)
    gabor = Gabor((4,)).fit(darker)
    np.testing.assert_array_equal(gabor.transform(darker), gabor.transform(brighter))
    flat = gabor.transform(np.full((1, 24, 24), 7, dtype=np.uint8))
    np.testing.assert_allclose(flat, 0.0, atol=1e-6)


def test_other_sizes_are_refused():
    gabor = Gabor((4,)).fit(np.zeros((2, 24, 24), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"Patches have 20 x 24 pixels, but .* 24 x 24"):
        gabor.transform(np.zeros((2, 20, 24), dtype=np.uint8))
    with pytest.raises(ValueError, match="Patch 1 has 9 x 8 pixels, but patch 0 has 8 x 8"):
        gabor.fit([np.zeros((8, 8), dtype=np.uint8), np.zeros((9, 8), dtype=np.uint8)])
    with pytest.raises(ValueError, match="There are no patches"):
        gabor.fit([])


@pytest.mark.full
def test_stripes_are_told_apart(fitted):
    X, y = draw_patches(100, seed=1)
    p = fitted.predict_proba(X)
    assert np.mean(fitted.predict(X) == y) > 0.95
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(fitted.predict_dist(X).pmf(1), p[:, 1])


def test_images_of_other_sizes_and_colours_are_accepted(fitted):
    X = draw_patches(6, seed=2)[0]
    large = [np.repeat(np.repeat(x, 2, axis=0), 2, axis=1) for x in X]
    np.testing.assert_array_equal(fitted.predict_proba(large), fitted.predict_proba(X))
    colour = np.repeat(X[..., None], 3, axis=3)
    np.testing.assert_array_equal(fitted.predict(colour), fitted.predict(X))


def test_any_classifier_can_be_used():
    X, y = draw_patches(40)
    model = PatchClassifier(
        (24, 24), features=Gabor((4,)), classifier=BayesianLogisticRegression(inference="laplace")
    ).fit(X, y, sample_weight=np.ones(40))
    assert np.mean(model.predict(X) == y) > 0.9
    with pytest.raises(ValueError, match="There are 40 images, but 39 classes"):
        model.fit(X, y[:-1])


def test_a_classifier_is_saved_and_loaded(fitted, tmp_path):
    path = tmp_path / "patches.posterity"
    posterity.save(fitted, path)
    X = draw_patches(5, seed=3)[0]
    np.testing.assert_array_equal(posterity.load(path).predict_proba(X), fitted.predict_proba(X))
