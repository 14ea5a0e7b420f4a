"""Segmentation of three generated textures."""

import copy
import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

import posterity
from posterity.vision import TextonSegmenter, write_image, write_label_map

VOID = 9


def _draw_image(rng, height=40, width=56):
    """Stripes, a checkerboard and noise in three columns in any order; a line of void."""
    y, x = np.indices((height, width))
    phase = rng.integers(8)
    noise = rng.integers(40, 216, size=(height, width))
    stripes = np.where((x + phase) % 6 < 3, 60, 190)
    board = np.where(((x + phase) // 4 + y // 4) % 2 == 0, 60, 190)
    order = rng.permutation(3)
    ends = np.sort(rng.integers(12, width - 12, size=2))
    labels = order[np.searchsorted(ends, np.arange(width), side="right")][None].repeat(height, 0)
    image = np.choose(labels, [stripes, board, noise]).astype(np.uint8)
    labels = np.array([2, 4, 7])[labels]
    labels[5] = VOID
    return image, labels


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return [_draw_image(rng) for _ in range(12)]


@pytest.fixture(scope="module")
def model(images):
    X, y = zip(*images[:9], strict=True)
    return TextonSegmenter(
        24,
        n_colors=4,
        n_gradients=12,
        n_estimators=40,
        max_features=40,
        pixels_per_image=80,
        reach=12,
        cv=2,
        random_state=0,
    ).fit(X, y, void=VOID, names={2: "stripes", 4: "board", 7: "noise"})


@pytest.mark.full
def test_textures_of_images_not_seen_are_told_apart(model, images):
    assert model.classes_.tolist() == [2, 4, 7]
    assert model.names_ == ("stripes", "board", "noise")
    right = [(model.predict(image) == labels)[labels != VOID] for image, labels in images[9:]]
    assert np.mean(right) > 0.85


def test_probabilities_are_honest_and_smoothing_raises_the_score(model, images):
    smooth, alone = model.smoothing_log_scores_
    assert smooth >= alone
    assert model.held_out_log_score_ > -0.7
    p = model.predict_proba(images[9][0])
    assert p.shape == (40, 56, 3)
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, atol=1e-5)
    distribution = model.predict_dist(images[9][0])
    np.testing.assert_allclose(distribution.probabilities(), p, atol=1e-5)
    entropy = model.predict_entropy(images[9][0])
    np.testing.assert_allclose(entropy, distribution.entropy() / np.log(2.0), atol=1e-4)


def test_a_large_image_is_looked_at_in_a_smaller_size(model, images):
    image = images[10][0]
    large = image.repeat(3, axis=0).repeat(3, axis=1)
    small = copy.copy(model)
    small.bank_ = dataclasses.replace(model.bank_, max_size=56)
    found = small.predict(large)
    assert found.shape == large.shape
    np.testing.assert_array_equal(found[1::3, 1::3], model.predict(image))


def test_a_saved_segmenter_gives_the_same_probabilities(model, images, tmp_path):
    posterity.save(model, tmp_path / "model.posterity")
    loaded = posterity.load(tmp_path / "model.posterity")
    image = images[9][0]
    np.testing.assert_array_equal(loaded.predict_proba(image), model.predict_proba(image))


def test_files_are_read_as_arrays_are(images, tmp_path):
    paths, labels = [], []
    for k, (image, own) in enumerate(images[:3]):
        paths.append(tmp_path / f"{k}.png")
        labels.append(tmp_path / f"{k}_labels.png")
        write_image(paths[-1], image)
        write_label_map(labels[-1], own)
    few = TextonSegmenter(
        8, n_colors=0, n_gradients=0, n_estimators=5, max_features=8, smooth=False, random_state=0
    )
    X, y = zip(*images[:3], strict=True)
    from_arrays = clone(few).fit(iter(X), iter(y), void=[VOID, 100])
    from_files = few.fit(paths, labels, void=VOID)
    p = from_files.predict_proba(X[0])
    np.testing.assert_array_equal(p, from_arrays.predict_proba(X[0]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": lambda y: y[:1]}, "There are 2 images, but labels of 1"),
        ({"y": lambda y: [y[0], y[1][1:]]}, r"The array of labels 1 must .* \(39, 56\)"),
        ({"y": lambda y: [y[0] * 0 + VOID] * 2}, "nothing to learn"),
        ({"y": lambda y: [y[0] * 0 + 2] * 2}, "needs two classes"),
        ({"y": lambda y: [y[0] - 8] * 2}, "negative label"),
        ({"cell": 3}, "even number of pixels"),
        ({"n_textons": 0}, "textons of one kind"),
    ],
)
def test_what_cannot_be_learned_from_is_said_in_a_sentence(images, change, sentence):
    (first, one), (second, two) = images[:2]
    y = change.pop("y", lambda y: y)([one, two])
    model = TextonSegmenter(
        **{"n_textons": 4, "n_colors": 0, "n_gradients": 0, "n_estimators": 2, **change}
    )
    with pytest.raises(ValueError, match=sentence):
        model.fit([first, second], y, void=VOID)
