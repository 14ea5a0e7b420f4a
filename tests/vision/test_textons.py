"""Filters, textons, and their shares of rectangles."""

import numpy as np
import pytest

from posterity.vision import TextonPixels, TextonRectangles, Textons, filters


def test_white_gray_and_blue_have_their_lab_coordinates():
    image = np.array([[[255, 255, 255], [119, 119, 119], [0, 0, 255], [0, 0, 0]]], dtype=np.uint8)
    known = [[100.0, 0.0, 0.0], [50.0, 0.0, 0.0], [32.3, 79.2, -107.9], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(filters.convert_to_lab(image)[0], known, atol=0.1)


def test_texture_filters_of_a_ramp_are_its_value_and_its_slope():
    planes = np.zeros((64, 96, 3), dtype=np.float32)
    planes[..., 0] = np.arange(96)
    planes[..., 1] = 7.0
    found = filters.filter_texture(planes)[32, 48]
    assert len(found) == filters.N_TEXTURE_FILTERS == 17
    np.testing.assert_allclose(found[:9], [48.0, 7.0, 0.0] * 3, atol=1e-3)
    np.testing.assert_allclose(found[9:13], 0.0, atol=0.1)  # Laplacians
    np.testing.assert_allclose(found[13:], [2.0, 0.0, 4.0, 0.0], rtol=0.05, atol=1e-3)


def test_filters_of_every_second_pixel_are_those_of_all():
    planes = np.random.default_rng(0).random((9, 14, 3), dtype=np.float32)
    for compute in (filters.filter_texture, filters.filter_color, filters.filter_gradients):
        np.testing.assert_array_equal(compute(planes, 2), compute(planes)[::2, ::2])


def test_gradients_of_a_transposed_image_are_transposed():
    planes = np.random.default_rng(0).random((12, 12, 3), dtype=np.float32) * 50.0
    found = filters.filter_gradients(planes).reshape(12, 12, 3, 3, 8)
    other = filters.filter_gradients(planes.transpose(1, 0, 2)).reshape(12, 12, 3, 3, 8)
    turned = (2 - np.arange(8)) % 8  # a direction is mirrored at the diagonal
    expected = other.transpose(1, 0, 3, 2, 4)[..., turned]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_flat_images_have_no_gradients():
    assert not filters.filter_gradients(np.full((8, 8, 3), 40.0, dtype=np.float32)).any()


def test_textons_are_the_nearest_centers():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(500, 3)) * [1.0, 20.0, 0.1] + 5.0
    textons = Textons.learn(samples, 7, random_state=0)
    image = samples[:60].reshape(6, 10, 3).astype(np.float32)
    scaled = (image - textons.means) / textons.scales
    distances = np.linalg.norm(scaled[:, :, None] - textons.centers, axis=-1)
    np.testing.assert_array_equal(textons.assign(image), distances.argmin(axis=-1))


def test_there_are_no_more_textons_than_different_responses():
    assert len(Textons.learn(np.repeat([[0.0], [1.0]], 9, axis=0), 5, random_state=0)) == 2


@pytest.fixture(scope="module")
def pixels():
    """Two images, the second of which is not a whole number of cells."""
    rng = np.random.default_rng(0)
    maps = [[rng.integers(k, k + 3, size=shape) for k in (0, 3)] for shape in ((12, 16), (7, 11))]
    parts = [TextonPixels.from_maps(own, 6, side=2) for own in maps]
    return maps, TextonPixels.join(parts)


def _count_by_hand(maps, image, row, column, test):
    """The share of a rectangle, sample by sample."""
    texton, top, left, bottom, right = test
    (height, width), total = maps[image][0].shape, 0
    for y in range(2 * (row + top), 2 * (row + bottom)):
        for x in range(2 * (column + left), 2 * (column + right)):
            if 0 <= y < height and 0 <= x < width:
                total += sum(int(one[y, x] == texton) for one in maps[image])
    return int(total * 4095 / (4 * (bottom - top) * (right - left)) + 1e-9)


def test_shares_are_those_counted_by_hand(pixels):
    maps, rows = pixels
    family = TextonRectangles(6, reach=4)
    tests = family.draw(1, 40, np.random.default_rng(1))
    places = np.array([0, 5, 47, 48, 60, 3], dtype=np.int32)  # images in no order
    found = family.respond(rows, places, tests, np.zeros(6, dtype=np.int32))
    for k, test in enumerate(tests[0].tolist()):
        for m, place in enumerate(places):
            image, row, column = rows.pixels[place].tolist()
            if test[0] < 6:
                expected = _count_by_hand(maps, image, row, column, test)
            else:
                axis = test[0] - 6
                at = (row, column)[axis] + 0.5
                expected = int(4095 * at / rows.grids[image, axis])
            assert found[k, m] == expected


def test_codes_say_on_which_side_of_each_cut_an_answer_is(pixels):
    _, rows = pixels
    family = TextonRectangles(6, reach=4)
    tests = family.draw(1, 60, np.random.default_rng(2))
    places, which = np.arange(len(rows), dtype=np.int32), np.zeros(len(rows), dtype=np.int32)
    answers = family.respond(rows, places, tests, which)
    codes = family.respond(family.prepare_rows(rows), places, tests, which)
    for own, code, cuts in zip(answers, codes, family.cuts(tests[0]), strict=True):
        np.testing.assert_array_equal(code, np.searchsorted(cuts, own))


def test_rows_of_several_nodes_answer_the_tests_of_their_own(pixels):
    _, rows = pixels
    family = TextonRectangles(6, reach=4)
    tests = family.draw(2, 5, np.random.default_rng(3))
    places = np.arange(len(rows), dtype=np.int32)
    which = (places % 2).astype(np.int32)
    found = family.respond(rows, places, tests, which)
    for node in range(2):
        own = places[which == node]
        alone = family.respond(rows, own, tests[node][None], np.zeros(len(own), dtype=np.int32))
        np.testing.assert_array_equal(found[:, which == node], alone)


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ([8, 0, 0, 1, 1], "textons of tests contains 8"),
        ([0, 0, 0, 0, 1], "no area"),
        ([0, -200, 0, 1, 1], "sides of rectangles"),
    ],
)
def test_rectangles_that_files_may_not_hold_are_refused(test, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextonRectangles(6, reach=4).check_tests(np.array([test], dtype=np.int32))
