"""Surfaces of generated streets: segments, lines, merging, and the fitted model."""

import numpy as np
import pytest
from sklearn.base import clone

import posterity
from posterity import vision
from posterity.vision import SurfaceLayout, segments
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.segments import features, planes, segmented_image
from posterity.vision.segments.features import SegmentSums
from posterity.vision.segments.segmented_image import HeldOutImage, scale_labels

KINDS = (("felzenszwalb", 60), ("slic", 40))
SMALL = {"segmentations": KINDS, "n_estimators": 20, "max_size": 80, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def streets():
    return vision.datasets.streets(13, (60, 80))


@pytest.fixture(scope="module")
def found(streets):
    """Described segments of ten images; some pixels of one are left out."""
    labels = streets.labels[:10].astype(np.int64)
    labels[0, :20] = 9
    pictures = LabelledPictures.check(list(streets.images[:10]), list(labels), 9)
    return segments.describe_pictures(pictures, KINDS, 80)


@pytest.fixture(scope="module")
def model(found, streets):
    return SurfaceLayout(**SMALL).fit_segments(found, streets.names)


@pytest.mark.full(but=1)
def test_unseen_streets_are_labelled_better_than_by_place_alone(model, streets):
    right = [np.mean(model.predict(streets.images[k]) == streets.labels[k]) for k in (10, 11, 12)]
    usual = np.array([np.bincount(row.ravel(), minlength=3).argmax() for row in
                      np.moveaxis(streets.labels[:10], 1, 0)])  # fmt: skip
    by_row = np.mean(usual[None, :, None] == streets.labels[10:])
    assert np.mean(right) > max(0.85, by_row)
    assert model.held_out_score_ > 0.8
    assert model.names_ == ("support", "vertical", "sky")


def test_probabilities_sum_to_one_at_the_size_of_the_image(model, streets):
    large = np.repeat(np.repeat(streets.images[10], 2, axis=0), 3, axis=1)
    p = model.predict_proba(large)
    assert p.shape == (120, 240, 3)
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, atol=1e-5)
    bits, q = model.predict_entropy(streets.images[10]), model.predict_proba(streets.images[10])
    np.testing.assert_allclose(bits, -np.sum(q * np.log2(q), axis=-1), rtol=1e-3, atol=1e-6)
    gray = model.predict_proba(streets.images[10].mean(axis=-1).astype(np.uint8))
    assert gray.shape == (60, 80, 3)


def test_a_saved_model_answers_alike(model, streets, tmp_path):
    posterity.save(model, tmp_path / "surfaces.posterity")
    again = posterity.load(tmp_path / "surfaces.posterity")
    one, other = (m.predict_proba(streets.images[11]) for m in (model, again))
    np.testing.assert_array_equal(one, other)
    assert again.names_ == model.names_
    assert clone(again).get_params()["n_estimators"] == 20


def test_pixels_that_are_left_out_do_not_count(found, streets):
    image = found.images[0]
    assert np.all(image.codes[:20] == -1)
    expected = np.bincount(streets.labels[0, 20:].ravel(), minlength=3) * len(KINDS)
    n = len(image.segmented.sizes)
    np.testing.assert_array_equal(found.counts[:n].sum(axis=0), expected)


def test_rows_of_shared_segments_weigh_their_labels_by_area(found):
    segment, codes, weights = found.share_labels()
    total = np.zeros_like(found.counts)
    total[segment, codes] = weights
    mixed = np.flatnonzero((found.counts > 0).sum(axis=1) > 1)
    k = mixed[np.argmax(np.sort(found.counts[mixed], axis=1)[:, -2])]
    np.testing.assert_allclose(total[k] / total[k].sum(), found.counts[k] / found.counts[k].sum())
    segment, is_homogeneous, _ = found.judge_homogeneity(0.95)
    assert not is_homogeneous[np.searchsorted(segment, k)]
    assert is_homogeneous.any()


def test_images_of_a_group_are_held_out_together(found):
    part = found.take([0, 2])
    assert part.n_groups == 2
    n = len(found.images[0].segmented.sizes)
    np.testing.assert_array_equal(part.features[:n], found.features[:n])


def test_merging_is_the_average_by_homogeneity_of_every_pixel(found):
    rng = np.random.default_rng(0)
    image = found.images[1].segmented
    p, h = rng.dirichlet(np.ones(3), len(image.sizes)), rng.random(len(image.sizes))
    merged = segments.SegmentMerging(1.5).merge(image, p, h)
    row, column = 31, 17
    own = image.maps[:, row, column]
    expected = (np.sum(p[own] * h[own, None], axis=0) / np.sum(h[own])) ** 1.5
    np.testing.assert_allclose(merged[row, column], expected / expected.sum())


def draw_held_out_images(n_images):
    """Images of one partition whose probabilities should be squared; some pixels are unknown."""
    rng = np.random.default_rng(1)
    maps = np.arange(600, dtype=np.int32).reshape(1, 20, 30)
    image = segments.SegmentedImage(maps, np.zeros((600, 1), np.float32), np.ones(600))
    drawn = []
    for n_unknown in rng.integers(500, size=n_images):
        p = rng.dirichlet(np.ones(3), 600)
        codes = (rng.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)
        codes[:n_unknown] = -1
        timid = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
        drawn.append(HeldOutImage(image, timid, np.ones(600), codes.reshape(20, 30)))
    return drawn


def score_sharpness(sharpness, images):
    """Sum over images of the mean log score, and the log prior density."""
    total = -0.5 * (sharpness - 1.0) ** 2
    for image in images:
        merged = segments.SegmentMerging(sharpness).merge(*image[:3])
        _, score, n = segmented_image.judge_pixels(merged, image.codes)
        total += score / n
    return total


def test_sharpness_is_learned_from_images_and_not_from_pixels():
    images = draw_held_out_images(30)
    found = segments.SegmentMerging.learn(images, every=1).sharpness
    grid = np.linspace(0.97, 1.03, 13) * found
    assert np.argmax([score_sharpness(s, images) for s in grid]) == 6
    few = segments.SegmentMerging.learn(images[:1], every=1).sharpness
    assert 1.0 < few < found < 2.0


def test_features_have_names_and_do_not_change_with_the_numbers_of_segments(streets):
    shown = planes.compute_planes(streets.images[0])
    labels = segmented_image.segment_image(streets.images[0], "slic", 30)
    described = features.describe_segments(shown, labels)
    assert described.shape == (labels.max() + 1, len(segments.FEATURE_NAMES))
    assert np.isfinite(described).all()
    assert len(set(segments.FEATURE_NAMES)) == len(segments.FEATURE_NAMES)
    order = np.random.default_rng(0).permutation(len(described))
    other = features.describe_segments(shown, order[labels])
    np.testing.assert_allclose(other[order], described, rtol=1e-9, atol=1e-9)


def test_features_of_a_segment_are_those_of_its_pixels(streets):
    shown = planes.compute_planes(streets.images[0])
    labels = np.zeros((60, 80), dtype=np.int64)
    labels[10:30, 20:60] = 1
    described = features.describe_segments(shown, labels)[1]
    value = dict(zip(segments.FEATURE_NAMES, described, strict=True))
    light = shown.color[0, 10:30, 20:60]
    assert value["L*"] == pytest.approx(light.mean(), rel=1e-5)
    assert value["spread of L*"] == pytest.approx(light.std(), rel=1e-4)
    assert value["row"] == pytest.approx(20.0 / 60.0)
    assert value["area"] == pytest.approx(800 / 4800)
    assert value["share of the top edge"] == 0.0
    assert value["border over root of area"] == pytest.approx(120 / np.sqrt(800))
    outside = shown.color[0][labels == 0].mean()
    assert value["L* less that around"] == pytest.approx(light.mean() - outside, rel=1e-3)
    above = [shown.color[0, y, x] - shown.color[0, : y + 1, x].mean() for y in range(10, 30)
             for x in range(20, 60)]  # fmt: skip
    assert value["L* less that above"] == pytest.approx(np.mean(above), rel=1e-3)


def draw_lines(shape, ends):
    """White bars between points (row, column) on black."""
    image = np.zeros(shape, dtype=np.float32)
    for (y0, x0), (y1, x1) in ends:
        t = np.linspace(0.0, 1.0, 4 * max(shape))
        y, x = np.rint(y0 + t * (y1 - y0)).astype(int), np.rint(x0 + t * (x1 - x0)).astype(int)
        for k in range(-1, 2):
            image[np.clip(y + k, 0, shape[0] - 1), x] = 80.0
    return image


def test_lines_that_meet_tell_the_horizon():
    ends = [
        ((119, 10), (60, 95)),
        ((119, 150), (60, 105)),
        ((10, 5), (38, 80)),
        ((5, 155), (35, 120)),
    ]
    found = planes.find_lines(draw_lines((120, 160), ends))
    assert abs(found.horizon - 0.4) < 0.06
    assert found.horizon_std < 0.15
    crossing = found.find_crossings()
    assert np.mean(np.abs(crossing[np.isfinite(crossing)] - 0.62) < 0.15) > 0.7


def test_level_and_vertical_lines_are_known():
    found = planes.find_lines(draw_lines((90, 90), [((20, 10), (20, 80)), ((30, 50), (85, 50))]))
    assert found.is_level.sum() >= 1
    assert found.is_vertical.sum() >= 1
    assert (found.is_level | found.is_vertical).all()
    assert found.horizon == pytest.approx(0.5, abs=0.02)
    labels = np.zeros((90, 90), dtype=np.int64)
    labels[:25] = 1
    value = features.describe_lines(found, SegmentSums(labels))
    shares = dict(zip(features.LINE_NAMES, value.T, strict=True))
    np.testing.assert_allclose(shares["share of level lines"], [0.0, 1.0])
    np.testing.assert_allclose(shares["share of vertical lines"], [1.0, 0.0])


def test_flat_images_have_neither_lines_nor_trouble(model):
    flat = np.full((40, 50, 3), 128, dtype=np.uint8)
    assert len(planes.find_lines(np.zeros((30, 30), dtype=np.float32)).length) == 0
    assert model.predict_proba(flat).shape == (40, 50, 3)
    assert model.predict_proba(flat[:1, :1]).shape == (1, 1, 3)


def test_labels_are_scaled_by_the_nearest_pixel():
    labels = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(scale_labels(labels, 8)[::2, ::2], labels)
    np.testing.assert_array_equal(scale_labels(labels, 4), labels)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"segmentations": [("voronoi", 3)]}, "pairs such as"),
        ({"segmentations": ()}, "pairs such as"),
        ({"max_size": 4}, "max_size"),
        ({"cv": 1}, "cv"),
    ],
)
def test_bad_parameters_are_refused(streets, change, said):
    model = SurfaceLayout(**{**SMALL, **change})
    with pytest.raises(ValueError, match=said):
        model.fit(list(streets.images[:2, :32, :32]), list(streets.labels[:2, :32, :32]))


def test_one_class_and_wrong_groups_are_refused(streets):
    images = list(streets.images[:2, :32, :32])
    with pytest.raises(ValueError, match="at least two"):
        SurfaceLayout(**SMALL).fit(images, [np.ones((32, 32), dtype=int)] * 2)
    labels = list(streets.labels[:2, :32, :32])
    with pytest.raises(ValueError, match="groups"):
        SurfaceLayout(**SMALL).fit(images, labels, groups=[0, 1, 2])
