"""Integral images against sums, and resized images against averages."""

import numpy as np
import pytest

from posterity.vision import integrals, resizing

IMAGE = np.random.default_rng(0).integers(256, size=(23, 31), dtype=np.uint8)


def test_sums_are_of_rectangles():
    sums = integrals.integrate_image(IMAGE)
    for y, x in ((0, 0), (7, 12), (23, 31)):
        assert sums[y, x] == IMAGE[:y, :x].astype(int).sum()


def test_tilted_sums_are_of_triangles():
    sums = integrals.integrate_image(IMAGE, tilted=True)
    lines, columns = np.mgrid[: IMAGE.shape[0], : IMAGE.shape[1]]
    for y in range(24):
        for x in range(32):
            inside = (lines < y) & (np.abs(columns - x + 1) <= y - lines - 1)
            assert sums[y, x] == IMAGE[inside].astype(int).sum(), (y, x)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_planes_are_split_by_columns(stride):
    planes = np.stack([IMAGE, 255 - IMAGE])
    split = integrals.integrate_planes(planes, stride, tilted=True)
    whole = [integrals.integrate_image(plane) for plane in planes]
    whole.append(integrals.integrate_image(IMAGE, tilted=True))
    squares = np.zeros((24, 32), dtype=int)
    squares[1:, 1:] = np.cumsum(np.cumsum(IMAGE.astype(int) ** 2, axis=0), axis=1)
    for k, expected in enumerate([*whole, squares]):
        for column in range(32):
            found = split[k, column % stride, :, column // stride]
            np.testing.assert_array_equal(found, expected[:, column])


def test_windows_are_summed_side_by_side():
    windows = np.stack([IMAGE[:20, :20], IMAGE[3:, 5:25]])[:, None]
    sums = integrals.integrate_windows(windows)
    for k in range(2):
        np.testing.assert_array_equal(sums[0, ..., k], integrals.integrate_image(windows[k, 0]))


def test_areas_are_averaged_exactly():
    fine = np.kron(IMAGE, np.ones((5, 7))).astype(np.uint8)  # so that both sizes divide it
    small = resizing.resize_by_area(np.ascontiguousarray(fine), 23, 31)
    np.testing.assert_array_equal(small, IMAGE)
    wide = np.repeat(np.repeat(IMAGE.astype(float), 9, axis=0), 13, axis=1)
    expected = wide.reshape(9, 23, 13, 31).mean(axis=(1, 3))
    np.testing.assert_allclose(resizing.resize_by_area(IMAGE, 9, 13), expected, atol=1.0)


def test_linear_interpolation_keeps_planes_and_ends():
    ramp = np.add.outer(3 * np.arange(20), 5 * np.arange(30)).astype(np.uint8)
    large = resizing.resize_linearly(ramp, 40, 60)
    y, x = np.mgrid[1:39, 1:59]
    expected = 3 * ((y + 0.5) / 2 - 0.5) + 5 * ((x + 0.5) / 2 - 0.5)
    np.testing.assert_allclose(large[1:39, 1:59], expected, atol=0.51)
    assert large[0, 0] == ramp[0, 0]
    assert large[-1, -1] == ramp[-1, -1]


def test_white_stays_white():
    white = np.full((37, 41), 255, dtype=np.uint8)
    for size in ((36, 40), (17, 23), (1, 1), (50, 60)):
        assert np.all(resizing.resize_by_area(white, *size) == 255)
    assert np.all(resizing.halve(white) == 255)
